"""States before the turns of a batch, walked to again, and whether they are what they were."""

from collections.abc import Callable, Mapping

import numpy as np

from equipoise.environments.protocol import Environment, State
from equipoise.execution.batches import Batch, states_of
from equipoise.policies.tokens import WordTokens
from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.trajectories import Trajectories

__all__ = ["first_of_each_task", "of_each_action", "restored_states"]


def restored_states(env: Environment, words: WordTokens, batch: Batch) -> Mapping[int, State]:
    """The state before each turn that could be restored, by turn.

    A state is restored when its key, its number of admissible actions and the words that it shows are those
    recorded. Once one state of a trajectory is another one than it was, so are those that follow from it.

    Args:
        env: where the batch was collected.
        words: the policy's vocabulary.
        batch: T turns.
    """
    trajectories, found = batch.trajectories, {}
    for index in range(trajectories.n):
        state: State = env.reset("pool", int(trajectories.task[index]))
        for turn in range(int(trajectories.turn_offsets[index]), int(trajectories.turn_offsets[index + 1])):
            if not _same(state, words, batch, turn):
                break
            found[turn] = state
            state = env.step(state, state.admissible[int(trajectories.action[turn])])
    return found


def first_of_each_task(task: IntArray, allowance: int) -> BoolArray:
    """(N,) whether a trajectory is among the first so many of its task, in the order of the batch."""
    order = np.argsort(task, kind="stable")
    ranked = task[order]
    place = np.empty(task.size, dtype=np.int64)
    place[order] = np.arange(task.size) - np.searchsorted(ranked, ranked)
    return place < allowance


def of_each_action(
    env: Environment, trajectories: Trajectories, told: Callable[[State, int], float]
) -> FloatArray:
    """(T,) what the environment tells of each action taken, asked once for each state and action."""
    before, _ = states_of(env, trajectories)
    known: dict[tuple[int, int], float] = {}

    def of(state: State, action: int) -> float:
        at = (state.key, action)
        if at not in known:
            known[at] = float(told(state, action))
        return known[at]

    pairs = zip(before, trajectories.action.tolist(), strict=True)
    return np.array([of(state, action) for state, action in pairs])


def _same(state: State, words: WordTokens, batch: Batch, turn: int) -> bool:
    trajectories, transcripts = batch.trajectories, batch.transcripts
    if state.key != trajectories.state[turn] or len(state.admissible) != trajectories.n_actions[turn]:
        return False
    shown = (*words.encode(state.observation), words.act)
    before = transcripts.row(turn)[: transcripts.start[turn]]
    return tuple(before[-len(shown) :].tolist()) == shown
