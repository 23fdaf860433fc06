"""CriticSearch: a frozen critic that knows the end calls each turn good or bad, beside the outcome."""

import numpy as np

from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, Reason, credit_where
from equipoise_conditions.groups import codes, standardised
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, JUDGED, OMEGA, SINGLETON, STD, turn_advantage
from equipoise_conditions.rules.judges.verdicts import (
    UNJUDGED,
    UNPARSABLE,
    read_verdicts,
    settled,
    share_of,
)
from equipoise_conditions.trajectories import Trajectories

__all__ = ["CRITIC_SEARCH", "critic_search"]


def critic_search(  # noqa: PLR0913 - two terms and what stands in for a missing verdict
    trajectories: Trajectories,
    context: Context,
    *,
    good_above: float = 0.0,
    omega: float = 1.0,
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
    unjudged: str = "undefined",
    unparsable: str = "undefined",
) -> Credit:
    """Return A_t = A^E + omega (b_t - mean b) / (std b + eps), b_t = 1 for a good turn and 0 for a bad one.

    Source: Zhang et al. 2025 (arXiv 2511.12159): a retrospective critic with the whole trajectory and the
    gold answer before it labels each search turn; the label is mixed with the outcome. How they are mixed is
    our reconstruction.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: `judge` is read.
        good_above: a verdict calls a turn good by a score above this; more than half must.
        omega: weight of the turn term.
        std: divisor of both terms, the turn term's over the judged turns of the group.
        eps: added to both.
        singleton: "zero", "raw" or "undefined" for a group of one trajectory.
        unjudged: turns not asked about, such as the final answer: "undefined", "zero" or "outcome" (A^E).
        unparsable: turns without a readable verdict, likewise.
    """
    score, reason = read_verdicts(trajectories, context)
    use = reason == Reason.DEFINED
    good = (share_of(score > good_above, score) > 0.5).astype(np.float64)
    episode, alone = turn_advantage(trajectories, std=std, eps=eps, singleton=singleton, vote="trajectory")
    turn = np.zeros(trajectories.n_turns)
    code, n_groups = codes(trajectories.group_of_turn[use])
    turn[use] = standardised(good[use], code, n_groups, std=std, eps=eps)
    credit = settled(episode + omega * turn, reason, episode, unjudged=unjudged, unparsable=unparsable)
    if singleton != "undefined":
        return credit
    reason = np.where(credit.defined & alone, int(Reason.NO_GROUP), credit.reason)
    return credit_where(credit.value, reason)


CRITIC_SEARCH = Rule(
    name="critic_search",
    assign=critic_search,
    needs=frozenset({Need.JUDGE}),
    supply=JUDGED,
    parameters=(
        Parameter("good_above", 0.0, "float", "a verdict calls a turn good by a score above this"),
        OMEGA,
        STD,
        EPS,
        SINGLETON,
        UNJUDGED,
        UNPARSABLE,
    ),
    card=Card(
        name="critic_search",
        title="Good or bad turns by a retrospective critic (CriticSearch)",
        formula="A_t = A^E + ω (b_t − mean_g b)/(std_g b + ε), b_t = 1[turn t judged good]",
        source="Zhang et al. 2025, arXiv 2511.12159",
        granularity="turn",
        methodology="llm-as-critic",
        evidence="reconstructed",
        judge_calls="V·N: the critic reads a whole trajectory and labels all of its turns",
        cost="a frozen critic's reading of every trajectory with the gold answer beside it",
        drops="turns not asked about (NOT_SELECTED) or without a readable verdict (UNPARSABLE), by default",
        zeroes="the turn term of groups whose judged turns are all good or all bad; A^E of groups with equal outcomes",
        reference_code="none released; worked numbers from the formula",
        edge="a group of one trajectory has no outcome term, its turns still compare; half of the verdicts is not good",
        caveats=(
            "known are the binary label and that it is mixed with the outcome; weight and normalisation are ours. "
            "The critic knows the answer and the end: its labels are hindsight, and turns of failures are easily all "
            "bad. The paper labels search turns only; set unjudged: outcome to keep training on the final answer"
        ),
    ),
)
