"""The trajectories of a block, collected once and shared by every cell of it."""

from pathlib import Path

import numpy as np

from equipoise.execution.batches import Batch, batch_of
from equipoise.execution.costs import played
from equipoise.execution.world import World
from equipoise.policies.episodes import Start
from equipoise.policies.rollout import Sampler, opening
from equipoise_budget import Cost, charge

__all__ = ["collect", "played_pool"]


def collect(world: World, base: Path, folder: Path) -> dict[str, object]:
    """Play the registered rollouts of every pool task with the base policy; write the batch into the folder.

    Args:
        world: the block.
        base: folder of the base job.
        folder: where to write.
    """
    model = world.model_from(base / "base.safetensors")
    batch, cost = played_pool(world, world.sampler(model, world.suite.collection.temperature))
    batch.save(folder)
    lengths = batch.trajectories.lengths
    return {
        "kind": "collect",
        "block": world.block,
        "trajectories": batch.trajectories.n,
        "turns": batch.trajectories.n_turns,
        "success": float(batch.trajectories.outcome.mean()),
        "length": {
            "mean": float(lengths.mean()),
            "min": int(lengths.min()),
            "median": float(np.median(lengths)),
            "max": int(lengths.max()),
        },
        "cost": cost.to_json(),
        "digests": batch.digests(),
    }


def played_pool(world: World, sampler: Sampler) -> tuple[Batch, Cost]:
    """The registered rollouts of every pool task, and what they cost.

    Args:
        world: the block and the round, which name the random numbers.
        sampler: the policy that plays.
    """
    rollouts = world.suite.collection.rollouts_per_task
    tasks = [task for task in range(world.env.tasks("pool")) for _ in range(rollouts)]
    states = [world.env.reset("pool", task) for task in tasks]
    starts = [Start(state, opening(world.words, state)) for state in states]
    episodes = sampler.play(starts, world.uniforms(len(starts), "collect"))
    return batch_of(episodes, tasks, sampler.bank), charge(played(sampler.model, starts, episodes))
