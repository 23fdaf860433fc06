"""Whitening over the whole batch: centre and divide by the deviation of the entries that have a vote.

Every rule that offers whitening does it by `whitened_units`, so that a comparison of rules compares no conventions.
"""

from dataclasses import dataclass

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.errors import RuleError
from equipoise_conditions.groups import codes, standardised
from equipoise_conditions.rule import Parameter

__all__ = [
    "COUNT_EPS",
    "Whitening",
    "deviation",
    "mean",
    "rescaled",
    "uncertain",
    "whitened",
    "whitened_units",
]

COUNT_EPS = Parameter(
    "count_eps",
    0.0,
    "float",
    "added to the number of votes that the batch's mean and variance are divided by (verl: 1e-8)",
    minimum=0.0,
)

Votes = FloatArray | BoolArray


@dataclass(frozen=True)
class Whitening:
    """Whether and how credit is whitened; see `whitened_units`.

    Attributes:
        over: "none", "batch" or "group": over which units mean and deviation are taken.
        std: "sample" (n - 1) or "population" (n) for the divisor, "none" to centre only.
        eps: added to the deviation.
        eps_inside: add `eps` to the variance, inside the root, instead.
        count_eps: added to the number of units; only over the batch.
    """

    over: str = "none"
    std: str = "sample"
    eps: float = 1e-6
    eps_inside: bool = False
    count_eps: float = 0.0


def whitened_units(
    value: FloatArray,
    use: BoolArray,
    group: IntArray,
    whitening: Whitening,
    votes: FloatArray | None = None,
) -> FloatArray:
    """Return (U,) credit minus its mean, over its deviation, of the batch or of each group.

    Fewer than two voters have no deviation: all that is whitened with them becomes 0.

    Args:
        value: (U,) credit.
        use: (U,) which of it counts and is changed; what has no credit, or a 0 for want of siblings, does not.
        group: (U,) group keys.
        whitening: over what, and how.
        votes: (U,) how many times each entry counts; once by default.
    """
    if whitening.over == "none" or not use.any():
        return value
    weight = np.ones(int(use.sum())) if votes is None else votes[use].astype(np.float64)
    code, n_groups = (
        codes(group[use]) if whitening.over == "group" else (np.zeros(weight.size, dtype=np.int64), 1)
    )
    how = {"std": whitening.std, "eps": whitening.eps, "eps_inside": whitening.eps_inside}
    enough = np.bincount(code, weight > 0, n_groups)[code] > 1
    if whitening.over == "batch" and whitening.count_eps > 0.0 and bool(enough.all()):
        white = whitened(value[use], weight, count_eps=whitening.count_eps, few="zero", **how)  # type: ignore[arg-type]
    else:
        vote = None if votes is None else weight
        white = standardised(value[use], code, n_groups, vote=vote, **how)  # type: ignore[arg-type]
    result = value.copy()
    result[use] = np.where(enough, white, 0.0)
    return result


def whitened(
    value: FloatArray,
    votes: Votes,
    *,
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
    count_eps: float = 0.0,
    shift_mean: bool = True,
    few: str = "refuse",
) -> FloatArray:
    """Return (M,) (value - mean) / deviation for every entry, 0 wherever value is the mean.

    Statistics are those of the entries with a vote; the others are moved by the same two numbers and may be
    anything, NaN included.

    Source: `masked_whiten` of verl (volcengine/verl b178a3cd verl/utils/torch_functional.py: sample variance,
    eps 1e-8 inside, count_eps 1e-8) and of SPO (AIFrameResearch/SPO b9fc6a26 src/treetune/trainers/utils.py:
    population or sample variance, eps 1e-8 inside).

    Args:
        value: (M,) numbers.
        votes: (M,) how often each entry counts: a mask, or numbers such as a trajectory's tokens.
        std: "sample" (n - 1), "population" (n) or "none" (the difference from the mean only).
        eps: added to the standard deviation.
        eps_inside: add `eps` to the variance, inside the root, instead.
        count_eps: added to the number of votes in mean and variance.
        shift_mean: False adds the mean again after the division.
        few: with too few votes for a deviation "refuse" raises and "zero" returns zeros, as a group of one
            gets elsewhere.

    Raises:
        RuleError: when `few` is "refuse" and there is no vote, or a single one with std "sample".
    """
    if few == "zero" and _total(votes) < _least(std):
        return np.zeros(value.size)
    centre = mean(value, votes, count_eps=count_eps)
    difference = value - centre
    result = difference / _scale(
        value, votes, std=std, eps=eps, eps_inside=eps_inside, count_eps=count_eps, moved=difference
    )
    return result if shift_mean else result + centre


def rescaled(
    value: FloatArray,
    votes: Votes,
    *,
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
    count_eps: float = 0.0,
) -> FloatArray:
    """Return (M,) value / deviation: the mean keeps its sign and its place. See `whitened` for the arguments.

    Source: `masked_rescale_by_std` of SPO (AIFrameResearch/SPO b9fc6a26 src/treetune/trainers/utils.py).

    Raises:
        RuleError: when there is no vote, or a single one with std "sample", or all votes are equal and eps
            is 0, so that the reference divides by zero.
    """
    return value / _scale(
        value, votes, std=std, eps=eps, eps_inside=eps_inside, count_eps=count_eps, moved=value
    )


def mean(value: FloatArray, votes: Votes, *, count_eps: float = 0.0) -> float:
    """Return the mean of the entries with a vote, exactly their value where they are all equal.

    Raises:
        RuleError: when no entry has a vote.
    """
    known = votes > 0
    if not known.any():
        _refuse("a mean", 1, 0.0)
    first = float(value[known][0])
    if count_eps == 0.0 and bool((value[known] == first).all()):
        return first  # their sum divided by their number may differ by an ulp, which is not signal
    total = float((np.where(known, value, 0.0) * votes).sum())
    return total / (_total(votes) + count_eps)


def deviation(value: FloatArray, votes: Votes, *, std: str = "sample", count_eps: float = 0.0) -> float:
    """Return the standard deviation of the entries with a vote, without any eps beside it.

    Raises:
        RuleError: when no entry has a vote, or a single one has and std is "sample".
    """
    return float(np.sqrt(_variance(value, votes, std=std, count_eps=count_eps)))


def uncertain(use: BoolArray, logprob: FloatArray, *, below: float = 0.9) -> BoolArray:
    """Return (M,) which entries of `use` were sampled with a probability under `below`; `use` if none was.

    Source: the probability mask of SPO's `masked_whiten` (AIFrameResearch/SPO b9fc6a26).
    """
    kept: BoolArray = use & (np.exp(logprob) < below)
    return kept if bool(kept.any()) else use


def _scale(
    value: FloatArray,
    votes: Votes,
    *,
    std: str,
    eps: float,
    eps_inside: bool,
    count_eps: float,
    moved: FloatArray,
) -> float:
    """Return what to divide by; 1 where there is nothing to divide because all that has a vote is 0."""
    if std == "none":
        return 1.0
    variance = _variance(value, votes, std=std, count_eps=count_eps)
    scale = float(np.sqrt(variance + eps) if eps_inside else np.sqrt(variance) + eps)
    if scale > 0.0:
        return scale
    if not np.any(moved[votes > 0]):
        return 1.0
    message = "whitening: expected entries that differ, got equal ones and eps 0; set eps above 0"
    raise RuleError(message)


def _variance(value: FloatArray, votes: Votes, *, std: str, count_eps: float) -> float:
    count = _total(votes)
    if count < _least(std):
        _refuse(f"a {std} deviation", _least(std), count)
    centre = mean(value, votes, count_eps=count_eps)
    square = np.where(votes > 0, value - centre, 0.0) ** 2
    variance = float((square * votes).sum()) / (count + count_eps)
    return variance * count / (count - 1) if std == "sample" else variance


def _total(votes: Votes) -> float:
    return float(votes.sum())


def _least(std: str) -> int:
    return 2 if std == "sample" else 1


def _refuse(what: str, least: int, count: float) -> None:
    message = (
        f"whitening: expected at least {least} entries in the loss to take {what} of, got {count:g}; give it a "
        "larger batch, or a mask that leaves more tokens in the loss"
    )
    raise RuleError(message)
