"""A credit rule that a third party might publish: the outcome, decayed backwards from the end."""

import numpy as np

from equipoise_conditions import Card, Context, Credit, Parameter, Rule, Trajectories
from equipoise_conditions.credit import credit_where, on_collected

__all__ = ["LATE_TURNS"]


def late_turns(trajectories: Trajectories, context: Context, *, decay: float = 0.5) -> Credit:
    """Return A_t = decay^(T - t) (R - 1/2), the last turn undecayed."""
    of = trajectories.trajectory_of_turn
    left = trajectories.lengths[of] - 1 - trajectories.turn_index
    return credit_where(np.power(decay, left) * (trajectories.outcome[of] - 0.5), on_collected(trajectories))


LATE_TURNS = Rule(
    name="late-turns",
    assign=late_turns,
    needs=frozenset(),
    parameters=(
        Parameter("decay", 0.5, "float", "factor per turn before the end", minimum=0.0, maximum=1.0),
    ),
    card=Card(
        name="late-turns",
        title="Late turns",
        formula="A_t = decay^(T−t) (R − 1/2)",
        source="a package from outside",
        granularity="turn",
        cost="none",
        drops="nothing",
        zeroes="nothing",
        reference_code="this package",
        methodology="reweighting",
        evidence="code",
    ),
)
