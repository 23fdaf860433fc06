"""Credit of one condition in one block: measure what its rule declares to need, then assign."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from equipoise.execution.batches import Batch
from equipoise.execution.conditions import condition_of, twin_of
from equipoise.execution.crediting import credited
from equipoise.execution.world import World
from equipoise_conditions import Twin, shuffle_active_share, to_tokens, to_turns
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
        "credit": _told(found.credit, found.batch.trajectories, twin_of(world.suite, name)),
        "cost": found.cost.to_json(),
        **({"digests": found.batch.digests()} if found.forked else {}),
    }


def _told(credit: Credit, trajectories: Trajectories, kind: Twin) -> dict[str, object]:
    """What a report must know of a condition's credit; `reasons` count its own units, `examples` are turns."""
    turns = to_turns(credit, trajectories)
    share = _active(credit, trajectories, kind)
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


def _active(credit: Credit, trajectories: Trajectories, kind: Twin) -> float:
    """Share of trajectories in which a twin of this kind can change anything, moved as plans move it.

    Units of a whole trajectory or agent are moved as the turns they cover. Weights of tokens move between turns
    that have as many of them.
    """
    if credit.granularity not in ("token", "segment"):
        return shuffle_active_share(to_turns(credit, trajectories), trajectories, kind)
    tokens = to_tokens(credit, trajectories)
    of = trajectories.turn_of_token
    counts = np.bincount(of, tokens.defined, trajectories.n_turns).astype(np.int64)
    return shuffle_active_share(tokens, trajectories, kind, like=counts[of])
