"""iStar: the episode's advantage plus that of a turn's implicit reward among the turns of its group."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, Reason, credit_where
from equipoise_conditions.groups import codes, standardised
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, OMEGA, SINGLETON, STD, turn_advantage
from equipoise_conditions.rules.implicit.signals import (
    BETA,
    SCALE,
    implicit_tokens,
    turn_reasons,
    turn_totals,
)
from equipoise_conditions.trajectories import Trajectories

__all__ = ["ISTAR", "istar"]

_SCALE_EPS = 1e-6


def istar(  # noqa: PLR0913 - the conventions of the paper and of its code, each of which a suite may set
    trajectories: Trajectories,
    context: Context,
    *,
    beta: float = 0.1,
    omega: float = 1.0,
    estimator: str = "standardised",
    baseline: str = "turns",
    scale: str = "none",
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
) -> Credit:
    """Return A_t = A^E + omega A^S: outcome among siblings, plus implicit reward among the group's turns.

    The implicit reward r_t is beta times the sum of the log-ratios of the turn's tokens in the loss.

    Source: Liu et al. 2025 (arXiv 2509.19199). `estimator: leave_one_out` multiplies both differences by
    n / (n - 1), as the authors' RLOO variant does; `baseline: first_turn` and `scale: largest` are what
    their released code computes.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: `log_ratio` is read: the implicit reward model over the acting policy.
        beta: multiplies the log-ratio.
        omega: weight of the turn term.
        estimator: "standardised" (by `std`) or "leave_one_out".
        baseline: "turns" (all turns of the group vote) or "first_turn" (the first of each trajectory does).
        scale: "largest" divides each r_t by the batch's largest absolute one plus 1e-6; "none" does not.
        std: divisor of both terms; not used in "leave_one_out".
        eps: added to it.
        singleton: "zero", "raw" or "undefined" for a group of one trajectory.
    """
    token, missing = implicit_tokens(trajectories, context, beta)
    reward, count = turn_totals(trajectories, token)
    lacking, _ = turn_totals(trajectories, missing.astype(np.float64))
    reason = turn_reasons(trajectories, np.where(lacking > 0, np.nan, reward), count)
    use: BoolArray = reason == Reason.DEFINED
    if scale == "largest":
        reward = reward / (np.abs(reward[use]).max(initial=0.0) + _SCALE_EPS)
    if estimator == "leave_one_out":
        std = "none"
    episode, alone = turn_advantage(trajectories, std=std, eps=eps, singleton=singleton, vote="trajectory")
    step = np.zeros(trajectories.n_turns)
    voters = _voters(trajectories, use, baseline)
    code, n_groups = codes(trajectories.group_of_turn[use])
    step[use] = standardised(reward[use], code, n_groups, std=std, eps=eps, vote=voters[use])
    if baseline == "first_turn":
        one = 1.0 if std == "none" else 1.0 + eps
        step = np.where(alone, reward / one if singleton == "raw" else 0.0, step)
    if estimator == "leave_one_out":
        episode = episode * _leave_one_out(
            trajectories, _voters(trajectories, _collected(trajectories), "first_turn")
        )
        step = step * _leave_one_out(trajectories, voters)
    if singleton == "undefined":
        reason = np.where(use & alone, int(Reason.NO_GROUP), reason)
    return credit_where(episode + omega * step, reason)


def _collected(trajectories: Trajectories) -> BoolArray:
    return trajectories.collected[trajectories.trajectory_of_turn]


def _voters(trajectories: Trajectories, use: BoolArray, baseline: str) -> BoolArray:
    """Return (T,) the turns that enter the baseline: those in `use`, or the first of them in each trajectory."""
    if baseline == "turns":
        return use
    turns = np.flatnonzero(use)
    _, first = np.unique(trajectories.trajectory_of_turn[turns], return_index=True)
    voters = np.zeros(use.size, dtype=np.bool_)
    voters[turns[first]] = True
    return voters


def _leave_one_out(trajectories: Trajectories, voters: BoolArray) -> FloatArray:
    """Return (T,) n / (n - 1) for n voters in the turn's group, 1 where there are fewer than two."""
    code, n_groups = codes(trajectories.group_of_turn)
    n = np.bincount(code, voters, n_groups)[code]
    return np.where(n > 1, n / np.maximum(n - 1, 1), 1.0)


ISTAR = Rule(
    name="istar",
    assign=istar,
    needs=frozenset({Need.LOG_RATIO}),
    parameters=(
        BETA,
        OMEGA,
        Parameter(
            "estimator",
            "standardised",
            ("standardised", "leave_one_out"),
            "divide differences by std, or multiply them by n / (n - 1)",
        ),
        Parameter(
            "baseline",
            "turns",
            ("turns", "first_turn"),
            "all turns of the group vote in the turn term's mean, or the first of each trajectory",
        ),
        SCALE,
        STD,
        EPS,
        SINGLETON,
    ),
    presets={
        "istar-rloo": {
            "beta": 0.05,
            "estimator": "leave_one_out",
            "baseline": "first_turn",
            "scale": "largest",
            "singleton": "raw",
        },
        "istar-grpo": {
            "beta": 0.05,
            "std": "none",
            "baseline": "first_turn",
            "scale": "largest",
            "singleton": "raw",
        },
        "istar-grpo-std": {
            "beta": 0.05,
            "std": "sample",
            "baseline": "first_turn",
            "scale": "largest",
            "singleton": "raw",
        },
    },
    card=Card(
        name="istar",
        title="Implicit step rewards (iStar)",
        formula="A_t = A^E + ω (r_t − mean_g r)/(std_g r + ε), r_t = β Σ_j (log π_φ(y_j) − log π_old(y_j))",
        source="Liu et al. 2025, arXiv 2509.19199",
        granularity="turn",
        methodology="implicit",
        evidence="code",
        extra_forward="T passes of the reward model, and its training on pairs of trajectories",
        cost="a reward model of the policy's size, trained by trajectory DPO; one scoring pass for each turn",
        drops="turns with a token in the loss that was not scored; turns without a token in the loss",
        zeroes="the episode term of groups with equal outcomes, the turn term of groups with equal implicit rewards",
        reference_code="Tongyi-ConvAI/Qwen-Character 1de87a22 CharacterRL-iStar/istar/core_istar.py, istar/dp_rm.py",
        edge=(
            "a group of one trajectory has no episode term; its turns still vote among themselves, unless only first "
            "turns vote. raw gives a lone trajectory its outcome plus ω r_t where first turns vote"
        ),
        caveats=(
            "paper and code differ: the step baseline is meant to be over all steps of the group, but the code skips "
            "every row of a trajectory it has seen, so that one step a trajectory (whichever row comes first after "
            "the batch was balanced; here the first turn) sets mean and deviation. By default the code also divides "
            "all r_t by the largest absolute one of each scored batch, so that credit depends on what else is in it. "
            "Its REINFORCE++ variant (both terms whitened over tokens) is not offered"
        ),
    ),
)
