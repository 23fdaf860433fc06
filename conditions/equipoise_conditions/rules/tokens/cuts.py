"""Where to cut a trajectory's tokens into segments, and what each segment then adds."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Cuts
from equipoise_conditions.credit import Credit, Reason, credit_where, on_collected
from equipoise_conditions.errors import RuleError
from equipoise_conditions.trajectories import Trajectories

__all__ = ["certain", "cut_positions", "fixed_cut_positions", "segment_credit", "values_after"]


def certain(logprob: FloatArray, limit: float, *, equal: bool = True) -> BoolArray:
    """Return (K,) which tokens were sampled with a probability of at least `limit`, or above it.

    Compared in logarithms, so that a token of exactly that probability is equal to it.

    Args:
        logprob: (K,) log-probabilities in nats.
        limit: a probability.
        equal: whether a token exactly at the limit counts as certain.
    """
    bound = np.log(np.array([limit]))[0]
    result: BoolArray = logprob >= bound if equal else logprob > bound
    return result


def cut_positions(
    trajectories: Trajectories, *, cut_below: float = 0.9, cutpoint_interval: int = 5
) -> tuple[IntArray, IntArray]:
    """Return where SPO's chain cuts: `offsets` (N+1,) and `position` (C,) of a `Cuts` to be valued.

    Candidates are the tokens in the loss whose probability is below `cut_below`; the cut stands before the
    token. Of a trajectory's candidates the first and every `cutpoint_interval`-th after it are kept.
    Forked trajectories are not cut. Source: AIFrameResearch/SPO b9fc6a26,
    math_episode_generator_with_mc_advantages.py (it writes the token before the cut, −1 for the prompt).

    Raises:
        RuleError: when the interval is below 1.
    """
    if cutpoint_interval < 1:
        message = f"cutpoint_interval: expected at least 1, got {cutpoint_interval}"
        raise RuleError(message)
    usable = trajectories.mask & trajectories.collected[trajectories.trajectory_of_token]
    token = np.flatnonzero(usable & ~certain(trajectories.logprob, cut_below))
    owner = trajectories.trajectory_of_token[token]
    rank = np.arange(token.size) - np.searchsorted(owner, owner)
    kept = rank % cutpoint_interval == 0
    position = token - trajectories.token_offsets_of_trajectory[owner]
    return _offsets(owner[kept], trajectories.n), position[kept]


def fixed_cut_positions(trajectories: Trajectories, *, segments: int = 4) -> tuple[IntArray, IntArray]:
    """Return the cuts between `segments` parts of equal length, as `offsets` (N+1,) and `position` (C,).

    What does not divide makes the first parts one token longer. The start itself is no cut. A trajectory
    with fewer tokens than parts is cut after each of its tokens, the last cut repeated. Forked
    trajectories are not cut. Source: AIFrameResearch/SPO b9fc6a26,
    math_episode_generator_with_mc_advantages_naive.py.

    Raises:
        RuleError: when `segments` is below 1.
    """
    if segments < 1:
        message = f"segments: expected at least 1, got {segments}"
        raise RuleError(message)
    owner = np.flatnonzero(trajectories.collected)
    length = np.diff(trajectories.token_offsets_of_trajectory)[owner]
    longer = np.arange(segments) < (length % segments)[:, None]
    position = np.cumsum((length // segments)[:, None] + longer, axis=1)[:, :-1].ravel()
    return _offsets(np.repeat(owner, segments - 1), trajectories.n), position.astype(np.int64)


def _offsets(owner: IntArray, n: int) -> IntArray:
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=n))]).astype(np.int64)


def values_after(trajectories: Trajectories, cuts: Cuts) -> tuple[FloatArray, FloatArray]:
    """Return (N,) value before the first token and (K,) value after each token; NaN where not known.

    After a trajectory's last token the value is its outcome, unless a cut was valued there. A cut without
    a value is no cut; of two cuts at one place the later one counts. Forked trajectories have no values.

    Raises:
        RuleError: when the cuts are not of this batch.
    """
    owner = _owner(trajectories, cuts)
    start = trajectories.token_offsets_of_trajectory
    use = ~np.isnan(cuts.value) & trajectories.collected[owner]
    after, before = np.full(trajectories.n_tokens, np.nan), np.full(trajectories.n, np.nan)
    after[start[1:][trajectories.collected] - 1] = trajectories.outcome[trajectories.collected]
    first = use & (cuts.position == 0)
    before[owner[first]] = cuts.value[first]
    later = use & (cuts.position > 0)
    after[start[owner[later]] + cuts.position[later] - 1] = cuts.value[later]
    return before, after


def _owner(trajectories: Trajectories, cuts: Cuts) -> IntArray:
    if cuts.offsets.size != trajectories.n + 1:
        message = (
            f"cuts: expected the cuts of {trajectories.n} trajectories, got those of "
            f"{cuts.offsets.size - 1}; measure it on this batch"
        )
        raise RuleError(message)
    owner = np.repeat(np.arange(trajectories.n, dtype=np.int64), np.diff(cuts.offsets))
    length = np.diff(trajectories.token_offsets_of_trajectory)[owner]
    bad = (cuts.position < 0) | (cuts.position > length)
    bad[1:] |= (np.diff(cuts.position) < 0) & (np.diff(owner) == 0)
    if bad.any():
        cut = int(np.argmax(bad))
        message = (
            f"cuts: expected ascending positions from 0 to {length[cut]} in trajectory {owner[cut]}, got "
            f"{cuts.position[cut]}; measure it on this batch"
        )
        raise RuleError(message)
    return owner


def segment_credit(
    trajectories: Trajectories, cuts: Cuts, *, unvalued: str, loss_mask: BoolArray | None = None
) -> Credit:
    """Return V(end) − V(start) of every segment between valued cuts.

    Args:
        trajectories: the batch; forked trajectories get no credit.
        cuts: the cuts and their values.
        unvalued: a segment whose start has no value is "undefined" (NOT_MEASURED) or gets "zero".
        loss_mask: (K,) False for tokens that the rule takes out of the loss.

    Raises:
        RuleError: when the cuts are not of this batch.
    """
    before, after = values_after(trajectories, cuts)
    offsets = _segments(trajectories, after)
    owner = trajectories.trajectory_of_token[offsets[:-1]]
    opening = offsets[:-1] == trajectories.token_offsets_of_trajectory[owner]
    end = after[offsets[1:] - 1]
    start = np.where(opening, before[owner], after[offsets[:-1] - 1])
    reason = on_collected(trajectories)[trajectories.turn_of_token[offsets[:-1]]]
    unknown = (reason == Reason.DEFINED) & np.isnan(start)
    if unvalued == "undefined":
        reason = np.where(unknown, int(Reason.NOT_MEASURED), reason)
    value = np.where(unknown, 0.0, end - start)
    return credit_where(value, reason, "segment", offsets=offsets, loss_mask=loss_mask)


def _segments(trajectories: Trajectories, after: FloatArray) -> IntArray:
    """Segments end where a value is known and where trajectories end; forks also where they branch."""
    starts = np.zeros(trajectories.n_tokens + 1, dtype=np.bool_)
    starts[1:] = ~np.isnan(after)
    starts[trajectories.token_offsets_of_trajectory] = True
    branch = trajectories.turn_offsets[:-1] + trajectories.branch
    starts[trajectories.token_offsets[branch]] = True
    return np.flatnonzero(starts).astype(np.int64)
