"""Steps that the rules on a judge's verdicts share: who was asked, what was read, how repeats vote."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Context, Need, Verdicts
from equipoise_conditions.credit import Credit, Reason, credit_where, on_collected
from equipoise_conditions.errors import RuleError
from equipoise_conditions.rule import Parameter
from equipoise_conditions.rules.common import check_length
from equipoise_conditions.trajectories import Trajectories

__all__ = ["FALLBACKS", "UNJUDGED", "UNPARSABLE", "on_scale", "read_verdicts", "settled", "share_of", "voted"]

FALLBACKS = ("undefined", "zero", "outcome")
UNJUDGED = Parameter(
    "unjudged",
    "undefined",
    FALLBACKS,
    "turns that no judge was asked about: no credit (NOT_SELECTED), 0, or the outcome's credit",
)
UNPARSABLE = Parameter(
    "unparsable",
    "undefined",
    FALLBACKS,
    "turns whose verdict could not be read: no credit (UNPARSABLE), 0, or the outcome's credit",
)


def read_verdicts(trajectories: Trajectories, context: Context) -> tuple[FloatArray, IntArray]:
    """Return (T, V) scores and (T,) reasons of a rule that uses no forks.

    NOT_SELECTED where the judge was not asked, UNPARSABLE where none of its V answers could be read.

    Raises:
        RuleError: when the verdicts are of another batch.
    """
    judge = context.need(Need.JUDGE, Verdicts)
    check_length("judge", judge.asked.size, trajectories)
    reason = on_collected(trajectories)
    reason = np.where((reason == Reason.DEFINED) & ~judge.asked, int(Reason.NOT_SELECTED), reason)
    silent = ~np.isfinite(judge.score).any(axis=1)
    return judge.score, np.where((reason == Reason.DEFINED) & silent, int(Reason.UNPARSABLE), reason)


def on_scale(score: FloatArray, scale: str) -> FloatArray:
    """Return (T, V) scores in [-1, 1]: "ternary" ones as they are, "five-point" ones as (z - 3) / 2.

    Raises:
        RuleError: when a score is outside its scale.
    """
    low, high = (-1.0, 1.0) if scale == "ternary" else (1.0, 5.0)
    outside = np.isfinite(score) & ((score < low) | (score > high))
    if outside.any():
        message = (
            f"judge: expected scores from {low:g} to {high:g} on the scale '{scale}', got {score[outside][0]:g} "
            f"({int(outside.sum())} in all); set `scale` to the judge's own"
        )
        raise RuleError(message)
    return score if scale == "ternary" else (score - 3.0) / 2.0


def voted(score: FloatArray, vote: str) -> FloatArray:
    """Return (T,) one score for each turn from its readable repeats; NaN where none is readable.

    Args:
        score: (T, V) scores, NaN where not readable.
        vote: "mean", "median", or "majority" (the most frequent score; the mean of those that tie).
    """
    known = np.isfinite(score)
    some = known.any(axis=1)
    result = np.full(some.size, np.nan)
    weight = known.astype(np.float64)
    if vote == "median":
        result[some] = np.nanmedian(np.where(known, score, np.nan)[some], axis=1)
        return result
    if vote == "majority":
        same = np.zeros(score.shape)
        for repeat in range(score.shape[1]):
            same += score == score[:, repeat : repeat + 1]
        weight = (known & (same == np.max(same * known, axis=1, keepdims=True))).astype(np.float64)
    total = (np.where(known, score, 0.0) * weight).sum(axis=1)
    result[some] = total[some] / weight.sum(axis=1)[some]
    return result


def share_of(holds: BoolArray, score: FloatArray) -> FloatArray:
    """Return (T,) the share of each turn's readable repeats for which `holds`; 0 where none is readable."""
    known = np.isfinite(score)
    share: FloatArray = (holds & known).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return share


def settled(
    value: FloatArray, reason: IntArray, outcome: FloatArray, *, unjudged: str, unparsable: str
) -> Credit:
    """Return turn credit in which turns without a verdict have what was chosen for them.

    Args:
        value: (T,) credit of judged turns.
        reason: (T,) reasons as `read_verdicts` gives them.
        outcome: (T,) the outcome's credit.
        unjudged: see `UNJUDGED`.
        unparsable: see `UNPARSABLE`.
    """
    for word, without in ((unjudged, Reason.NOT_SELECTED), (unparsable, Reason.UNPARSABLE)):
        if word == "undefined":
            continue
        at = reason == without
        value = np.where(at, outcome if word == "outcome" else 0.0, value)
        reason = np.where(at, int(Reason.DEFINED), reason)
    return credit_where(value, reason)
