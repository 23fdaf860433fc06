"""One run: train the base policy on the slots of a cell, count what it received, and judge it."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from equipoise.execution.batches import Batch
from equipoise.execution.costs import decoder_of
from equipoise.execution.displacement import kl_from_start, l2_between
from equipoise.execution.evaluation import evaluate
from equipoise.execution.ledgers import write_ledger
from equipoise.execution.plans import plan_of, registered_budget
from equipoise.execution.untrained import nothing_received
from equipoise.execution.world import World
from equipoise.policies.model import save_weights, weights_digest
from equipoise.training.counts import Counts
from equipoise.training.settings import TrainingSettings
from equipoise_budget import (
    Budget,
    Cost,
    Dose,
    EmptyBudget,
    Plan,
    PlannedDose,
    allocated_steps,
    breaches,
    counted_dose,
)
from equipoise_conditions.credit import Credit

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

    from equipoise.training.trainer import Training

__all__ = ["run_cell"]

_KL_TURNS = 256
_ROUNDING = 1e-9
"""Weights are counted in double precision: their sums differ from the plan's by the order of summation only."""


def run_cell(
    world: World, cell: Mapping[str, object], folders: Mapping[str, Path], folder: Path
) -> dict[str, object]:
    """Train and evaluate one cell; write `plan.npz` and `policy.safetensors` into the folder.

    Args:
        world: the block.
        cell: `condition`, `rule`, `arm`, `twin`, `block`.
        folders: `base`: of the base job, `batch`: of the job that holds the rule's batch, `signals`: of its credit.
        folder: where to write.
    """
    from equipoise.training.trainer import train_on_plan

    batch, credit = Batch.load(folders["batch"]), Credit.load(folders["signals"] / "credit.npz")
    start, model = (world.model_from(folders["base"] / "base.safetensors") for _ in range(2))
    budget = None if cell["arm"] == "native" else registered_budget(world)
    began = time.perf_counter()
    try:
        plan = plan_of(world, cell, batch.trajectories, credit)
    except EmptyBudget as error:
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
    return {
        "kind": "cell",
        "cell": dict(cell),
        "outcomes": outcomes,
        **received,
        "credit": {
            "examples": len(credit.examples),
            "reasons": credit.counts_by_reason(),
            "digest": credit.digest(),
        },
        "digests": {
            "plan": digest,
            "weights": weights_digest(model),
            "trajectories": batch.trajectories.digest(),
        },
        "seconds": {"train": trained - began, "evaluate": judged - trained},
    }


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
    dose, planned = _dose(counts, *models, batch), _planned(plan, batch)
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
        "cost": cost.to_json(),
    }


def _dose(counts: Counts, start: "Qwen3ForCausalLM", end: "Qwen3ForCausalLM", batch: Batch) -> Dose:
    stride = max(1, batch.trajectories.n_turns // _KL_TURNS)
    turns = list(range(0, batch.trajectories.n_turns, stride))
    return counted_dose(
        np.array(counts.examples, dtype=np.int64),
        np.array(counts.weights),
        grad_norms=np.array(counts.ledger.steps["grad_norm"]),
        micro_batches=counts.micro_batches,
        tokens_in_loss=counts.tokens,
        tokens_forward=sum(counts.lengths),
        displacement=(
            l2_between(start.parameters(), end.parameters()),
            kl_from_start(start, end, batch.transcripts, turns),
        ),
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
