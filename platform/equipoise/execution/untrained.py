"""A cell whose rule left too little for its budget: nothing is trained, and that is its result."""

from dataclasses import fields

import numpy as np

from equipoise_budget import Budget, BudgetRefused, Cost, Dose, Ledger, PlannedDose, counted_dose

__all__ = ["nothing_received"]


def nothing_received(why: BudgetRefused, budget: Budget | None) -> dict[str, object]:
    """What a run that could not start has to report.

    The native arm of such a rule is the policy it started from, fairly: the rule left nothing. A matched or twin
    cell owes its budget and did not receive it, which bars its contrasts.

    Args:
        why: what the plan could not be filled with.
        budget: of a matched or twin cell; None for a native one.
    """
    zeros: dict[str, object] = {
        field.name: {} if field.name == "repetition" else 0 for field in fields(PlannedDose)
    }
    planned = PlannedDose.from_json(zeros)
    found = [] if budget is None else [f"the budget is {budget.examples} slots, counted 0: {why}"]
    return {
        "planned": {**planned.to_json(), "fill": "none", "batch": budget.batch if budget else 0},
        "dose": _no_dose().to_json(),
        "steps": Ledger().steps,
        "breaches": found,
        "reached": {},
        "cost": Cost().to_json(),
        "end": "ok",
        "message": str(why),
    }


def _no_dose() -> Dose:
    nothing = np.zeros(0)
    return counted_dose(
        nothing.astype(np.int64),
        nothing,
        grad_norms=nothing,
        micro_batches=0,
        tokens_in_loss=0,
        tokens_forward=0,
        displacement=(0.0, 0.0),
    )
