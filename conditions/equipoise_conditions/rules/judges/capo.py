"""CAPO: the outcome less a penalty on every step that a vote of critiques calls wrong, compared in the group."""

import numpy as np

from equipoise_conditions.arrays import BoolArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, Reason
from equipoise_conditions.groups import codes, standardised
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, JUDGED, STD
from equipoise_conditions.rules.judges.verdicts import FALLBACKS, UNJUDGED, read_verdicts, settled, share_of
from equipoise_conditions.trajectories import Trajectories

__all__ = ["CAPO", "capo"]


def capo(  # noqa: PLR0913 - the paper leaves its weights open, so a suite may set each
    trajectories: Trajectories,
    context: Context,
    *,
    ballot: str = "majority",
    wrong_below: float = 0.0,
    outcome_weight: float = 1.0,
    penalty: float = -0.5,
    std: str = "sample",
    eps: float = 1e-6,
    unjudged: str = "undefined",
    unparsable: str = "outcome",
) -> Credit:
    """Return (r_t - mean r) / (std r + eps) over the turns of a group, r_t = w R + penalty 1[step t is wrong].

    Source: Xie et al. 2025 (arXiv 2508.02298): critiques of all steps, a vote over them, penalties on wrong
    steps beside the rule-based outcome. Weights and the exact form are our reconstruction.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: `judge` is read, one critique a repeat.
        ballot: a step is wrong for the "majority" (more than half) or for all ("intersection") of its readable
            critiques.
        wrong_below: a critique calls a step wrong by a score below this.
        outcome_weight: w, weight of the outcome.
        penalty: added to the reward of a wrong step; at most 0.
        std: divisor over the turns of the group.
        eps: added to it.
        unjudged: turns not asked about: "undefined", "zero" or "outcome" (compared by w R alone).
        unparsable: turns without a readable critique, likewise.
    """
    score, reason = read_verdicts(trajectories, context)
    share = share_of(score < wrong_below, score)
    wrong: BoolArray = share > 0.5 if ballot == "majority" else share == 1.0
    outcome = trajectories.outcome[trajectories.trajectory_of_turn]
    reward = outcome_weight * outcome + penalty * wrong
    votes: BoolArray = reason == Reason.DEFINED
    for word, without in ((unjudged, Reason.NOT_SELECTED), (unparsable, Reason.UNPARSABLE)):
        if word == "outcome":
            votes = votes | (reason == without)
    value = np.zeros(trajectories.n_turns)
    code, n_groups = codes(trajectories.group_of_turn[votes])
    value[votes] = standardised(reward[votes], code, n_groups, std=std, eps=eps)
    return settled(value, reason, value, unjudged=unjudged, unparsable=unparsable)


CAPO = Rule(
    name="capo",
    assign=capo,
    needs=frozenset({Need.JUDGE}),
    supply=JUDGED,
    parameters=(
        Parameter(
            "ballot", "majority", ("majority", "intersection"), "wrong for most, or for all, of the critiques"
        ),
        Parameter("wrong_below", 0.0, "float", "a critique calls a step wrong by a score below this"),
        Parameter(
            "outcome_weight", 1.0, "float", "weight of the trajectory's outcome in the reward", minimum=0.0
        ),
        Parameter("penalty", -0.5, "float", "added to the reward of a step judged wrong", maximum=0.0),
        STD,
        EPS,
        UNJUDGED,
        Parameter(
            "unparsable",
            "outcome",
            FALLBACKS,
            "turns without a readable critique: no credit (UNPARSABLE), 0, or the outcome alone",
        ),
    ),
    card=Card(
        name="capo",
        title="Penalties on steps that critiques call wrong (CAPO)",
        formula="A_t = (r_t − mean_g r)/(std_g r + ε), r_t = w R + penalty · 1[step t judged wrong by vote]",
        source="Xie et al. 2025, arXiv 2508.02298",
        granularity="turn",
        methodology="llm-as-critic",
        evidence="reconstructed",
        judge_calls="V·N: one call criticises all steps of a trajectory",
        cost="V readings of every trajectory by a judge; count its tokens, not its calls",
        drops="turns not asked about (NOT_SELECTED); unreadable ones only when unparsable is undefined",
        zeroes="groups in which outcome and verdicts are the same for all turns",
        reference_code="none released; andyclsr/CAPO 0606d734 announces code and describes critiques, vote and rewards",
        edge=(
            "a group of one trajectory still compares its right steps with its wrong ones; a single turn gets 0; "
            "half of the critiques is no majority"
        ),
        caveats=(
            "weights, the vote's details and the pool of the group's mean and deviation are ours: the source tells "
            "the ingredients (outcome, penalties, vote, group normalisation) but no numbers. Turns vote, so a longer "
            "trajectory votes more often. A wrong step of a success can end above a right step of a failure: the "
            "penalty's size decides"
        ),
    ),
)
