"""One run: train the base policy on the slots of a cell, count what it received, and judge it."""

import time
from collections.abc import Mapping
from pathlib import Path

from equipoise.execution.evaluation import evaluate
from equipoise.execution.ledgers import write_ledger
from equipoise.execution.rounds import train_in_rounds
from equipoise.execution.totals import digest_of, in_all
from equipoise.execution.world import World
from equipoise.policies.model import save_weights, weights_digest
from equipoise_budget import Cost

__all__ = ["run_cell"]


def run_cell(
    world: World, cell: Mapping[str, object], folders: Mapping[str, Path], folder: Path
) -> dict[str, object]:
    """Train and evaluate one cell; write `plan.npz` and `policy.safetensors` into the folder.

    A cell that collected further rollouts writes its batch and credit too, and so does each round after the first.

    Args:
        world: the block.
        cell: `condition`, `rule`, `arm`, `twin`, `block`.
        folders: `base`: of the base job, `batch`: of the job that holds the rule's batch, `signals`: of its credit,
            `collect`: of the block's batch where the budget refills.
        folder: where to write.
    """
    start, model = (world.model_from(folders["base"] / "base.safetensors") for _ in range(2))
    rounds = train_in_rounds(world, cell, folders, folder, (start, model))
    received, first = in_all(world, rounds, (start, model)), rounds[0]
    write_ledger(folder, received)
    trained = time.perf_counter()
    outcomes = evaluate(world, model)
    judged = time.perf_counter()
    save_weights(model, folder / "policy.safetensors")
    generated = sum((done.material.cost for done in rounds), Cost())
    return {
        "kind": "cell",
        "cell": dict(cell),
        "outcomes": outcomes,
        **received,
        "cost": (Cost.from_json(received["cost"]) + generated).to_json(),
        "generation": first.material.to_json(),
        "credit": first.credit_told,
        "digests": {
            "plan": digest_of([done.plan_digest for done in rounds]),
            "weights": weights_digest(model),
            **first.material.batch.digests(),
        },
        "seconds": {
            "generate": sum(done.seconds[0] for done in rounds),
            "train": sum(done.seconds[1] for done in rounds),
            "evaluate": judged - trained,
        },
    }
