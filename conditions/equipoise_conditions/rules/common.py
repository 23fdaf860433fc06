"""Parameters and steps that several rules share, so that a comparison of rules does not compare epsilons."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.credit import Credit, Reason, credit_where, on_collected, on_episodes
from equipoise_conditions.errors import RuleError
from equipoise_conditions.groups import centred, codes, divided, variances
from equipoise_conditions.rule import Parameter
from equipoise_conditions.trajectories import Trajectories

__all__ = [
    "CONTINUED",
    "EPS",
    "EPS_INSIDE",
    "GAMMA",
    "JUDGED",
    "OMEGA",
    "SCORE",
    "SINGLETON",
    "STD",
    "VOTE",
    "WHITEN",
    "Scale",
    "check_length",
    "clip_faults",
    "episode_advantage",
    "episode_credit",
    "group_advantage",
    "relative_scores",
    "scores_of",
    "turn_advantage",
    "votes_of",
    "with_reasons",
]

STD = Parameter(
    "std",
    "sample",
    ("sample", "population", "none"),
    "divisor of a group: standard deviation with n - 1, with n, or none (Dr.GRPO)",
)
EPS = Parameter("eps", 1e-6, "float", "added to the standard deviation", minimum=0.0)
EPS_INSIDE = Parameter("eps_inside", False, "bool", "add eps to the variance, inside the root, instead")  # noqa: FBT003
WHITEN = Parameter(
    "whiten",
    "none",
    ("none", "batch", "group"),
    "centre all credit and divide it by its deviation (std none: centre only), over the batch or over each group",
)
SINGLETON = Parameter(
    "singleton",
    "zero",
    ("zero", "raw", "undefined"),
    "a group of one gets 0, its raw outcome, or no credit at all",
)
VOTE = Parameter(
    "vote",
    "trajectory",
    ("trajectory", "turn", "token"),
    "one vote in the group's mean and deviation for each trajectory, each of its turns, or each token in the loss",
)
SCORE = Parameter(
    "score",
    "outcome",
    ("outcome", "tokens"),
    "what is compared: the trajectory's outcome, or the sum of all its token rewards, masked ones included",
)
GAMMA = Parameter("gamma", 0.95, "float", "discount per turn", minimum=0.0, maximum=1.0)
OMEGA = Parameter("omega", 1.0, "float", "weight of the turn term beside the episode term")
JUDGED = (
    Parameter("judge", "scripted", "text", "who is asked: scripted is the environment's own judge"),
    Parameter("votes", 1, "int", "verdicts on each turn", minimum=1),
    Parameter(
        "error", 0.0, "float", "chance that a verdict is another one, at random", minimum=0.0, maximum=1.0
    ),
)
"""How a judge is asked; for whoever asks."""
CONTINUED = (
    Parameter("rollouts", 4, "int", "continuations of each state", minimum=1),
    Parameter("trajectories_per_task", 0, "int", "trajectories valued for each task, 0 for all", minimum=0),
)
"""How values are rolled out; for whoever plays."""


@dataclass(frozen=True)
class Scale:
    """What a difference from the group's mean is divided by.

    Attributes:
        std: see `standardised`.
        eps: see `standardised`.
        eps_inside: see `standardised`.
        over: "group", or "batch" for the deviation of all scores from the mean of all.
        floor: the least variance to divide by the root of.
    """

    std: str = "sample"
    eps: float = 1e-6
    eps_inside: bool = False
    over: str = "group"
    floor: float = 0.0


def relative_scores(
    score: FloatArray,
    group: IntArray,
    scale: Scale,
    *,
    singleton: str = "zero",
    vote: FloatArray | None = None,
) -> tuple[FloatArray, BoolArray]:
    """Return (M,) group-relative scores and which of them are alone in their group.

    Args:
        score: (M,) outcomes.
        group: (M,) group keys.
        scale: the divisor.
        singleton: "raw" leaves the score of a group of one over the divisor that mean 0 and deviation 1
            would make, or over the batch's; any other word leaves 0.
        vote: (M,) how many times each score enters mean and deviation; once by default. Scores of a group
            without votes are NaN.
    """
    code, n_groups = codes(group)
    alone = np.bincount(code, minlength=n_groups)[code] == 1
    difference = centred(score, code, n_groups, vote)
    raw = alone & (singleton == "raw")
    some_raw = bool(raw.any())
    if some_raw:
        difference = np.where(raw, score, difference)
    if vote is not None:
        difference[np.bincount(code, vote, n_groups)[code] == 0] = np.nan
    if scale.std == "none":
        return difference, alone
    if scale.over == "batch":
        one = np.zeros_like(code)
        variance = variances(centred(score, one, 1, vote), one, 1, std=scale.std, vote=vote)[one]
    else:
        spread = np.where(raw, 0.0, difference) if some_raw else difference
        variance = variances(spread, code, n_groups, std=scale.std, vote=vote)[code]
        variance = np.where(raw, 1.0, variance) if some_raw else variance
    value = divided(difference, variance, eps=scale.eps, eps_inside=scale.eps_inside, floor=scale.floor)
    return value, alone


def group_advantage(
    score: FloatArray,
    group: IntArray,
    *,
    std: str,
    eps: float,
    eps_inside: bool = False,
    singleton: str = "zero",
) -> tuple[FloatArray, BoolArray]:
    """Return (M,) group-relative scores and which of them are alone in their group: `relative_scores`.

    Args:
        score: (M,) outcomes.
        group: (M,) group keys.
        std: see `standardised`.
        eps: see `standardised`.
        eps_inside: see `standardised`.
        singleton: see `relative_scores`.
    """
    return relative_scores(score, group, Scale(std, eps, eps_inside), singleton=singleton)


def scores_of(trajectories: Trajectories, score: str) -> FloatArray:
    """Return (N,) what each trajectory is scored by.

    Args:
        trajectories: the batch.
        score: "outcome", or "tokens" for the sum of the rewards of all its tokens, masked ones included.
    """
    if score == "outcome":
        return trajectories.outcome
    total: FloatArray = np.add.reduceat(
        trajectories.token_reward, trajectories.token_offsets_of_trajectory[:-1]
    )
    return total


def votes_of(trajectories: Trajectories, vote: str) -> FloatArray | None:
    """Return (N,) votes of each trajectory in its group; None where each has one.

    Args:
        trajectories: the batch.
        vote: "trajectory", "turn" for one vote a turn, or "token" for one for each token in the loss.
    """
    if vote == "trajectory":
        return None
    if vote == "turn":
        return trajectories.lengths.astype(np.float64)
    return np.bincount(trajectories.trajectory_of_token, trajectories.mask, trajectories.n).astype(np.float64)


def episode_advantage(
    trajectories: Trajectories,
    scale: Scale,
    *,
    singleton: str = "zero",
    vote: str = "trajectory",
    score: str = "outcome",
) -> tuple[FloatArray, BoolArray]:
    """Return (N,) scores of the collected trajectories against their group, and which have no sibling.

    Forks have 0 and neither vote nor are siblings. Where a group has no vote at all, its scores are NaN.

    Args:
        trajectories: the batch.
        scale: the divisor.
        singleton: see `relative_scores`.
        vote: see `votes_of`.
        score: see `scores_of`.
    """
    use, votes = trajectories.collected, votes_of(trajectories, vote)
    if bool(use.all()):
        scores = scores_of(trajectories, score)
        return relative_scores(scores, trajectories.group, scale, singleton=singleton, vote=votes)
    value, alone = np.zeros(trajectories.n), np.zeros(trajectories.n, dtype=np.bool_)
    value[use], alone[use] = relative_scores(
        scores_of(trajectories, score)[use],
        trajectories.group[use],
        scale,
        singleton=singleton,
        vote=None if votes is None else votes[use],
    )
    return value, alone


def turn_advantage(
    trajectories: Trajectories, *, std: str, eps: float, singleton: str, vote: str
) -> tuple[FloatArray, BoolArray]:
    """Return (T,) episode term of a turn-level rule, and which turns have no group; 0 on forks.

    Groups are the collected trajectories of a group, each with one vote, with one for each turn, or with
    one for each token in the loss. Where turns vote, a group of one is one turn, not one trajectory.
    """
    if vote != "turn":
        score, alone = episode_advantage(trajectories, Scale(std, eps), singleton=singleton, vote=vote)
        return score[trajectories.trajectory_of_turn], alone[trajectories.trajectory_of_turn]
    turns = trajectories.collected[trajectories.trajectory_of_turn]
    outcome = trajectories.outcome[trajectories.trajectory_of_turn]
    value, none = np.zeros(turns.size), np.zeros(turns.size, dtype=np.bool_)
    value[turns], none[turns] = group_advantage(
        outcome[turns], trajectories.group_of_turn[turns], std=std, eps=eps, singleton=singleton
    )
    return value, none


def episode_credit(
    trajectories: Trajectories, score: FloatArray, alone: BoolArray, *, singleton: str
) -> Credit:
    """Return trajectory scores as episode-level credit of the collected trajectories.

    Args:
        trajectories: the batch.
        score: (N,) scores; those of forks are not read. NaN is MASKED: the group has no token in the loss.
        alone: (N,) trajectories without siblings; undefined when `singleton` is "undefined".
        singleton: the rule's parameter.
    """
    reason = _reasons(on_episodes(trajectories), score, alone, singleton)
    return credit_where(score, reason, "episode")


def with_reasons(
    trajectories: Trajectories, value: FloatArray, alone: BoolArray, *, singleton: str
) -> Credit:
    """Return (T,) values as credit of the collected trajectories, NO_GROUP where that was asked for.

    NaN is MASKED: the group has no token in the loss.
    """
    return credit_where(value, _reasons(on_collected(trajectories), value, alone, singleton))


def _reasons(reason: IntArray, value: FloatArray, alone: BoolArray, singleton: str) -> IntArray:
    if singleton == "undefined":
        reason = np.where((reason == Reason.DEFINED) & alone, int(Reason.NO_GROUP), reason)
    missing = np.isnan(value)
    if missing.any():
        reason = np.where((reason == Reason.DEFINED) & missing, int(Reason.MASKED), reason)
    reason.setflags(write=False)  # nobody else holds it, so Credit need not copy it
    return reason


def check_length(name: str, got: int, trajectories: Trajectories) -> None:
    """Raise RuleError unless `got` entries were measured for the turns of the batch."""
    if got != trajectories.n_turns:
        message = (
            f"{name}: expected one entry for each of {trajectories.n_turns} turns, got {got}; "
            "measure it on this batch"
        )
        raise RuleError(message)


def clip_faults(params: Mapping[str, object]) -> list[str]:
    """Return what is wrong with the parameters `clip_low` and `clip_high`, read as numbers: an empty interval."""
    low, high = float(str(params["clip_low"])), float(str(params["clip_high"]))
    if low <= high:
        return []
    return [f"clip_low: expected clip_low <= clip_high, got {low:g} > {high:g}"]
