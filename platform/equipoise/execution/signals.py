"""Credit of one condition in one block: measure what its rule declares to need, then assign."""

from collections.abc import Mapping
from pathlib import Path

from equipoise.execution.batches import Batch
from equipoise.execution.conditions import condition_of
from equipoise.execution.forks import with_forks
from equipoise.execution.supplies.case import Case
from equipoise.execution.supplies.counting import counts_of
from equipoise.execution.supplies.settings import settings_of
from equipoise.execution.supplies.table import measure
from equipoise.execution.world import World
from equipoise_budget import Cost
from equipoise_conditions import shuffle_active_share, to_turns
from equipoise_conditions.context import Need
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
    rule, params = condition_of(world.suite, name)
    needs = rule.needed(params)
    batch = Batch.load(folders["collect"])
    sampler = world.sampler(
        world.model_from(folders["base"] / "base.safetensors"), world.suite.collection.temperature
    )
    spent = Cost()
    if Need.FORKS in needs:
        batch, spent = with_forks(world, sampler, batch, settings_of(params))
        batch.save(folder)
    case = Case(world, sampler, batch, rule, params, [spent])
    context = measure(case)
    credit = rule.apply(batch.trajectories, context, params)
    credit.save(folder / "credit.npz")
    return {
        "kind": "signals",
        "block": world.block,
        "condition": name,
        "rule": rule.name,
        "supplied": {str(need): counts_of(context, need) for need in sorted(needs)},
        "credit": _told(credit, batch.trajectories),
        "cost": case.spent.to_json(),
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
