"""The tree that the answers to one prompt make of their shared beginnings."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.groups import centred, codes, codes_within
from equipoise_conditions.trajectories import Trajectories

__all__ = ["branch_terms"]


def branch_terms(trajectories: Trajectories, *, over: str) -> FloatArray:
    """Return (K,) V(after) − V(before) of each token that chooses among branches, 0 for all others.

    A node is a shared beginning of a group's collected trajectories; its value is the mean outcome of
    those that begin so. A token branches when not all of them go on with it; ending is a way to go on.
    Where a turn begins, trajectories in different states part without credit: the environment, not the
    policy, parted them. Depths are followed only as long as two trajectories share them.

    Args:
        trajectories: the batch; forked trajectories are not in the tree.
        over: "token" compares token ids; "action" compares actions, and all tokens of a turn share its term.
    """
    if over == "token":
        starts = np.zeros(trajectories.n_tokens, dtype=np.bool_)
        starts[trajectories.token_offsets[:-1]] = True
        state = trajectories.state[trajectories.turn_of_token]
        offsets = trajectories.token_offsets_of_trajectory
        return _terms(trajectories, offsets, trajectories.token, state, starts)
    turns = np.ones(trajectories.n_turns, dtype=np.bool_)
    term = _terms(trajectories, trajectories.turn_offsets, trajectories.action, trajectories.state, turns)
    return term[trajectories.turn_of_token]


def _terms(
    trajectories: Trajectories, offsets: IntArray, key: IntArray, state: IntArray, starts: BoolArray
) -> FloatArray:
    """Return (U,) terms of units `offsets[i]:offsets[i+1]` with their keys, the state where a turn starts."""
    group, n_groups = codes(trajectories.group)
    # Values are taken from the group's mean, so that equal outcomes give exactly 0.
    outcome = np.zeros(trajectories.n)
    use = trajectories.collected
    outcome[use] = centred(trajectories.outcome[use], group[use], n_groups)
    term = np.zeros(key.size)
    place = np.where(starts, codes(state)[0] + 1, 0)
    active, depth = np.flatnonzero(use), 0
    node = group[active]
    while active.size:
        unit = offsets[active] + depth
        going = unit < offsets[active + 1]
        where = np.zeros(active.size, dtype=np.int64)
        where[going] = place[unit[going]]
        before, n_before = codes_within(where, node)
        value, members = _means(outcome[active], before, n_before)
        unit, active, before = unit[going], active[going], before[going]
        after, n_after = codes_within(key[unit], before)
        child, siblings = _means(outcome[active], after, n_after)
        branches = siblings[after] < members[before]
        term[unit[branches]] = child[after[branches]] - value[before[branches]]
        shared = siblings[after] > 1
        active, node, depth = active[shared], after[shared], depth + 1
    return term


def _means(value: FloatArray, node: IntArray, n_nodes: int) -> tuple[FloatArray, IntArray]:
    count = np.bincount(node, minlength=n_nodes)
    return np.bincount(node, value, n_nodes) / np.maximum(count, 1), count
