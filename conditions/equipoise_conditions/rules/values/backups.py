"""Backups along a trajectory that the value-based rules share: lambda-returns, suffix minima, differences."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.credit import Credit, Reason, credit_where
from equipoise_conditions.rule import Parameter
from equipoise_conditions.trajectories import Trajectories
from equipoise_conditions.whitening import Whitening, whitened_units

__all__ = [
    "BASE",
    "LAM",
    "MASKED_REWARD",
    "Whitening",
    "backed_up",
    "differences",
    "inside",
    "lambda_returns",
    "last_of_each",
    "measured_credit",
    "policy_token_rewards",
    "shifted",
    "suffix_min",
    "weight_of_next",
]

LAM = Parameter(
    "lam",
    0.95,
    "float",
    "decay of later temporal differences: 0 is TD(0), 1 the return minus the value",
    minimum=0.0,
    maximum=1.0,
)
MASKED_REWARD = Parameter(
    "masked_reward",
    "carry",
    ("carry", "drop"),
    "a reward on a token outside the loss goes to the policy's last token before it, or is lost",
)
_AS_IT_IS = Whitening()
BASE = Parameter("base", 0.0, "float", "the score before the first step, where the scorer gives none")


def inside(trajectory: IntArray) -> BoolArray:
    """Return (M,) whether the next entry belongs to the same trajectory; the last entry's never does.

    Args:
        trajectory: (M,) trajectory of each entry, ascending.
    """
    same = np.zeros(trajectory.size, dtype=np.bool_)
    same[:-1] = trajectory[1:] == trajectory[:-1]
    return same


def weight_of_next(same: BoolArray, weight: float | FloatArray) -> FloatArray:
    """Return (M,) `weight` where the next entry belongs to the same trajectory, see `inside`, and 0 elsewhere."""
    result: FloatArray = np.where(same, weight, 0.0)
    return result


def last_of_each(trajectory: IntArray) -> IntArray:
    """Return the positions of the last entry of each trajectory that has any; see `inside`."""
    return np.flatnonzero(~inside(trajectory)).astype(np.int64)


def shifted(value: FloatArray, same: BoolArray) -> FloatArray:
    """Return (M,) the next entry's value, and 0 where a trajectory ends: beyond the end nothing follows."""
    later = np.zeros_like(value)
    later[:-1] = np.where(same[:-1], value[1:], 0.0)
    return later


def backed_up(base: FloatArray, factor: FloatArray) -> FloatArray:
    """Return (M,) x_t = base_t + factor_t x_{t+1}.

    Affine maps over 1, 2, 4, ... entries are joined until every chain has met a factor of 0, so the work is
    M log(longest) on whole columns. An undefined base reaches exactly the entries that depend on it.

    Args:
        base: (M,) what each entry adds.
        factor: (M,) weight of the next entry, 0 where a trajectory ends.
    """
    total, weight = base.copy(), factor.copy()
    known = bool(np.isfinite(total).all())
    reach = 1
    while reach < base.size and bool(weight.any()):
        ahead, later = weight[:-reach], total[reach:]
        # 0 times undefined is undefined: what a weight of 0 shuts out must not be multiplied at all.
        total[:-reach] += ahead * (later if known else np.where(ahead != 0, later, 0.0))
        ahead *= weight[reach:].copy()
        weight[-reach:] = 0.0
        reach *= 2
    return total


def lambda_returns(reward: FloatArray, value: FloatArray, discount: FloatArray, lam: float) -> FloatArray:
    """Return (M,) G_t = r_t + c_t ((1 - lam) V_{t+1} + lam G_{t+1}), so that GAE's advantage is G_t - V_t.

    It equals the sum of (c lam)^k delta_{t+k} of Schulman et al. 2016 (arXiv 1506.02438), plus V_t. Written
    this way, a value that was not estimated leaves undefined only what depends on it: nothing earlier at
    lam 1 and one entry at lam 0.

    Args:
        reward: (M,) rewards.
        value: (M,) values before each entry, NaN where not estimated.
        discount: (M,) discount c_t towards the next entry, 0 where a trajectory ends.
        lam: decay in [0, 1].
    """
    bootstrap = discount * (1.0 - lam)
    base = reward.copy()
    reads = np.flatnonzero(bootstrap)
    base[reads] += bootstrap[reads] * value[reads + 1]
    return backed_up(base, discount * lam)


def suffix_min(value: FloatArray, same: BoolArray) -> FloatArray:
    """Return (M,) the least value from each entry to its trajectory's end; undefined if any is.

    Args:
        value: (M,) numbers.
        same: (M,) whether the next entry belongs to the same trajectory, see `inside`.
    """
    least, reaches = value.copy(), same.copy()
    reach = 1
    while reach < value.size and bool(reaches.any()):
        reaches[-reach:] = False
        ahead = np.flatnonzero(reaches)
        least[ahead] = np.minimum(least[ahead], least[ahead + reach])
        reaches[ahead] &= reaches[ahead + reach]
        reach *= 2
    return least


def differences(after: FloatArray, before: FloatArray | float, same: BoolArray) -> FloatArray:
    """Return (M,) after_t minus what stood before entry t: after_{t-1}, or `before` at a trajectory's start.

    Args:
        after: (M,) a number measured after each entry.
        before: (N,) or one number: what was measured before the first entry of each trajectory in turn.
        same: (M,) see `inside`.
    """
    previous = np.empty_like(after)
    previous[1:] = after[:-1]
    first = np.ones(after.size, dtype=np.bool_)
    first[1:] = ~same[:-1]
    previous[first] = before
    return after - previous


def policy_token_rewards(trajectories: Trajectories, masked_reward: str) -> FloatArray:
    """Return the reward of each token inside the loss, in their order.

    Args:
        trajectories: the batch.
        masked_reward: "carry" adds a reward on a token outside the loss to the last token inside it that
            came before in the trajectory (there is none: no decision can have earned it, and it is lost);
            "drop" loses it.
    """
    mask, reward = trajectories.mask, trajectories.token_reward
    chosen = np.flatnonzero(mask)
    if masked_reward == "drop" or chosen.size == mask.size:
        return reward[chosen]
    before = np.cumsum(mask) - 1
    trajectory = trajectories.trajectory_of_token
    earned = (
        (before >= 0) & (trajectory[chosen[np.maximum(before, 0)]] == trajectory) if chosen.size else mask
    )
    return np.bincount(before[earned], reward[earned], chosen.size).astype(np.float64)


def measured_credit(
    trajectories: Trajectories,
    value: FloatArray,
    reason: IntArray,
    granularity: str = "turn",
    whitening: Whitening = _AS_IT_IS,
) -> Credit:
    """Return `value` as credit, NOT_MEASURED where a measurement it needs is missing, whitened if asked for.

    Args:
        trajectories: the batch.
        value: (U,) values, NaN where something they need was not measured.
        reason: (U,) reasons before that is looked at.
        granularity: "turn" or "token".
        whitening: over which of the defined units, and how.
    """
    missing = (reason == Reason.DEFINED) & np.isnan(value)
    reason = np.where(missing, int(Reason.NOT_MEASURED), reason)
    known = np.equal(reason, int(Reason.DEFINED))
    if whitening.over != "none":
        of_turn = trajectories.trajectory_of_turn
        owner = of_turn if granularity == "turn" else trajectories.trajectory_of_token
        value = whitened_units(value, known, trajectories.group[owner], whitening)
    return credit_where(value, reason, granularity)
