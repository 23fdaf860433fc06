"""Executed replay: restore the state before a turn, take the action again and others instead, and see what comes of it.

The protocol follows the audit of Zhang (arXiv 2608.19760, section on executed replay): alternatives are distinct
actions that the policy itself samples at the state; a turn with too few of them is undefined, never zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise.environments.protocol import State
from equipoise.execution.batches import Batch, states_of
from equipoise.execution.costs import played, sampled
from equipoise.execution.world import World
from equipoise.policies.episodes import Start
from equipoise.policies.rollout import Sampler
from equipoise_budget import Cost
from equipoise_conditions.context import Replays
from equipoise_conditions.credit import Reason

__all__ = ["replay_turns"]

IntArray = npt.NDArray[np.int64]

_ATTEMPTS = 16
"""Draws from the policy before a turn is given up as having too few distinct alternatives."""


@dataclass(frozen=True)
class _Restored:
    """A turn with all that is needed to play on from before it."""

    turn: int
    state: State
    prefix: tuple[int, ...]
    depth: int
    action: int

    def start(self, forced: int | None) -> Start:
        return Start(self.state, self.prefix, self.depth, forced)


def replay_turns(
    world: World, sampler: Sampler, batch: Batch, params: Mapping[str, object]
) -> tuple[Replays, Cost]:
    """Replay the turns of the first trajectories of each task.

    Args:
        world: gives named streams; the same draw is used for the same turn and repetition in every arm.
        sampler: the policy that collected the batch.
        batch: what it collected.
        params: `alternatives` K, `rollouts` M, `trajectories_per_task` (the allowance).
    """
    wanted, repeats, allowance = (
        int(str(params[name])) for name in ("alternatives", "rollouts", "trajectories_per_task")
    )
    turns = batch.trajectories.n_turns
    reason = np.full(turns, int(Reason.NOT_SELECTED), dtype=np.int64)
    factual = np.full((turns, repeats), np.nan)
    alternative = np.full((turns, wanted, repeats), np.nan)
    restored = _select(world, batch, allowance)
    others, spent = _alternatives(world, sampler, restored, wanted)
    reason[[place.turn for place in restored]] = int(Reason.NO_ALTERNATIVE)
    ready = [(place, found) for place, found in zip(restored, others, strict=True) if len(found) == wanted]
    if ready:
        outcomes, rolled = _roll(world, sampler, ready, repeats)
        index = [place.turn for place, _ in ready]
        reason[index] = int(Reason.DEFINED)
        factual[index] = outcomes[:, 0]
        alternative[index] = outcomes[:, 1:]
        spent += rolled
    return Replays(reason, factual, alternative), spent


def _select(world: World, batch: Batch, allowance: int) -> list[_Restored]:
    trajectories, transcripts = batch.trajectories, batch.transcripts
    before, _ = states_of(world.env, trajectories)
    seen: dict[int, int] = {}
    chosen: set[int] = set()
    for index, task in enumerate(trajectories.task.tolist()):
        if seen.get(task, 0) < allowance:
            seen[task] = seen.get(task, 0) + 1
            chosen.add(index)
    owner = trajectories.trajectory_of_turn
    return [
        _Restored(
            turn=turn,
            state=before[turn],
            prefix=tuple(transcripts.row(turn)[: transcripts.start[turn]].tolist()),
            depth=int(trajectories.turn_index[turn]),
            action=int(trajectories.action[turn]),
        )
        for turn in range(trajectories.n_turns)
        if int(owner[turn]) in chosen
    ]


def _alternatives(
    world: World, sampler: Sampler, restored: list[_Restored], wanted: int
) -> tuple[list[list[int]], Cost]:
    """The first distinct actions, other than the one taken, that the policy samples at each place."""
    starts = [place.start(None) for place in restored for _ in range(_ATTEMPTS)]
    episodes = sampler.play(starts, world.uniforms(len(starts), "replay", "alternatives"), stop_after=1)
    found: list[list[int]] = []
    for index, place in enumerate(restored):
        drawn = [e.actions[0] for e in episodes[index * _ATTEMPTS : (index + 1) * _ATTEMPTS]]
        distinct = list(dict.fromkeys(action for action in drawn if action != place.action))
        found.append(distinct[:wanted])
    return found, sampled(sampler.model, starts, episodes)


def _roll(
    world: World, sampler: Sampler, ready: list[tuple[_Restored, list[int]]], repeats: int
) -> tuple[npt.NDArray[np.float64], Cost]:
    """(turns, 1 + K, M) outcomes; common random numbers across the arms of a turn."""
    arms = 1 + len(ready[0][1])
    starts = [
        place.start(action)
        for place, others in ready
        for action in (place.action, *others)
        for _ in range(repeats)
    ]
    shared = world.uniforms(len(ready) * repeats, "replay", "rollouts")
    rows = np.arange(len(ready) * repeats).reshape(len(ready), 1, repeats)
    uniforms = shared[np.broadcast_to(rows, (len(ready), arms, repeats)).reshape(-1)]
    episodes = sampler.play(starts, uniforms)
    outcomes = np.array([float(e.won) for e in episodes]).reshape(len(ready), arms, repeats)
    return outcomes, played(sampler.model, starts, episodes, restored=True)
