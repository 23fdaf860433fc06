"""Controls: random credit, which must not win, and exact credit, which must."""

import numpy as np

from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, Reason, credit_where, on_collected
from equipoise_conditions.rule import Card, Rule
from equipoise_conditions.rules.common import check_length
from equipoise_conditions.trajectories import Trajectories

__all__ = ["EXACT", "RANDOM", "RULES", "exact", "random"]


def random(trajectories: Trajectories, context: Context) -> Credit:
    """Return independent standard normal credit for every turn of the collected trajectories.

    Args:
        trajectories: the batch.
        context: `generator` is read; one number is drawn for each turn, forks included.
    """
    return credit_where(
        context.the_generator().standard_normal(trajectories.n_turns), on_collected(trajectories)
    )


def exact(trajectories: Trajectories, context: Context) -> Credit:
    """Return the environment's exact advantage of every turn of the collected trajectories.

    Args:
        trajectories: the batch.
        context: `truth` is read; turns where it is NaN are NOT_MEASURED.
    """
    truth = context.the_truth()
    check_length("truth", truth.size, trajectories)
    reason = on_collected(trajectories)
    unknown = (reason == Reason.DEFINED) & ~np.isfinite(truth)
    return credit_where(truth, np.where(unknown, int(Reason.NOT_MEASURED), reason))


RANDOM = Rule(
    name="random",
    assign=random,
    needs=frozenset({Need.GENERATOR}),
    card=Card(
        name="random",
        title="Random credit (negative control)",
        formula="A_t ~ N(0, 1), independent",
        source="control of this platform",
        granularity="turn",
        cost="none beyond the collected trajectories",
        drops="nothing",
        zeroes="nothing",
        reference_code="not applicable",
        methodology="control",
        evidence="background",
        edge="groups play no part; a trajectory of one turn gets one draw",
        caveats="its unit variance is a dose of its own: compare it with its twin, not with the baseline alone",
    ),
)

EXACT = Rule(
    name="exact",
    assign=exact,
    needs=frozenset({Need.TRUTH}),
    card=Card(
        name="exact",
        title="Exact advantage (positive control)",
        formula="A_t = Q(s_t, a_t) − V(s_t), solved by the environment",
        source="control of this platform; controlled bifurcation tasks, arXiv 2604.09459",
        granularity="turn",
        cost="none; only environments that can be solved offer it",
        drops="turns whose advantage the environment does not know",
        zeroes="turns without consequence",
        reference_code="not applicable",
        methodology="control",
        evidence="background",
        edge="groups play no part; where every action leads to the same value all credit is 0",
        caveats="exact for the policy that collected, not for the one that training has made of it",
    ),
)

RULES: tuple[Rule, ...] = (RANDOM, EXACT)
