"""A judge's score of each turn as its credit, centred or beside the outcome."""

import numpy as np

from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, Reason, credit_where
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, JUDGED, OMEGA, SINGLETON, STD, turn_advantage
from equipoise_conditions.rules.implicit.signals import CENTRE, OUTCOME_WEIGHT, centred_signal
from equipoise_conditions.rules.judges.verdicts import (
    UNJUDGED,
    UNPARSABLE,
    on_scale,
    read_verdicts,
    settled,
    voted,
)
from equipoise_conditions.trajectories import Trajectories

__all__ = ["TURN_JUDGE", "turn_judge"]


def turn_judge(  # noqa: PLR0913 - how scores are read, put to the vote, centred and mixed is each a choice
    trajectories: Trajectories,
    context: Context,
    *,
    scale: str = "ternary",
    ballot: str = "mean",
    centre: str = "group",
    omega: float = 1.0,
    outcome_weight: float = 0.0,
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
    unjudged: str = "undefined",
    unparsable: str = "undefined",
) -> Credit:
    """Return A_t = omega (z_t - mean z) + outcome_weight A^E from scores z_t in [-1, 1].

    Source: TARL (Tan et al. 2025, arXiv 2509.14480), as the audit of Zhang 2026 (arXiv 2608.19760) uses it:
    +1, -1 or 0 for a turn, or five points.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: `judge` is read.
        scale: "ternary" (-1, 0, 1) or "five-point" (1 to 5, mapped to [-1, 1]).
        ballot: "mean", "majority" or "median" over the judge's repeats.
        centre: "group", "trajectory", "batch" or "none"; turns without a verdict have no vote.
        omega: weight of the score.
        outcome_weight: weight of the group-relative outcome A^E.
        std: divisor of A^E.
        eps: added to it.
        singleton: A^E of a group of one: "zero", "raw", or "undefined" where the outcome enters.
        unjudged: turns not asked about: "undefined", "zero" or "outcome" (A^E alone).
        unparsable: turns without a readable verdict, likewise.
    """
    score, reason = read_verdicts(trajectories, context)
    z = voted(on_scale(score, scale), ballot)
    episode, alone = turn_advantage(trajectories, std=std, eps=eps, singleton=singleton, vote="trajectory")
    turn = centred_signal(trajectories, z, reason == Reason.DEFINED, centre)
    value = omega * turn + outcome_weight * episode
    credit = settled(value, reason, episode, unjudged=unjudged, unparsable=unparsable)
    if singleton != "undefined":
        return credit
    fallen_back = credit.defined & (reason != Reason.DEFINED)
    by_outcome = fallen_back if outcome_weight == 0 else credit.defined
    reason = np.where(by_outcome & alone, int(Reason.NO_GROUP), credit.reason)
    return credit_where(credit.value, reason)


TURN_JUDGE = Rule(
    name="turn_judge",
    assign=turn_judge,
    needs=frozenset({Need.JUDGE}),
    supply=JUDGED,
    parameters=(
        Parameter("scale", "ternary", ("ternary", "five-point"), "scores are -1, 0, 1, or 1 to 5"),
        Parameter("ballot", "mean", ("mean", "majority", "median"), "one score from the judge's repeats"),
        CENTRE,
        OMEGA,
        OUTCOME_WEIGHT,
        STD,
        EPS,
        SINGLETON,
        UNJUDGED,
        UNPARSABLE,
    ),
    card=Card(
        name="turn_judge",
        title="A judge's score of each turn (as in TARL)",
        formula="A_t = ω (z_t − mean z) + w A^E, z_t ∈ {−1, 0, 1} or (score − 3)/2 of 1 to 5",
        source="TARL, Tan et al. 2025, arXiv 2509.14480; scales after Zhang 2026, arXiv 2608.19760",
        granularity="turn",
        methodology="llm-as-critic",
        evidence="notes",
        judge_calls="V·T (V repeats of each turn), or V·N where one call scores all turns of a trajectory",
        cost="a judge's reading of every turn with its history; count its tokens, not its calls",
        drops="turns not asked about (NOT_SELECTED) or without a readable verdict (UNPARSABLE), by default",
        zeroes="turns at the mean they are compared with; with centre none, turns labelled 0",
        reference_code="none released; worked numbers from the formula",
        edge=(
            "one judged turn to compare with itself gets 0; equal scores give 0 everywhere; a majority that ties is "
            "the mean of the tied scores"
        ),
        caveats=(
            "whether the judge sees the outcome or later turns must be told: if it does, its score leaks hindsight. "
            "One answer says nothing of its reliability: ask twice at least. Scores that are nearly all +1 leave "
            "little contrast. In the audit a judge's rank agreement with executed replay was 0.11 and lay within its "
            "shuffled controls. How TARL itself mixes score and outcome was not recovered: weights are settings here"
        ),
    ),
)
