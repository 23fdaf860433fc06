"""Parameters and steps that several rules share, so that a comparison of rules does not compare epsilons."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.credit import Credit, Reason, credit_where, on_collected, on_episodes
from equipoise_conditions.errors import RuleError
from equipoise_conditions.groups import codes, standardised
from equipoise_conditions.rule import Parameter
from equipoise_conditions.trajectories import Trajectories

__all__ = [
    "EPS",
    "EPS_INSIDE",
    "GAMMA",
    "OMEGA",
    "SINGLETON",
    "STD",
    "VOTE",
    "WHITEN",
    "check_length",
    "episode_credit",
    "group_advantage",
    "turn_advantage",
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
    "centre and divide all defined credit by its deviation, over the batch or over each group",
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
GAMMA = Parameter("gamma", 0.95, "float", "discount per turn", minimum=0.0, maximum=1.0)
OMEGA = Parameter("omega", 1.0, "float", "weight of the turn term beside the episode term")


def group_advantage(
    score: FloatArray,
    group: IntArray,
    *,
    std: str,
    eps: float,
    eps_inside: bool = False,
    singleton: str = "zero",
) -> tuple[FloatArray, BoolArray]:
    """Return (M,) group-relative scores and which of them are alone in their group.

    Args:
        score: (M,) outcomes.
        group: (M,) group keys.
        std: see `standardised`.
        eps: see `standardised`.
        eps_inside: see `standardised`.
        singleton: "raw" divides the raw score by (1 + eps), as mean 0 and deviation 1 would; any other
            word leaves 0.
    """
    code, n_groups = codes(group)
    alone = np.bincount(code, minlength=n_groups)[code] == 1
    value = standardised(score, code, n_groups, std=std, eps=eps, eps_inside=eps_inside)
    if singleton == "raw":
        one = (np.sqrt(1.0 + eps) if eps_inside else 1.0 + eps) if std != "none" else 1.0
        value = np.where(alone, score / one, value)
    return value, alone


def turn_advantage(
    trajectories: Trajectories, *, std: str, eps: float, singleton: str, vote: str
) -> tuple[FloatArray, BoolArray]:
    """Return (T,) episode term of a turn-level rule, and which turns have no group; 0 on forks.

    Groups are the collected trajectories of a group, each with one vote or with one for each turn.
    """
    use = trajectories.collected
    score, alone = np.zeros(trajectories.n), np.zeros(trajectories.n, dtype=np.bool_)
    if vote == "trajectory":
        score[use], alone[use] = group_advantage(
            trajectories.outcome[use], trajectories.group[use], std=std, eps=eps, singleton=singleton
        )
        return score[trajectories.trajectory_of_turn], alone[trajectories.trajectory_of_turn]
    turns = use[trajectories.trajectory_of_turn]
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
        score: (N,) scores; those of forks are not read.
        alone: (N,) trajectories without siblings; undefined when `singleton` is "undefined".
        singleton: the rule's parameter.
    """
    reason = on_episodes(trajectories)
    if singleton == "undefined":
        reason = np.where((reason == Reason.DEFINED) & alone, int(Reason.NO_GROUP), reason)
    return credit_where(score, reason, "episode")


def with_reasons(
    trajectories: Trajectories, value: FloatArray, alone: BoolArray, *, singleton: str
) -> Credit:
    """Return (T,) values as credit of the collected trajectories, NO_GROUP where that was asked for."""
    reason = on_collected(trajectories)
    if singleton == "undefined":
        reason = np.where((reason == Reason.DEFINED) & alone, int(Reason.NO_GROUP), reason)
    return credit_where(value, reason)


def check_length(name: str, got: int, trajectories: Trajectories) -> None:
    """Raise RuleError unless `got` entries were measured for the turns of the batch."""
    if got != trajectories.n_turns:
        message = (
            f"{name}: expected one entry for each of {trajectories.n_turns} turns, got {got}; "
            "measure it on this batch"
        )
        raise RuleError(message)
