"""One run: train the base policy on the slots of a cell, count what it received, and judge it."""

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from equipoise.execution.batches import Batch
from equipoise.execution.displacement import kl_from_start, l2_between
from equipoise.execution.dose import counted, planned_facts
from equipoise.execution.evaluation import evaluate
from equipoise.execution.plans import plan_of, registered_budget
from equipoise.execution.world import World
from equipoise.policies.model import save_weights, weights_digest
from equipoise.training.settings import TrainingSettings
from equipoise_budget import breaches
from equipoise_conditions.credit import Credit

__all__ = ["run_cell"]

_KL_TURNS = 256


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
    from equipoise.training.trainer import DivergedError, train_on_plan

    batch, credit = Batch.load(folders["batch"]), Credit.load(folders["signals"] / "credit.npz")
    plan = plan_of(world, cell, batch.trajectories, credit)
    plan.save(folder / "plan.npz")
    start, model = (world.model_from(folders["base"] / "base.safetensors") for _ in range(2))
    began = time.perf_counter()
    end, counts = "ok", None
    try:
        counts, _ = train_on_plan(model, world.words, batch.transcripts, plan, _settings(world), folder / "trl")
    except DivergedError as error:
        end = f"diverged: {error}"
    trained = time.perf_counter()
    outcomes = evaluate(world, model if counts is not None else start)
    judged = time.perf_counter()
    save_weights(model, folder / "policy.safetensors")
    result: dict[str, object] = {
        "kind": "cell",
        "cell": dict(cell),
        "end": end,
        "outcomes": outcomes,
        "planned": planned_facts(plan, batch),
        "credit": {
            "examples": len(credit.examples),
            "reasons": credit.counts_by_reason(),
            "digest": credit.digest(),
        },
        "digests": {
            "plan": plan.digest(),
            "weights": weights_digest(model),
            "trajectories": batch.trajectories.digest(),
        },
        "seconds": {"train": trained - began, "evaluate": judged - trained},
        "dose": None,
        "steps": {},
        "breaches": [],
    }
    if counts is not None:
        turns = [int(turn) for turn in range(0, batch.trajectories.n_turns)][:: _stride(batch)]
        dose = counted(
            counts,
            l2=l2_between(start.parameters(), model.parameters()),
            kl=kl_from_start(start, model, batch.transcripts, turns),
        )
        budget = registered_budget(world) if cell["arm"] != "native" else None
        result |= {
            "dose": asdict(dose),
            "steps": counts.columns(),
            "breaches": list(breaches(plan, dose, budget)),
        }
    return result


def _settings(world: World) -> TrainingSettings:
    training = world.suite.training
    return TrainingSettings(
        learning_rate=training.learning_rate,
        max_grad_norm=training.max_grad_norm,
        weight_decay=training.weight_decay,
        normalisation=world.suite.policy.normalisation,
        temperature=world.suite.collection.temperature,
        seed=world.seed("trainer") % 2**31,
    )


def _stride(batch: Batch) -> int:
    return max(1, batch.trajectories.n_turns // _KL_TURNS)
