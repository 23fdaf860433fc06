"""What a run received: the counted dose, step by step and in all, beside what its plan allocated."""

from typing import TYPE_CHECKING

import numpy as np

from equipoise.execution.batches import Batch
from equipoise.execution.costs import decoder_of
from equipoise.execution.displacement import kl_from_start, l2_between, measured_turns
from equipoise.training.counts import Counts
from equipoise_budget import (
    Budget,
    Cost,
    Dose,
    Levels,
    Plan,
    PlannedDose,
    allocated_steps,
    breaches,
    counted_dose,
    reached,
    with_levels,
)
from equipoise_conditions.trajectories import Trajectories

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

    from equipoise.training.trainer import Training

__all__ = ["ROUNDING", "dose_of", "levels_of", "moved", "received"]

ROUNDING = 1e-9
"""Weights are counted in double precision: their sums differ from the plan's by the order of summation only."""


def received(
    budget: Budget | None,
    training: "Training",
    models: tuple["Qwen3ForCausalLM", "Qwen3ForCausalLM"],
    plan: Plan,
    batch: Batch,
    tolerance: float,
) -> dict[str, object]:
    """The counted dose, step by step and in all, what it cost, and where it is not what was planned.

    Args:
        budget: of a matched or twin cell; None for a native one.
        training: what was done.
        models: before it, and after it.
        plan: what was to be done.
        batch: that the plan is of.
        tolerance: registered relative difference between planned and counted sums.
    """
    counts = training.counts
    # A run that stops at its displacement owes what was planned up to there.
    steps = len(counts.ledger)
    ended = plan.stop is not None and training.diverged is None and steps < plan.steps
    of_tokens = bool(plan.token_offsets.size)
    dose = dose_of(counts, moved(*models, batch), levels_of(batch.trajectories), of_tokens=of_tokens)
    planned = _planned(plan.until(steps) if ended else plan, batch)
    # A run that diverged is a result: it received less than planned because of what it did with it.
    found = (
        breaches(planned, dose, budget=budget, ledger=counts.ledger, tolerance=max(ROUNDING, tolerance))
        if training.diverged is None
        else ()
    )
    cost = Cost(forward_tokens_train=sum(counts.lengths), flops=decoder_of(models[0]).train(counts.lengths))
    return {
        "end": "ok" if training.diverged is None else "diverged",
        "message": training.diverged,
        "planned": {**planned.to_json(), "fill": plan.fill, "batch": plan.batch},
        "dose": dose.to_json(),
        "allocated": allocated_steps(plan, batch.trajectories.tokens_of_turn),
        "steps": counts.ledger.steps,
        "breaches": list(found),
        "reached": reached(budget, dose) if budget is not None else {},
        "cost": cost.to_json(),
    }


def levels_of(trajectories: Trajectories) -> Levels:
    """Tokens, trajectory and task of each turn."""
    return Levels(trajectories.tokens_of_turn, trajectories.trajectory_of_turn, trajectories.task_of_turn)


def moved(start: "Qwen3ForCausalLM", end: "Qwen3ForCausalLM", batch: Batch) -> tuple[float, float | None]:
    """How far one policy is from another: of their weights, and of what they do where the first one went."""
    turns = measured_turns(batch.trajectories.n_turns)
    return (
        l2_between(start.parameters(), end.parameters()),
        kl_from_start(start, end, batch.transcripts, turns),
    )


def dose_of(
    counts: Counts, displacement: tuple[float, float | None], levels: Levels, *, of_tokens: bool
) -> Dose:
    """The dose that was counted.

    Args:
        counts: of one run; its examples are turns of `levels`.
        displacement: see `moved`.
        levels: of the batch, or of several.
        of_tokens: whether tokens had weights of their own.
    """
    example, weight = np.array(counts.examples, dtype=np.int64), np.array(counts.weights)
    dose = counted_dose(
        example,
        weight,
        grad_norms=np.array(counts.ledger.steps["grad_norm"]),
        micro_batches=counts.micro_batches,
        tokens_in_loss=counts.tokens,
        tokens_forward=sum(counts.lengths),
        displacement=displacement,
        padding_tokens=counts.padding_tokens,
    )
    return with_levels(
        dose,
        (example, weight),
        (counts.token_weight_abs, counts.token_weight_sq),
        of_tokens=of_tokens,
        trajectory=levels.trajectory,
        task=levels.task,
    )


def _planned(plan: Plan, batch: Batch) -> PlannedDose:
    trajectories = batch.trajectories
    return plan.dose(
        trajectories.tokens_of_turn,
        trajectory=trajectories.trajectory_of_turn,
        task=trajectories.task_of_turn,
    )
