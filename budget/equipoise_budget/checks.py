"""Whether a run received what its plan promised, said in sentences."""

import math

from equipoise_budget.budget import Budget
from equipoise_budget.dose import Dose, PlannedDose
from equipoise_budget.ledger import Ledger

__all__ = ["breaches", "reached"]

_COUNTS = {
    "slots": "slots",
    "optimizer_steps": "optimizer steps",
    "unique_examples": "different examples",
    "tokens_in_loss": "tokens in the loss",
    "zero_weight_slots": "slots of weight 0",
    "padding_slots": "slots of padding",
    "padding_tokens": "tokens of padding",
    "positive_slots": "slots of positive weight",
}
_MASSES = {
    "weight_abs": "a sum of |w|",
    "weight_sq": "a sum of w squared",
    "weight_mass": "a weight mass",
    "ess": "an effective sample size",
    "ess_tokens": "an effective sample size of tokens",
    "ess_trajectories": "an effective sample size of trajectories",
    "ess_tasks": "an effective sample size of tasks",
}
_REACHED = {
    "tokens": ("tokens_in_loss", "tokens in the loss"),
    "weight_mass": ("weight_mass", "weight mass"),
    "effective_sample_size": ("ess_trajectories", "effective sample size of trajectories"),
    "displacement": ("kl_from_start", "divergence from the start"),
}


def breaches(
    planned: PlannedDose,
    dose: Dose,
    *,
    budget: Budget | None = None,
    ledger: Ledger | None = None,
    tolerance: float = 1e-5,
) -> tuple[str, ...]:
    """Return every way in which a run did not receive what was planned; empty when it did.

    Args:
        planned: what the plan was to give, up to the step at which a run stopped that stops at a divergence.
        dose: what was counted while training.
        budget: the common budget of matched and twin cells; None for a native cell.
        ledger: the run's steps; their sums must be the dose's.
        tolerance: relative difference allowed to sums of weights, which trainers hold in single precision.
            Counts must be equal.
    """
    found = [
        f"expected {getattr(planned, name)} {words}, counted {getattr(dose, name)}"
        for name, words in _COUNTS.items()
        if getattr(planned, name) != getattr(dose, name)
    ]
    found += [
        f"expected {words} of {getattr(planned, name):.6g}, counted {getattr(dose, name):.6g}"
        for name, words in _MASSES.items()
        if None not in (getattr(planned, name), getattr(dose, name))
        and not math.isclose(getattr(planned, name), getattr(dose, name), rel_tol=tolerance, abs_tol=1e-12)
    ]
    if planned.repetition != dose.repetition:
        found.append(f"expected repetitions {planned.repetition}, counted {dose.repetition}")
    if budget is not None:
        found += _over_budget(budget, dose)
    if ledger is not None:
        found += _torn(ledger, dose, tolerance)
    return tuple(found)


def reached(budget: Budget, dose: Dose) -> dict[str, dict[str, float | bool | None]]:
    """Return target, tolerance and what was counted for each optional axis that is matched, and whether it held.

    Of a displacement, also the optimizer steps after which it was reached, or given up.
    """
    found: dict[str, dict[str, float | bool | None]] = {}
    for axis, target in budget.targets.items():
        counted = getattr(dose, _REACHED[axis][0])
        found[axis] = {
            "target": target,
            "tolerance": budget.tolerances[axis],
            "counted": counted,
            "held": counted is not None and budget.holds(axis, counted),
        }
        if axis == "displacement":
            found[axis]["steps"] = dose.optimizer_steps
    return found


def _over_budget(budget: Budget, dose: Dose) -> list[str]:
    # A run that stops at a divergence owes that, and may end before the last slot.
    owed = "displacement" not in budget.targets
    pairs = ((budget.examples, dose.slots, "slots"), (budget.optimizer_steps, dose.optimizer_steps, "steps"))
    found = [
        f"the budget is {promised} {words}, counted {counted}"
        for promised, counted, words in pairs
        if promised < counted or (owed and promised != counted)
    ]
    return found + [_missed(budget, axis, dose) for axis in budget.targets if _is_missed(budget, axis, dose)]


def _is_missed(budget: Budget, axis: str, dose: Dose) -> bool:
    if axis != "displacement" and "displacement" in budget.targets:
        # What was planned for all slots is not owed by a run that stopped before the last one.
        return False
    reached = getattr(dose, _REACHED[axis][0])
    return reached is None or not budget.holds(axis, reached)


def _missed(budget: Budget, axis: str, dose: Dose) -> str:
    name, words = _REACHED[axis]
    reached = getattr(dose, name)
    counted = "none" if reached is None else f"{reached:g}"
    steps = f" after {dose.optimizer_steps} steps" if axis == "displacement" else ""
    promised = f"{budget.targets[axis]:g} {words} within {budget.tolerances[axis]:g}"
    return f"the budget is {promised}, counted {counted}{steps}"


def _torn(ledger: Ledger, dose: Dose, tolerance: float) -> list[str]:
    found = []
    if len(ledger) != dose.optimizer_steps:
        found.append(f"the ledger holds {len(ledger)} steps, the dose {dose.optimizer_steps}")
    for column, counted in (
        ("slots", dose.slots),
        ("tokens", dose.tokens_in_loss),
        ("weight_abs", dose.weight_abs),
        ("weight_sq", dose.weight_sq),
    ):
        total = ledger.total(column)
        if not math.isclose(total, counted, rel_tol=tolerance if column.startswith("weight") else 0.0):
            found.append(f"the ledger's {column} add up to {total:g}, the dose says {counted:g}")
    return found
