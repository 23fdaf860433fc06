"""Steps that rules on turns share: who votes, and z-scores with weighted votes and two epsilons."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.groups import discounted
from equipoise_conditions.rule import Parameter
from equipoise_conditions.trajectories import Trajectories

__all__ = [
    "VARIANCE_EPS",
    "final_turns",
    "returns_to_go",
    "trained_trajectories",
    "trained_turns",
    "weighted_zscore",
]

VARIANCE_EPS = Parameter(
    "variance_eps", 0.0, "float", "added to the variance, inside the root, besides eps outside", minimum=0.0
)


def final_turns(trajectories: Trajectories) -> BoolArray:
    """Return (T,) whether a turn is the last of its trajectory."""
    final = np.zeros(trajectories.n_turns, dtype=np.bool_)
    final[trajectories.turn_offsets[1:] - 1] = True
    return final


def trained_turns(trajectories: Trajectories) -> BoolArray:
    """Return (T,) whether a turn is of a collected trajectory and has a token in the loss."""
    collected = trajectories.collected[trajectories.trajectory_of_turn]
    if bool(trajectories.mask.all()):
        return collected
    return collected & np.logical_or.reduceat(trajectories.mask, trajectories.token_offsets[:-1])


def trained_trajectories(trajectories: Trajectories) -> BoolArray:
    """Return (N,) whether a trajectory is collected and has a token in the loss."""
    if bool(trajectories.mask.all()):
        return trajectories.collected
    first = trajectories.token_offsets_of_trajectory[:-1]
    return trajectories.collected & np.logical_or.reduceat(trajectories.mask, first)


def weighted_zscore(
    value: NDArray[np.floating[Any]],
    group: IntArray,
    n_groups: int,
    *,
    std: str,
    eps: float,
    variance_eps: float = 0.0,
    std_floor: float = 0.0,
    weight: FloatArray | None = None,
) -> FloatArray:
    """Return (M,) (value - mean) / (max(sqrt(variance + variance_eps), std_floor) + eps) by group.

    Equal values give exactly 0.

    Args:
        value: (M,) numbers; means and differences are as precise as they are.
        group: (M,) codes below `n_groups`.
        n_groups: the number of groups.
        std: "sample" (votes - 1), "population" (votes) or "none" (the difference from the mean only).
        eps: added to the standard deviation.
        variance_eps: added to the variance, inside the root.
        std_floor: least standard deviation, before eps is added.
        weight: (M,) votes of each entry; one each by default.
    """
    groups = _Groups(group, n_groups)
    votes = groups.size if weight is None else groups.total(weight)
    total = groups.total(value if weight is None else value * weight)
    mean = np.divide(total, votes, out=np.zeros(n_groups), where=votes > 0)
    # As in groups.centred: the rounding of a mean of equal numbers must not become credit.
    some, varies = groups.sample(value)
    # Fresh memory costs more than arithmetic on whole columns, so arrays are used again.
    spare = groups.each(np.where(varies, mean, some).astype(value.dtype))
    difference: FloatArray = np.subtract(value, spare, out=spare).astype(np.float64, copy=False)
    if std == "none":
        return difference
    square = difference * difference
    spread = groups.total(square if weight is None else square * weight)
    divisor = np.maximum(votes - 1, 1) if std == "sample" else np.where(votes > 0, votes, 1.0)
    scale = np.maximum(np.sqrt(spread / divisor + variance_eps), std_floor) + eps
    np.divide(difference, groups.each(np.where(scale > 0, scale, 1.0)), out=difference)
    return difference


class _Groups:
    """Sums by group; where the entries of each group stand together they are sums of runs, and faster."""

    def __init__(self, group: IntArray, n_groups: int) -> None:
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        self._group, self._n_groups = group, n_groups
        self.size: FloatArray = np.bincount(group, minlength=n_groups).astype(np.float64)
        runs = starts.size == n_groups and np.array_equal(group[starts], np.arange(n_groups))
        self._starts = starts if runs else None

    def total(self, value: NDArray[Any]) -> FloatArray:
        """Return (G,) sums of (M,) `value`."""
        if self._starts is None:
            return np.asarray(np.bincount(self._group, value, self._n_groups), dtype=np.float64)
        return np.asarray(np.add.reduceat(value, self._starts, dtype=np.float64), dtype=np.float64)

    def each(self, of_group: NDArray[Any]) -> NDArray[Any]:
        """Return (M,) what the group of each entry has."""
        if self._starts is None:
            return of_group[self._group]
        return np.repeat(of_group, self.size.astype(np.int64))

    def sample(self, value: NDArray[Any]) -> tuple[NDArray[Any], BoolArray]:
        """Return (G,) one value of each group, and whether the group has another besides."""
        if self._starts is not None:
            least, most = (f.reduceat(value, self._starts) for f in (np.minimum, np.maximum))
            return least, np.asarray(least != most)
        some, varies = np.zeros(self._n_groups, dtype=value.dtype), np.zeros(self._n_groups, dtype=np.bool_)
        some[self._group] = value
        varies[self._group[value != some[self._group]]] = True
        return some, varies


def returns_to_go(reward: FloatArray, offsets: IntArray, gamma: float) -> FloatArray:
    """Return (T,) G_t = r_t + gamma G_{t+1} inside each trajectory.

    `groups.discounted`, but trajectories of one length are walked side by side, which is several times
    faster: one pass over memory a turn of depth, instead of one over everything a doubling.

    Args:
        reward: (T,) rewards.
        offsets: (N+1,) turns of each trajectory.
        gamma: discount in [0, 1].
    """
    n = offsets.size - 1
    length = reward.size // max(n, 1)
    if length * n != reward.size or not np.array_equal(offsets, np.arange(n + 1) * length):
        return discounted(reward, offsets, gamma)
    walked = np.array(reward.reshape(n, length).T, order="C")
    for turn in range(length - 2, -1, -1):
        walked[turn] += gamma * walked[turn + 1]
    return walked.T.reshape(-1)
