"""Everything in which a batch of trajectories can contradict itself."""

from collections.abc import Mapping

import numpy as np

from equipoise_conditions.arrays import BoolArray, Column, IntArray

__all__ = ["faults_of"]

_PER_TRAJECTORY = ("outcome", "parent", "branch", "group")
_PER_TURN = ("action", "n_actions", "reward", "agent")
_PER_TOKEN = ("entropy", "mask", "token", "token_reward", "sum_pi_squared")


def faults_of(columns: Mapping[str, Column]) -> list[str]:
    """Return what is wrong with the columns of a batch, in sentences; empty when nothing is."""
    # Values are only looked at once the shapes agree, and forks once the offsets can be followed.
    return _shapes(columns) or _offsets(columns) or _values(columns) + _forks(columns)


def _shapes(c: Mapping[str, Column]) -> list[str]:
    n, turns, tokens = c["task"].size, c["state"].size, c["logprob"].size
    expected = dict.fromkeys(_PER_TRAJECTORY, n) | {"turn_offsets": n + 1}
    expected |= dict.fromkeys(_PER_TURN, turns) | {"token_offsets": turns + 1}
    expected |= dict.fromkeys(_PER_TOKEN, tokens)
    faults = [
        f"{name}: expected {size} entries, got {c[name].size}"
        for name, size in expected.items()
        if c[name].size != size
    ]
    if n == 0:
        faults.append("task: expected at least one trajectory, got none")
    return faults


def _offsets(c: Mapping[str, Column]) -> list[str]:
    faults = []
    for name, of, end in (("turn_offsets", "trajectory", "state"), ("token_offsets", "turn", "logprob")):
        offsets, size = c[name], c[end].size
        if offsets[0] != 0 or offsets[-1] != size:
            faults.append(f"{name}: expected to run from 0 to {size}, got {offsets[0]} to {offsets[-1]}")
        empty = np.diff(offsets) <= 0
        if empty.any():
            faults.append(f"{name}: {of} {int(np.argmax(empty))} has no entries; each needs at least one")
    return faults


def _values(c: Mapping[str, Column]) -> list[str]:
    faults: list[str] = []
    outcome = c["outcome"]
    _first(faults, "outcome", "trajectory", ~np.isfinite(outcome), outcome, "a finite number")
    _rewards(faults, c)
    _first(faults, "n_actions", "turn", c["n_actions"] < 1, c["n_actions"], "at least 1")
    outside = (c["action"] < 0) | (c["action"] >= c["n_actions"])
    _first(faults, "action", "turn", outside, c["action"], "an index below n_actions")
    # Sums of rounded probabilities may pass 1 by an ulp, so a log-probability may pass 0 by as much.
    bad = ~(np.isfinite(c["logprob"]) & (c["logprob"] <= 1e-6))
    _first(faults, "logprob", "token", bad, c["logprob"], "a finite number, at most 0")
    bad = ~(np.isfinite(c["entropy"]) & (c["entropy"] >= -1e-6))
    _first(faults, "entropy", "token", bad, c["entropy"], "a finite number, at least 0")
    _first(faults, "agent", "turn", c["agent"] < 0, c["agent"], "an index of at least 0")
    bad = ~np.isnan(c["sum_pi_squared"]) & ~(c["sum_pi_squared"] >= 0)
    _first(faults, "sum_pi_squared", "token", bad, c["sum_pi_squared"], "at least 0, or NaN if not recorded")
    return faults


def _rewards(faults: list[str], c: Mapping[str, Column]) -> None:
    """Name trajectory and turn of a reward that is no number: that is where its maker finds it."""
    for name, turn_of in (("reward", None), ("token_reward", c["token_offsets"])):
        bad = np.flatnonzero(~np.isfinite(c[name]))
        if not bad.size or (faults and name == "token_reward" and "reward:" in faults[-1]):
            continue  # a turn's reward is its last token's by default: once is enough
        first = int(bad[0])
        turn = first if turn_of is None else int(np.searchsorted(turn_of, first, side="right")) - 1
        trajectory = int(np.searchsorted(c["turn_offsets"], turn, side="right")) - 1
        inside = turn - int(c["turn_offsets"][trajectory])
        faults.append(
            f"{name}: expected a finite number, got {c[name][first]} at turn {inside} of trajectory "
            f"{trajectory} ({bad.size} in all)"
        )


def _first(faults: list[str], name: str, of: str, bad: BoolArray, values: Column, expected: str) -> None:
    if bad.any():
        first = int(np.argmax(bad))
        faults.append(
            f"{name}: expected {expected}, got {values[first]} at {of} {first} ({int(bad.sum())} in all)"
        )


def _forks(c: Mapping[str, Column]) -> list[str]:
    faults: list[str] = []
    parent, branch = c["parent"].astype(np.int64), c["branch"].astype(np.int64)
    n = parent.size
    lengths = np.diff(c["turn_offsets"])
    _first(faults, "parent", "trajectory", (parent < -1) | (parent >= n), parent, f"-1 or an index below {n}")
    if faults:
        return faults
    forked = parent >= 0
    above = np.where(forked, parent, 0)
    limit = np.where(forked, np.minimum(lengths, lengths[above]), 1)
    bad = (branch < 0) | (branch >= limit)
    expected = "0 if not forked, else a turn that both it and its parent have"
    _first(faults, "branch", "trajectory", bad, branch, expected)
    other = forked & (c["task"] != c["task"][above])
    _first(faults, "task", "trajectory", other, c["task"], "the task of the trajectory it was forked from")
    other = forked & (c["group"] != c["group"][above])
    _first(faults, "group", "trajectory", other, c["group"], "the group of the trajectory it was forked from")
    if _circular(parent):
        faults.append("parent: expected a forest, got trajectories that descend from themselves")
    return faults or _copies(c, parent, branch)


def _circular(parent: IntArray) -> bool:
    ancestor = parent
    for _ in range(parent.size):
        if (ancestor < 0).all():
            return False
        ancestor = np.where(ancestor >= 0, parent[ancestor], -1)
    return bool((ancestor >= 0).any())


def _copies(c: Mapping[str, Column], parent: IntArray, branch: IntArray) -> list[str]:
    offsets = c["turn_offsets"].astype(np.int64)
    trajectory = np.repeat(np.arange(parent.size), np.diff(offsets))
    index = np.arange(trajectory.size) - offsets[trajectory]
    until = np.where(parent >= 0, branch, -1)[trajectory]
    shared = np.flatnonzero(index <= until)
    original = offsets[parent[trajectory[shared]]] + index[shared]
    faults: list[str] = []
    # The state at the branch is shared too: that is where the fork left its parent.
    differs = np.zeros(trajectory.size, dtype=np.bool_)
    differs[shared] = c["state"][shared] != c["state"][original]
    _first(faults, "state", "turn", differs, c["state"], "the state of the parent's turn that it copies")
    differs[shared] = (c["action"][shared] != c["action"][original]) & (index < until)[shared]
    _first(faults, "action", "turn", differs, c["action"], "the action of the parent's turn that it copies")
    return faults
