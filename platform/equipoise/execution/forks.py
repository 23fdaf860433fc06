"""Forks: restore a state that a trajectory went through, and let the policy decide again from there."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from equipoise.execution.batches import Batch, batch_of, states_of
from equipoise.execution.costs import played
from equipoise.execution.world import World
from equipoise.policies.episodes import Start
from equipoise.policies.rollout import Sampler
from equipoise.policies.rows import ranges
from equipoise.policies.transcripts import Transcripts
from equipoise_budget import Cost, charge
from equipoise_conditions.forks import Forks, select_forks
from equipoise_conditions.trajectories import Trajectories

__all__ = ["append", "with_forks"]

IntArray = npt.NDArray[np.int64]


def with_forks(
    world: World, sampler: Sampler, batch: Batch, params: Mapping[str, object]
) -> tuple[Batch, Cost]:
    """The batch and the forks executed on it, one a task and wave, each where the rule's criterion is largest.

    Args:
        world: gives one named stream a wave.
        sampler: the policy that collected the batch.
        batch: collected trajectories.
        params: `forks` a task, and `initial` collected trajectories a task that belong to the tree.
    """
    spent = Cost()
    initial = int(str(params["initial"]))
    for wave in range(int(str(params["forks"]))):
        chosen = select_forks(batch.trajectories, 1, initial=initial)
        if len(chosen.parent) == 0:
            break
        batch, cost = _execute(world, sampler, batch, chosen, wave)
        spent += cost
    return batch, spent


def _execute(world: World, sampler: Sampler, batch: Batch, chosen: Forks, wave: int) -> tuple[Batch, Cost]:
    trajectories, transcripts = batch.trajectories, batch.transcripts
    before, _ = states_of(world.env, trajectories)
    turns = trajectories.turn_offsets[chosen.parent] + chosen.branch
    starts = [
        Start(before[turn], tuple(transcripts.row(turn)[: transcripts.start[turn]].tolist()), branch)
        for turn, branch in zip(turns.tolist(), chosen.branch.tolist(), strict=True)
    ]
    episodes = sampler.play(starts, world.uniforms(len(starts), "forks", wave))
    tasks = trajectories.task[chosen.parent].tolist()
    grown = append(batch, batch_of(episodes, tasks, sampler.bank), chosen.parent, chosen.branch)
    return grown, charge(played(sampler.model, starts, episodes, restored=True))


def append(batch: Batch, forks: Batch, parents: IntArray, branches: IntArray) -> Batch:
    """Add episodes to a batch, putting copies of their parents' turns before their own.

    Args:
        batch: what there is.
        forks: what was played.
        parents: (F,) trajectory that each was forked from; -1 for one collected from its start.
        branches: (F,) turns of the parent that come before its own; 0 for a collected one.
    """
    old, new = batch.trajectories, forks.trajectories
    order: list[Sequence[int]] = [range(old.n_turns)]
    for index, (parent, branch) in enumerate(zip(parents.tolist(), branches.tolist(), strict=True)):
        first = int(old.turn_offsets[parent])
        order.append(range(first, first + branch))
        own = old.n_turns + new.turn_offsets[index : index + 2]
        order.append(range(int(own[0]), int(own[1])))
    turns = np.array([turn for part in order for turn in part], dtype=np.int64)
    lengths = np.concatenate((old.lengths, branches + new.lengths))
    return Batch(
        _trajectories(old, new, turns, lengths, parents, branches),
        _transcripts(batch.transcripts, forks.transcripts, turns, lengths),
    )


def _trajectories(
    old: Trajectories,
    new: Trajectories,
    turns: IntArray,
    lengths: IntArray,
    parents: IntArray,
    branches: IntArray,
) -> Trajectories:
    token, token_offsets = _inside(old.token_offsets, new.token_offsets, turns)

    def both(name: str) -> np.ndarray:
        return np.concatenate((getattr(old, name), getattr(new, name)))

    return Trajectories(
        task=both("task"),
        outcome=both("outcome"),
        turn_offsets=_offsets(lengths),
        parent=np.concatenate((old.parent, parents)),
        branch=np.concatenate((old.branch, branches)),
        state=both("state")[turns],
        action=both("action")[turns],
        n_actions=both("n_actions")[turns],
        reward=both("reward")[turns],
        token_offsets=token_offsets,
        logprob=both("logprob")[token],
        entropy=both("entropy")[token],
        token=both("token")[token],
        sum_pi_squared=both("sum_pi_squared")[token],
    )


def _transcripts(old: Transcripts, new: Transcripts, turns: IntArray, lengths: IntArray) -> Transcripts:
    token, _ = _inside(old.token_offsets, new.token_offsets, turns)
    allowed, allowed_offsets = _inside(old.allowed_offsets, new.allowed_offsets, token)
    return Transcripts(
        tokens=np.concatenate((old.tokens, new.tokens)),
        offsets=np.concatenate((old.offsets, old.offsets[-1] + new.offsets[1:])),
        trajectory=np.repeat(np.arange(len(lengths)), lengths),
        start=np.concatenate((old.start, new.start))[turns],
        end=np.concatenate((old.end, new.end))[turns],
        allowed_offsets=allowed_offsets,
        allowed=np.concatenate((old.allowed, new.allowed))[allowed],
    )


def _inside(old: IntArray, new: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Positions of everything inside the chosen spans of two tables put one after the other, and its offsets."""
    joined = np.concatenate((old, old[-1] + new[1:]))
    counts = np.diff(joined)[chosen]
    return ranges(joined[:-1][chosen], counts), _offsets(counts)


def _offsets(counts: IntArray) -> IntArray:
    return np.concatenate(([0], np.cumsum(counts)))
