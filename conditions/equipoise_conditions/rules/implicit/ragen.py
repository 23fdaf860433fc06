"""RAGEN: GRPO on the prompt groups whose outcomes differ most; the other groups leave training."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit, Reason, credit_where
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, SINGLETON, STD, episode_credit, group_advantage
from equipoise_conditions.trajectories import Trajectories

__all__ = ["RAGEN", "group_spread", "kept_groups", "ragen"]


def ragen(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    keep: float = 0.25,
    strategy: str = "top_k",
    slack: float = 0.0,
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
) -> Credit:
    """Return GRPO's advantage in the groups with the largest standard deviation of outcomes; DROPPED elsewhere.

    Source: Wang et al. 2025 (arXiv 2504.20073), whose StarPO-S filters prompts by it.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        keep: share of the groups ("top_k"), or share of the summed deviation that they must hold ("top_p").
        strategy: "top_k" keeps floor(keep x groups), at least one; "top_p" the fewest groups that hold the share.
        slack: taken off the sum that "top_p" must reach.
        std: divisor of the advantage; groups are ranked by the sample deviation whatever it is.
        eps: added to that divisor.
        singleton: "zero", "raw" or "undefined" for a group of one; its deviation counts as 0.
    """
    use = trajectories.collected
    score, alone = np.zeros(trajectories.n), np.zeros(trajectories.n, dtype=np.bool_)
    score[use], alone[use] = group_advantage(
        trajectories.outcome[use], trajectories.group[use], std=std, eps=eps, singleton=singleton
    )
    group, spread = group_spread(trajectories)
    kept = kept_groups(spread, keep=keep, strategy=strategy, slack=slack)
    credit = episode_credit(trajectories, score, alone, singleton=singleton)
    out = np.zeros(trajectories.n, dtype=np.bool_)
    out[use] = ~kept[group]
    return credit_where(score, np.where(out, int(Reason.DROPPED), credit.reason), "episode")


def group_spread(trajectories: Trajectories) -> tuple[IntArray, FloatArray]:
    """Return the group of each collected trajectory, and (G,) sample deviations of outcomes by ascending key."""
    outcome = trajectories.outcome[trajectories.collected]
    _, group = np.unique(trajectories.group[trajectories.collected], return_inverse=True)
    # Added up in one order, whatever the order of the batch, so that equal groups tie exactly.
    order = np.lexsort((outcome, group))
    group_of, value = group[order], outcome[order]
    count = np.bincount(group_of)
    deviation = value - (np.bincount(group_of, value) / count)[group_of]
    variance = np.bincount(group_of, deviation * deviation) / np.maximum(count - 1, 1)
    equal = np.maximum.reduceat(value, np.cumsum(count) - count) == value[np.cumsum(count) - count]
    return group.astype(np.int64), np.where(equal, 0.0, np.sqrt(variance))


def kept_groups(spread: FloatArray, *, keep: float, strategy: str, slack: float) -> BoolArray:
    """Return (G,) which groups stay; ties go to the smaller group key.

    Args:
        spread: (G,) standard deviations of outcomes.
        keep: see `ragen`.
        strategy: see `ragen`.
        slack: see `ragen`.
    """
    if keep >= 1.0:
        return np.ones(spread.size, dtype=np.bool_)
    order = np.argsort(-spread, kind="stable")
    if strategy == "top_k":
        chosen = order[: max(1, int(keep * spread.size))]
    else:
        before = np.cumsum(spread[order]) - spread[order]
        chosen = order[(before < keep * spread.sum() - slack) & (spread[order] > 0)]
    kept = np.zeros(spread.size, dtype=np.bool_)
    kept[chosen] = True
    return kept


RAGEN = Rule(
    name="ragen",
    assign=ragen,
    needs=frozenset(),
    parameters=(
        Parameter(
            "keep", 0.25, "float", "share of the groups, or of the summed deviation, to keep", 0.0, 1.0
        ),
        Parameter(
            "strategy", "top_k", ("top_k", "top_p"), "keep a share of the groups, or of the summed deviation"
        ),
        Parameter("slack", 0.0, "float", "taken off the sum that top_p must reach", minimum=0.0),
        STD,
        EPS,
        SINGLETON,
    ),
    presets={
        "ragen": {"keep": 0.25, "strategy": "top_k"},
        "ragen-top-p": {"strategy": "top_p", "slack": 0.01},
    },
    card=Card(
        name="ragen",
        title="Prompts filtered by the spread of their outcomes (RAGEN, StarPO-S)",
        formula="A_i = (R_i − mean R)/(std R + ε) in the groups with the largest std R; no example elsewhere",
        source="Wang et al. 2025, arXiv 2504.20073",
        granularity="episode",
        methodology="outcome",
        evidence="code",
        extra_rollouts="(1/keep − 1) N for the same number of trained trajectories",
        cost="the rollouts of the groups that are dropped: at keep 0.25 three quarters of the generation",
        drops="every trajectory of the groups that are not kept: with top_k a share of 1 − keep of the groups",
        zeroes="with top_k, kept groups of equal outcomes when fewer groups differ than are kept; with top_p none",
        reference_code=(
            "RAGEN-AI/RAGEN 5eb79b82 ragen/trainer/agent_trainer.py:461-490 (top_k); "
            "4ec25747 ragen/trainer/rollout_filter.py (top_p)"
        ),
        edge=(
            "ties go to the smaller group key (the reference leaves them to its sort); a group of one has spread 0; "
            "when all outcomes are equal top_k keeps the first groups with credit 0 and top_p keeps none"
        ),
        caveats=(
            "a change of dose before it is one of credit: compare it only at matched examples. The first code keeps "
            "int(keep × groups), which may be none, and a deviation that is not a number (a group of one) ranks "
            "first there; here at least one group stays and a group of one ranks last. RAGEN trains by PPO with a "
            "critic or by GRPO; this is the filter over GRPO"
        ),
    ),
)
