"""Whether a run received what its plan promised, said in sentences."""

import math

from equipoise_budget.dose import Dose, PlannedDose
from equipoise_budget.ledger import Ledger
from equipoise_budget.plan import Budget

__all__ = ["breaches"]

_COUNTS = {
    "slots": "slots",
    "optimizer_steps": "optimizer steps",
    "unique_examples": "different examples",
    "tokens_in_loss": "tokens in the loss",
    "zero_weight_slots": "slots of weight 0",
    "positive_slots": "slots of positive weight",
}
_MASSES = {"weight_abs": "a sum of |w|", "weight_sq": "a sum of w squared", "ess": "an effective sample size"}


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
        planned: what the plan was to give.
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
        if not math.isclose(getattr(planned, name), getattr(dose, name), rel_tol=tolerance, abs_tol=1e-12)
    ]
    if planned.repetition != dose.repetition:
        found.append(f"expected repetitions {planned.repetition}, counted {dose.repetition}")
    if budget is not None:
        found += _over_budget(budget, dose)
    if ledger is not None:
        found += _torn(ledger, dose, tolerance)
    return tuple(found)


def _over_budget(budget: Budget, dose: Dose) -> list[str]:
    pairs = ((budget.examples, dose.slots, "slots"), (budget.optimizer_steps, dose.optimizer_steps, "steps"))
    return [
        f"the budget is {promised} {words}, counted {counted}"
        for promised, counted, words in pairs
        if promised != counted
    ]


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
