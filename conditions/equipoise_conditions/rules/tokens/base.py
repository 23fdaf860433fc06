"""Steps that the rules of tokens share."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, Reason, credit_where, on_tokens
from equipoise_conditions.errors import RuleError
from equipoise_conditions.rule import Parameter
from equipoise_conditions.rules.common import group_advantage
from equipoise_conditions.trajectories import Trajectories

__all__ = ["SIGNAL", "nth_smallest", "outcome_advantage", "planning_of", "signal_of", "token_credit"]

SIGNAL = Parameter(
    "signal",
    "entropy",
    ("entropy", "surprisal"),
    "what stands for a token's uncertainty: its distribution's entropy, or −log p of the sampled token",
)


def outcome_advantage(
    trajectories: Trajectories, *, std: str, eps: float, singleton: str
) -> tuple[FloatArray, BoolArray]:
    """Return (N,) GRPO's advantage of each collected trajectory, 0 for forks, and who has no sibling.

    Args:
        trajectories: the batch.
        std: see `group_advantage`.
        eps: see `group_advantage`.
        singleton: see `group_advantage`.
    """
    use = trajectories.collected
    score, alone = np.zeros(trajectories.n), np.zeros(trajectories.n, dtype=np.bool_)
    score[use], alone[use] = group_advantage(
        trajectories.outcome[use], trajectories.group[use], std=std, eps=eps, singleton=singleton
    )
    return score, alone


def token_credit(
    trajectories: Trajectories,
    value: FloatArray,
    *,
    alone: BoolArray | None = None,
    singleton: str = "zero",
    loss_mask: BoolArray | None = None,
) -> Credit:
    """Return (K,) values as credit of the collected trajectories' tokens in the loss.

    Args:
        trajectories: the batch.
        value: (K,) credit, NaN where it was not measured.
        alone: (K,) tokens with nobody to compare with; NO_GROUP when `singleton` is "undefined".
        singleton: the rule's parameter.
        loss_mask: (K,) False for tokens that the rule takes out of the loss.
    """
    reason = on_tokens(trajectories)
    reason = np.where((reason == Reason.DEFINED) & np.isnan(value), int(Reason.NOT_MEASURED), reason)
    if alone is not None and singleton == "undefined":
        reason = np.where((reason == Reason.DEFINED) & alone, int(Reason.NO_GROUP), reason)
    return credit_where(value, reason, "token", loss_mask=loss_mask)


def planning_of(context: Context, trajectories: Trajectories) -> BoolArray:
    """Return (K,) which tokens belong to a planning phrase.

    Raises:
        MissingNeed: when they were not marked.
        RuleError: when they are of another batch.
    """
    marked: BoolArray = context.column(Need.PLANNING, trajectories.n_tokens) != 0
    return marked


def signal_of(trajectories: Trajectories, signal: str) -> FloatArray:
    """Return (K,) uncertainty of each token in nats: "entropy" or "surprisal"."""
    return trajectories.entropy if signal == "entropy" else -trajectories.logprob


def nth_smallest(value: FloatArray, row: IntArray, n_rows: int, index: IntArray) -> FloatArray:
    """Return (R,) the entry of each row at place `index` of its ascending order; NaN for empty rows.

    Args:
        value: (M,) numbers.
        row: (M,) codes below `n_rows`.
        n_rows: the number of rows.
        index: (R,) place in each row, from 0; places outside the row are moved to its ends.
    """
    if index.shape != (n_rows,):
        message = f"index: expected one place for each of {n_rows} rows, got {index.shape}"
        raise RuleError(message)
    count = np.bincount(row, minlength=n_rows)
    order = np.lexsort((value, row))
    place = np.cumsum(count) - count + np.clip(index, 0, np.maximum(count - 1, 0))
    result = np.full(n_rows, np.nan)
    result[count > 0] = value[order[place[count > 0]]]
    return result
