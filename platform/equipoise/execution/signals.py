"""Credit of one condition in one block: measure what its rule declares to need, then assign."""

import json
from collections.abc import Mapping
from pathlib import Path

from equipoise.execution.batches import Batch
from equipoise.execution.conditions import condition_of
from equipoise.execution.crediting import credited
from equipoise.execution.world import World
from equipoise_conditions import shuffle_active_share, to_turns
from equipoise_conditions.credit import Credit
from equipoise_conditions.trajectories import Trajectories

__all__ = ["assign_credit"]


def assign_credit(world: World, name: str, folders: Mapping[str, Path], folder: Path) -> dict[str, object]:
    """Write `credit.npz` into the folder, and the extended batch where the rule forks.

    Args:
        world: the block.
        name: id of the condition.
        folders: `base` and `collect`.
        folder: where to write.

    Raises:
        ExecutionError: if the rule needs what cannot be supplied in the suite's environment.
    """
    sampler = world.sampler(
        world.model_from(folders["base"] / "base.safetensors"), world.suite.collection.temperature
    )
    found = credited(world, sampler, name, Batch.load(folders["collect"]))
    if found.forked:
        found.batch.save(folder)
    found.credit.save(folder / "credit.npz")
    # Cells that are limited in what their credit may cost share this out over the prompts.
    (folder / "cost.json").write_text(json.dumps(found.cost.to_json()), encoding="utf-8")
    return {
        "kind": "signals",
        "block": world.block,
        "condition": name,
        "rule": condition_of(world.suite, name)[0].name,
        "supplied": found.supplied,
        "credit": _told(found.credit, found.batch.trajectories),
        "cost": found.cost.to_json(),
    }


def _told(credit: Credit, trajectories: Trajectories) -> dict[str, object]:
    """What a report must know of a condition's credit; `reasons` count its own units, `examples` are turns."""
    turns = to_turns(credit, trajectories)
    # Units of a whole trajectory or agent are moved as the turns they cover; finer credit moves as it is.
    moved = turns if credit.granularity in ("episode", "agent") else credit
    share = shuffle_active_share(moved, trajectories)
    return {
        "turns": trajectories.n_turns,
        "examples": len(turns.examples),
        "granularity": credit.granularity,
        "units": credit.value.size,
        "reasons": credit.counts_by_reason(),
        "digest": credit.digest(),
        "shuffle_active_share": share,
        "constant_within_trajectories": share == 0.0,
    }
