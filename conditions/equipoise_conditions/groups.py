"""Statistics of groups on flat columns: no loop over members or over groups."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray

__all__ = ["centred", "codes", "codes_within", "discounted", "divided", "standardised", "variances"]

# Odd 64-bit constants without structure (SplitMix64 and the golden ratio).
_MULTIPLIERS = np.array(
    [0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93], dtype=np.uint64
)

# Relative error of a weighted mean of n equal numbers, divided by n: a bound on products, sums and quotient.
_ROUNDING = 4 * float(np.finfo(np.float64).eps)


_TOGETHER = 1024
"""From so many trajectories on, a step over all of them costs less than its overhead."""


def codes(key: IntArray) -> tuple[IntArray, int]:
    """Return a code 0..G-1 for each entry, equal where `key` is equal, and the number of groups G.

    Which group has which code is unspecified. Work is linear: keys are not sorted.
    """
    if key.size and bool((key[1:] >= key[:-1]).all()):  # groups mostly stand together
        code = np.zeros(key.size, dtype=np.int64)
        np.cumsum(key[1:] != key[:-1], out=code[1:])
        return code, int(code[-1]) + 1
    if key.size and int(key.min()) >= 0 and int(key.max()) < 4 * key.size:
        return _ranked(key)
    return _ranked(_representative(key))


def _ranked(key: IntArray) -> tuple[IntArray, int]:
    used = np.zeros(int(key.max(initial=-1)) + 1, dtype=np.bool_)
    used[key] = True
    rank = np.cumsum(used) - 1
    return rank[key], int(rank[-1]) + 1 if rank.size else 0


def _representative(key: IntArray) -> IntArray:
    """Return for each entry the position of one entry of its key, the same for all entries of that key.

    Keys meet in a table by multiplicative hashing. All entries of a key land in one slot, and the last to
    be written stands for all of its key; keys that lost their slot to another meet again by another hash.
    """
    bits = int(key.size).bit_length()
    word = key.view(np.uint64)
    # Fresh memory costs more than arithmetic here, so positions are kept in 32 bits where they fit.
    position = np.int32 if key.size < 2**31 else np.int64
    table = np.empty(1 << bits, dtype=position)
    result = np.empty(key.size, dtype=position)
    left = np.arange(key.size, dtype=position)
    for multiplier in _MULTIPLIERS:
        slot = (word[left] * multiplier) >> np.uint64(64 - bits)
        table[slot] = left
        standing = table[slot]
        found = word[standing] == word[left]
        result[left[found]] = standing[found]
        left = left[~found]
        if left.size == 0:
            return result.astype(np.int64)
    # Keys made to collide under every multiplier are possible, if not likely: sort those.
    _, first, inverse = np.unique(key[left], return_index=True, return_inverse=True)
    result[left] = left[first[inverse]]
    return result.astype(np.int64)


def codes_within(key: IntArray, group: IntArray) -> tuple[IntArray, int]:
    """Return codes, and their number, that are equal where both `key` and `group` are equal."""
    inner, n_inner = codes(key)
    first = np.zeros(n_inner, dtype=np.int64)
    first[inner] = group
    if np.array_equal(first[inner], group):
        return inner, n_inner  # every key lives in one group, as a state that belongs to a task does
    outer, n_outer = codes(group)
    return codes(inner * n_outer + outer)


def centred(
    value: FloatArray, group: IntArray, n_groups: int, vote: BoolArray | FloatArray | None = None
) -> FloatArray:
    """Return (M,) `value` minus the mean of its group, exactly 0 in a group of equal values.

    Args:
        value: (M,) numbers.
        group: (M,) codes below `n_groups`.
        n_groups: the number of groups.
        vote: (M,) which entries enter the mean, or how many times each does; all once by default. The mean
            of a group without votes is taken as 0.
    """
    weight = None if vote is None else vote.astype(np.float64)
    count = np.bincount(group, weight, n_groups)
    total = np.bincount(group, value if weight is None else value * weight, n_groups)
    mean = np.divide(total, count, out=np.zeros(n_groups), where=count > 0)
    difference = value - mean[group]
    # The mean of equal numbers may differ from them by an ulp, which a tiny standard deviation would
    # blow up into credit. Rounding is not signal. Groups are looked at only if a difference is that small.
    distance = np.abs(difference)
    if not np.any((distance <= _ROUNDING * value.size * np.abs(value)) & (distance > 0)):
        return difference
    voters = slice(None) if weight is None else weight > 0
    voted, of = value[voters], group[voters]
    some = np.zeros(n_groups)
    some[of] = voted
    varies = np.zeros(n_groups, dtype=np.bool_)
    varies[of[voted != some[of]]] = True
    exact: FloatArray = value - np.where(varies, mean, some)[group]
    return exact


def variances(
    difference: FloatArray,
    group: IntArray,
    n_groups: int,
    *,
    std: str,
    vote: BoolArray | FloatArray | None = None,
) -> FloatArray:
    """Return (G,) variances of groups of centred numbers; 0 where there are too few votes for one.

    Args:
        difference: (M,) numbers minus the mean of their group.
        group: (M,) codes below `n_groups`.
        n_groups: the number of groups.
        std: "sample" (n - 1) or "population" (n), n being the sum of the votes.
        vote: (M,) which entries count, or how many times; all once by default.
    """
    weight = None if vote is None else vote.astype(np.float64)
    square = difference * difference
    count = np.bincount(group, weight, n_groups)
    total = np.bincount(group, square if weight is None else square * weight, n_groups)
    result: FloatArray = total / np.maximum(count - (1 if std == "sample" else 0), 1)
    return result


def divided(
    difference: FloatArray, variance: FloatArray, *, eps: float, eps_inside: bool = False, floor: float = 0.0
) -> FloatArray:
    """Return (M,) differences over the root of their variance, and 0 for a difference or a root of 0.

    Args:
        difference: (M,) numbers.
        variance: (M,) their variances.
        eps: added to the standard deviation.
        eps_inside: add `eps` to the variance, inside the root, instead.
        floor: the least variance to divide by the root of.
    """
    known = np.maximum(variance, floor) if floor > 0.0 else variance
    scale = np.sqrt(known + eps) if eps_inside else np.sqrt(known) + eps
    if eps > 0.0:
        return difference / scale + 0.0  # no negative zeros
    # Without eps, an entry that does not vote may differ from voters that do not: no deviation, no credit.
    return np.divide(difference, scale, out=np.zeros_like(difference), where=(difference != 0) & (scale != 0))


def standardised(
    value: FloatArray,
    group: IntArray,
    n_groups: int,
    *,
    std: str,
    eps: float,
    eps_inside: bool = False,
    vote: BoolArray | FloatArray | None = None,
) -> FloatArray:
    """Return (M,) (value - mean) / (std + eps) by group; groups of one give 0.

    Args:
        value: (M,) numbers.
        group: (M,) codes below `n_groups`.
        n_groups: the number of groups.
        std: "sample" (n - 1), "population" (n) or "none" (the difference from the mean only).
        eps: added to the standard deviation.
        eps_inside: add `eps` to the variance, inside the root, instead.
        vote: (M,) which entries enter mean and standard deviation, or how many times each does; all once by
            default.
    """
    difference = centred(value, group, n_groups, vote)
    if std == "none":
        return difference
    variance = variances(difference, group, n_groups, std=std, vote=vote)
    return divided(difference, variance[group], eps=eps, eps_inside=eps_inside)


def discounted(reward: FloatArray, offsets: IntArray, gamma: float) -> FloatArray:
    """Return (T,) G_t = r_t + gamma G_{t+1} inside each trajectory.

    Many trajectories of similar lengths are walked together, one column for each depth. Otherwise partial
    sums over 1, 2, 4, ... turns are joined, so that the work is T log(longest) on whole columns.

    Args:
        reward: (T,) step rewards.
        offsets: (N+1,) turns of each trajectory.
        gamma: discount in [0, 1].
    """
    lengths = np.diff(offsets)
    longest = int(lengths.max())
    if longest == 1:
        return reward.copy()
    if lengths.size >= _TOGETHER and lengths.size * longest <= 2 * reward.size:
        return _by_depth(reward, offsets, lengths, longest, gamma)
    return _by_doubling(reward, offsets, lengths, longest, gamma)


def _by_depth(
    reward: FloatArray, offsets: IntArray, lengths: IntArray, longest: int, gamma: float
) -> FloatArray:
    """One row for each distance from the end, one column a trajectory; rows above a shorter one are not read."""
    if reward.size == lengths.size * longest:
        table = np.ascontiguousarray(reward.reshape(lengths.size, longest).T[::-1])
        place = None
    else:
        table = np.zeros((longest, lengths.size))
        left = np.repeat(offsets[1:] - 1, lengths) - np.arange(reward.size)
        place = left * lengths.size + np.repeat(np.arange(lengths.size), lengths)
        table.reshape(-1)[place] = reward
    carried = np.empty(lengths.size)
    for depth in range(1, longest):
        np.multiply(table[depth - 1], gamma, out=carried)
        table[depth] += carried
    if place is None:
        return np.ascontiguousarray(table[::-1].T).reshape(-1)
    total: FloatArray = table.reshape(-1)[place]
    return total


def _by_doubling(
    reward: FloatArray, offsets: IntArray, lengths: IntArray, longest: int, gamma: float
) -> FloatArray:
    left = np.repeat(offsets[1:], lengths) - np.arange(reward.size)
    total, later = reward.copy(), np.empty_like(reward)
    reach = 1
    while reach < longest:
        joined = later[:-reach]
        np.multiply(total[reach:], gamma**reach, out=joined)
        joined[left[:-reach] <= reach] = 0.0
        total[:-reach] += joined
        reach *= 2
    return total
