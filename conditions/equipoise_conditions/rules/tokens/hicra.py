"""HICRA: GRPO's advantage, larger on the tokens that plan."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit
from equipoise_conditions.errors import RuleError
from equipoise_conditions.groups import codes
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, SINGLETON, STD
from equipoise_conditions.rules.tokens.base import (
    nth_smallest,
    outcome_advantage,
    planning_of,
    token_credit,
)
from equipoise_conditions.trajectories import Trajectories

__all__ = ["HICRA", "HICRA_ENTROPY", "amplified", "entropy_marks", "hicra", "hicra_entropy"]

_ALPHA = Parameter("alpha", 0.2, "float", "share of |A| added on amplified tokens", minimum=0.0)


def amplified(advantage: FloatArray, marked: BoolArray, alpha: float) -> FloatArray:
    """Return A + alpha |A| on marked tokens and A elsewhere: praise grows, blame shrinks.

    Args:
        advantage: (K,) advantages.
        marked: (K,) tokens to amplify.
        alpha: share of the magnitude; above 1 it turns blame into praise.

    Raises:
        RuleError: when the lengths differ.
    """
    if advantage.shape != marked.shape:
        message = (
            f"amplified: expected one mark for each of {advantage.size} tokens, got {marked.size}; "
            "mark the tokens of this batch"
        )
        raise RuleError(message)
    return np.where(marked, advantage + alpha * np.abs(advantage), advantage)


def hicra(
    trajectories: Trajectories,
    context: Context,
    *,
    alpha: float = 0.2,
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
) -> Credit:
    """Return A_i + alpha |A_i| on planning tokens and A_i on all others, A_i being GRPO's advantage.

    Source: HICRA (arXiv 2509.03646), as third-party code writes it.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: the planning tokens.
        alpha: share of the magnitude that is added.
        std: see `group_advantage`.
        eps: see `group_advantage`.
        singleton: "zero", "raw" or "undefined" for a group of one.

    Raises:
        MissingNeed: when planning tokens were not marked.
        RuleError: when they are of another batch.
    """
    score, alone = outcome_advantage(trajectories, std=std, eps=eps, singleton=singleton)
    owner = trajectories.trajectory_of_token
    value = amplified(score[owner], planning_of(context, trajectories), alpha)
    return token_credit(trajectories, value, alone=alone[owner], singleton=singleton)


def hicra_entropy(
    trajectories: Trajectories,
    context: Context,
    *,
    alpha: float = 0.2,
    entropy_share: float = 0.3,
    single_bound: bool = False,
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
) -> Credit:
    """Return HICRA's credit with the marks of `entropy_marks` instead of the planning tokens alone.

    Source: the pull request to TRL of w601sxs, which says that it follows its authors' own code.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: the planning tokens.
        alpha: share of the magnitude that is added.
        entropy_share: share of a trajectory's tokens that count as uncertain.
        single_bound: see `entropy_marks`.
        std: see `group_advantage`.
        eps: see `group_advantage`.
        singleton: "zero", "raw" or "undefined" for a group of one.

    Raises:
        MissingNeed: when planning tokens were not marked.
        RuleError: when they are of another batch.
    """
    score, alone = outcome_advantage(trajectories, std=std, eps=eps, singleton=singleton)
    owner = trajectories.trajectory_of_token
    advantage = score[owner]
    planning = planning_of(context, trajectories)
    marked = entropy_marks(trajectories, advantage, planning, entropy_share, single_bound=single_bound)
    value = amplified(advantage, marked, alpha)
    return token_credit(trajectories, value, alone=alone[owner], singleton=singleton)


def entropy_marks(
    trajectories: Trajectories,
    advantage: FloatArray,
    planning: BoolArray,
    entropy_share: float,
    *,
    single_bound: bool = False,
) -> BoolArray:
    """Return (K,) tokens to amplify: planning, or uncertain in a correct and long answer.

    Correct means a positive mean advantage over the tokens in the loss; long, more of them than the
    group's answers have on average; uncertain, an entropy strictly above the one that stands at place
    floor((1 − share) n) of the answer's n in ascending order. In a group without a correct answer no
    token is marked, planning or not. Only collected trajectories count.

    Args:
        trajectories: the batch.
        advantage: (K,) advantages.
        planning: (K,) planning tokens.
        entropy_share: share of an answer's tokens that count as uncertain.
        single_bound: round the bound, but not the entropies, to single precision, as the pull request does:
            the token that gave the bound is then above it whenever that rounds down.
    """
    owner, n, use = trajectories.trajectory_of_token, trajectories.n, trajectories.collected
    inside = trajectories.mask
    length = np.bincount(owner[inside], minlength=n)
    total = np.bincount(owner[inside], advantage[inside], n)
    correct = use & (total > 0)
    group, n_groups = codes(trajectories.group)
    members = np.bincount(group[use], minlength=n_groups)
    mean_length = np.bincount(group[use], length[use], n_groups) / np.maximum(members, 1)
    some_correct = np.bincount(group[correct], minlength=n_groups) > 0
    amplify = correct & (length > mean_length[group])
    place = np.floor((1.0 - entropy_share) * length).astype(np.int64)
    bound = nth_smallest(trajectories.entropy[inside], owner[inside], n, place)
    if single_bound:
        bound = bound.astype(np.float32).astype(np.float64)
    uncertain = (trajectories.entropy > bound[owner]) & amplify[owner]
    return (uncertain | planning) & (some_correct[group] & use)[owner]


_GRPO_ZEROES = "every token of a group whose outcomes are all equal"
_AUTHORS = "the authors' repository (TIGER-AI-Lab/Hierarchical-Reasoner 964c429d) holds no training code; "

HICRA = Rule(
    name="hicra",
    assign=hicra,
    needs=frozenset({Need.PLANNING}),
    parameters=(_ALPHA, STD, EPS, SINGLETON),
    presets={"retrain": {"alpha": 0.2}},
    card=Card(
        name="hicra",
        title="Hierarchy-aware credit (HICRA), as the paper writes it",
        formula="A_t = A_i + α |A_i| · 1[t plans], A_i = GRPO's",
        source="HICRA 2025, arXiv 2509.03646",
        granularity="token",
        cost="mining of planning phrases, once",
        drops="nothing; a group of one only when singleton is undefined",
        zeroes=_GRPO_ZEROES,
        reference_code="teilomillet/retrain 19db12f9 retrain/advantages/credit.py:41-52 (third party)",
        methodology="information-theoretic",
        evidence="notes",
        edge="planning tokens outside the loss get nothing; without planning tokens it is GRPO; α above 1 "
        "praises blamed tokens",
        caveats=_AUTHORS
        + "it changes the mass of the credit, so an unmatched comparison with GRPO also compares step "
        "sizes; blame on planning tokens shrinks; see hicra_entropy for a different rule under the same name",
    ),
)

HICRA_ENTROPY = Rule(
    name="hicra_entropy",
    assign=hicra_entropy,
    needs=frozenset({Need.PLANNING}),
    parameters=(
        _ALPHA,
        Parameter("entropy_share", 0.3, "float", "share of uncertain tokens", minimum=0.0, maximum=1.0),
        Parameter("single_bound", False, "bool", "round the entropy's bound to single precision"),  # noqa: FBT003
        STD,
        EPS,
        SINGLETON,
    ),
    presets={"trl": {"alpha": 0.2, "entropy_share": 0.3, "single_bound": True, "eps": 1e-4}},
    card=Card(
        name="hicra_entropy",
        title="HICRA with entropy, as offered to TRL",
        formula="A_t = A_i + α |A_i| · 1[t plans, or is uncertain in a correct, longer-than-average answer]",
        source="HICRA 2025, arXiv 2509.03646; the marks are the pull request's",
        granularity="token",
        cost="mining of planning phrases, once",
        drops="nothing; a group of one only when singleton is undefined",
        zeroes=_GRPO_ZEROES,
        reference_code="w601sxs/trl 83988b7c trl/trainer/hicra_trainer.py:366-486 (not in a TRL release)",
        methodology="information-theoretic",
        evidence="notes",
        edge="in a group without a positive advantage nothing is amplified, planning tokens included; equal "
        "lengths: nobody is longer; an answer without tokens in the loss is never amplified",
        caveats=_AUTHORS
        + "the pull request claims to follow them and differs from the paper; it favours long correct "
        "answers, so it also rewards length; it rounds its entropy bound to single precision (preset trl), "
        "which with entropies in double precision lets the bound's own token pass or not by rounding",
    ),
)
