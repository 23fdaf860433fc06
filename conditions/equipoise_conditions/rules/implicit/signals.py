"""Steps that rules on token signals and on judges share: totals of a turn's tokens, centring, the outcome beside."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Reason, on_collected
from equipoise_conditions.groups import centred, codes
from equipoise_conditions.rule import Parameter
from equipoise_conditions.trajectories import Trajectories

__all__ = [
    "BETA",
    "CENTRE",
    "OUTCOME_WEIGHT",
    "SCALE",
    "centred_signal",
    "implicit_tokens",
    "scaled",
    "turn_reasons",
    "turn_totals",
]

BETA = Parameter("beta", 0.1, "float", "multiplies the log-ratio of tuned and reference policy", minimum=0.0)
CENTRE = Parameter(
    "centre",
    "group",
    ("group", "trajectory", "batch", "none"),
    "what is subtracted: the mean over the turns of the group, of the trajectory or of the batch, or nothing",
)
OUTCOME_WEIGHT = Parameter(
    "outcome_weight",
    0.0,
    "float",
    "weight of the trajectory's outcome beside the turn's own term",
    minimum=0.0,
)
SCALE = Parameter(
    "scale",
    "none",
    ("none", "largest"),
    "divide all implicit rewards by the largest reward-to-go of the batch",
)


def turn_totals(
    trajectories: Trajectories, column: FloatArray, use: BoolArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return (T,) sums of a (K,) column over each turn's tokens in the loss, and (T,) how many those are.

    A number that is not finite on a token in the loss makes its turn's sum not finite.

    Args:
        trajectories: the batch.
        column: (K,) numbers.
        use: (K,) which tokens count; those in the loss by default.
    """
    kept = trajectories.mask if use is None else use
    turns = trajectories.n_turns
    count = np.bincount(trajectories.turn_of_token, kept, turns)
    total = np.bincount(trajectories.turn_of_token, np.where(kept, column, 0.0), turns)
    return total.astype(np.float64, copy=False), count.astype(np.float64, copy=False)


def turn_reasons(trajectories: Trajectories, value: FloatArray, count: FloatArray | None = None) -> IntArray:
    """Return (T,) reasons of a rule that uses no forks.

    MASKED where a turn has no token in the loss (`count` 0), NOT_MEASURED where `value` is not finite.
    """
    reason = on_collected(trajectories)
    if count is not None:
        reason = np.where((reason == Reason.DEFINED) & (count == 0), int(Reason.MASKED), reason)
    return np.where((reason == Reason.DEFINED) & ~np.isfinite(value), int(Reason.NOT_MEASURED), reason)


def centred_signal(trajectories: Trajectories, value: FloatArray, use: BoolArray, centre: str) -> FloatArray:
    """Return (T,) `value` minus the mean over the turns in `use` of its group, trajectory or batch.

    Entries outside `use` neither vote nor count: they come back as 0.

    Args:
        trajectories: the batch.
        value: (T,) signal, finite where `use`.
        use: (T,) turns that have the signal.
        centre: see `CENTRE`.
    """
    known = np.where(use, value, 0.0)
    if centre == "none":
        return known
    keys = {"group": trajectories.group_of_turn, "trajectory": trajectories.trajectory_of_turn}
    key = keys.get(centre, np.zeros(trajectories.n_turns, dtype=np.int64))[use]
    code, n_groups = codes(key)
    known[use] = centred(known[use], code, n_groups)
    return known


def scaled(trajectories: Trajectories, token: FloatArray, scale: str, eps: float) -> FloatArray:
    """Return (K,) token rewards, divided by the batch's largest absolute reward-to-go plus `eps` if asked for.

    The reward-to-go of a token is the sum from it to its trajectory's end, over the collected trajectories.

    Args:
        trajectories: the batch.
        token: (K,) rewards, 0 on tokens that have none.
        scale: "none" or "largest".
        eps: added to the divisor.
    """
    if scale == "none":
        return token
    before = np.concatenate([[0.0], np.cumsum(token)])
    ends = before[trajectories.token_offsets_of_trajectory[1:]][trajectories.trajectory_of_token]
    to_go = np.abs(ends - before[:-1])[trajectories.collected[trajectories.trajectory_of_token]]
    largest: FloatArray = token / (to_go.max(initial=0.0) + eps)
    return largest


def implicit_tokens(
    trajectories: Trajectories, context: Context, beta: float
) -> tuple[FloatArray, BoolArray]:
    """Return (K,) beta times the log-ratio, 0 where it has none, and (K,) which tokens in the loss lack it.

    Args:
        trajectories: the batch.
        context: `log_ratio` is read.
        beta: multiplies it.
    """
    ratio = context.column(Need.LOG_RATIO, trajectories.n_tokens)
    known = np.isfinite(ratio) & trajectories.mask
    token = np.zeros(ratio.size)
    token[known] = beta * ratio[known]
    return token, trajectories.mask & ~known
