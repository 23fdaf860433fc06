"""A credit rule that gives one number whatever the batch."""

import numpy as np

from equipoise_conditions import Card, Context, Credit, Rule, Trajectories

__all__ = ["TOO_SHORT"]


def too_short(trajectories: Trajectories, context: Context) -> Credit:
    return Credit(np.zeros(1), np.zeros(1, dtype=np.int64))


TOO_SHORT = Rule(
    name="too-short",
    assign=too_short,
    needs=frozenset(),
    card=Card(
        name="too-short",
        title="Too short",
        formula="A = 0",
        source="a package from outside",
        granularity="turn",
        cost="none",
        drops="nothing",
        zeroes="everything",
        reference_code="this package",
    ),
)
