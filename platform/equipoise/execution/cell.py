"""One run: train the base policy on the slots of a cell, count what it received, and judge it."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from equipoise.execution.batches import Batch
from equipoise.execution.costs import decoder_of
from equipoise.execution.displacement import kl_from_start, l2_between, measured_turns
from equipoise.execution.evaluation import evaluate
from equipoise.execution.ledgers import write_ledger
from equipoise.execution.material import Material, material_of
from equipoise.execution.plans import plan_of, registered_budget
from equipoise.execution.untrained import nothing_received
from equipoise.execution.world import World
from equipoise.policies.model import save_weights, weights_digest
from equipoise.training.counts import Counts
from equipoise.training.settings import TrainingSettings
from equipoise_budget import (
    Budget,
    BudgetRefused,
    Cost,
    Dose,
    Plan,
    PlannedDose,
    allocated_steps,
    breaches,
    counted_dose,
    reached,
    with_levels,
)
from equipoise_conditions.projection import to_turns

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

    from equipoise.training.trainer import Training

__all__ = ["run_cell"]

_ROUNDING = 1e-9
"""Weights are counted in double precision: their sums differ from the plan's by the order of summation only."""


def run_cell(
    world: World, cell: Mapping[str, object], folders: Mapping[str, Path], folder: Path
) -> dict[str, object]:
    """Train and evaluate one cell; write `plan.npz` and `policy.safetensors` into the folder.

    A cell that collected further rollouts writes its batch and credit too.

    Args:
        world: the block.
        cell: `condition`, `rule`, `arm`, `twin`, `block`.
        folders: `base`: of the base job, `batch`: of the job that holds the rule's batch, `signals`: of its credit,
            `collect`: of the block's batch where the budget refills.
        folder: where to write.
    """
    from equipoise.training.trainer import train_on_plan

    start, model = (world.model_from(folders["base"] / "base.safetensors") for _ in range(2))
    opened = time.perf_counter()
    material = material_of(world, cell, folders, start)
    material.save(folder)
    batch, credit = material.batch, material.credit
    budget = None if cell["arm"] == "native" else registered_budget(world, batch.trajectories)
    began = time.perf_counter()
    try:
        plan = _plan(world, cell, material)
    except BudgetRefused as error:
        received, digest = nothing_received(error, budget), "none"
    else:
        plan.save(folder / "plan.npz")
        training = train_on_plan(
            model, world.words, batch.transcripts, plan, _settings(world), folder / "trl"
        )
        received = _received(world, budget, training, (start, model), plan, batch)
        digest = plan.digest()
        write_ledger(folder, received)
    trained = time.perf_counter()
    outcomes = evaluate(world, model)
    judged = time.perf_counter()
    save_weights(model, folder / "policy.safetensors")
    trained_on = received["cost"]
    assert isinstance(trained_on, Mapping)
    return {
        "kind": "cell",
        "cell": dict(cell),
        "outcomes": outcomes,
        **received,
        "cost": (Cost.from_json(trained_on) + material.cost).to_json(),
        "generation": material.to_json(),
        "credit": {
            "examples": len(to_turns(credit, batch.trajectories).examples),
            "reasons": credit.counts_by_reason(),
            "digest": credit.digest(),
        },
        "digests": {
            "plan": digest,
            "weights": weights_digest(model),
            "trajectories": batch.trajectories.digest(),
        },
        "seconds": {"generate": began - opened, "train": trained - began, "evaluate": judged - trained},
    }


def _plan(world: World, cell: Mapping[str, object], material: Material) -> Plan:
    if material.refill is not None and material.refill.refusal is not None:
        raise material.refill.refusal
    return plan_of(world, cell, material.batch.trajectories, material.credit, material.generation)


def _planned(plan: Plan, batch: Batch) -> PlannedDose:
    trajectories = batch.trajectories
    return plan.dose(
        trajectories.tokens_of_turn,
        trajectory=trajectories.trajectory_of_turn,
        task=trajectories.task_of_turn,
    )


def _received(
    world: World,
    budget: Budget | None,
    training: "Training",
    models: tuple["Qwen3ForCausalLM", "Qwen3ForCausalLM"],
    plan: Plan,
    batch: Batch,
) -> dict[str, object]:
    """The counted dose, step by step and in all, what it cost, and where it is not what was planned."""
    counts = training.counts
    # A run that stops at its displacement owes what was planned up to there.
    steps = len(counts.ledger)
    ended = plan.stop is not None and training.diverged is None and steps < plan.steps
    dose = _dose(counts, *models, batch, of_tokens=bool(plan.token_offsets.size))
    planned = _planned(plan.until(steps) if ended else plan, batch)
    # A run that diverged is a result: it received less than planned because of what it did with it.
    found = (
        breaches(
            planned,
            dose,
            budget=budget,
            ledger=counts.ledger,
            tolerance=max(_ROUNDING, world.suite.budget.tolerance),
        )
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


def _dose(
    counts: Counts, start: "Qwen3ForCausalLM", end: "Qwen3ForCausalLM", batch: Batch, *, of_tokens: bool
) -> Dose:
    example, weight = np.array(counts.examples, dtype=np.int64), np.array(counts.weights)
    dose = counted_dose(
        example,
        weight,
        grad_norms=np.array(counts.ledger.steps["grad_norm"]),
        micro_batches=counts.micro_batches,
        tokens_in_loss=counts.tokens,
        tokens_forward=sum(counts.lengths),
        displacement=(
            l2_between(start.parameters(), end.parameters()),
            kl_from_start(start, end, batch.transcripts, measured_turns(batch.trajectories.n_turns)),
        ),
    )
    return with_levels(
        dose,
        (example, weight),
        (counts.token_weight_abs, counts.token_weight_sq),
        of_tokens=of_tokens,
        trajectory=batch.trajectories.trajectory_of_turn,
        task=batch.trajectories.task_of_turn,
    )


def _settings(world: World) -> TrainingSettings:
    training = world.suite.training
    return TrainingSettings(
        learning_rate=training.learning_rate,
        max_grad_norm=training.max_grad_norm,
        weight_decay=training.weight_decay,
        normalisation=world.suite.policy.normalisation,
        temperature=world.suite.collection.temperature,
        clip=training.clip,
        loss=training.loss,
        seed=world.seed("trainer") % 2**31,
    )
