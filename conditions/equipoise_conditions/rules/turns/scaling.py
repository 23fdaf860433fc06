"""Steps that rules on turns share: who votes, and z-scores with weighted votes and two epsilons."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.rule import Parameter
from equipoise_conditions.trajectories import Trajectories

__all__ = ["VARIANCE_EPS", "final_turns", "trained_trajectories", "trained_turns", "weighted_zscore"]

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
    votes = np.bincount(group, weight, n_groups)
    total = np.bincount(group, value if weight is None else value * weight, n_groups)
    mean = np.divide(total, votes, out=np.zeros(n_groups), where=votes > 0).astype(value.dtype)
    # As in groups.centred: the rounding of a mean of equal numbers must not become credit.
    some = np.zeros(n_groups)
    some[group] = value
    varies = np.zeros(n_groups, dtype=np.bool_)
    varies[group[value != some[group]]] = True
    rounded = np.where(varies[group], value - mean[group], np.zeros_like(value))
    difference: FloatArray = rounded.astype(np.float64)
    if std == "none":
        return difference
    square = difference * difference
    spread = np.bincount(group, square if weight is None else square * weight, n_groups)
    divisor = np.maximum(votes - 1, 1) if std == "sample" else np.where(votes > 0, votes, 1.0)
    scale = np.maximum(np.sqrt(spread / divisor + variance_eps), std_floor) + eps
    return np.divide(difference, scale[group], out=np.zeros_like(difference), where=difference != 0)
