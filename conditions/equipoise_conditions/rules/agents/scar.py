"""SCAR: Shapley values of the segments of a trajectory, here its turns."""

import numpy as np

from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, Reason, credit_where, on_collected
from equipoise_conditions.groups import discounted
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.agents.coalitions import (
    ANTITHETIC,
    INDEX,
    PERMUTATIONS,
    player_values,
    sampling_faults,
    sampling_needs,
)
from equipoise_conditions.trajectories import Trajectories

__all__ = ["SCAR", "scar"]


def scar(
    trajectories: Trajectories,
    context: Context,
    *,
    index: str = "shapley",
    permutations: int = 0,
    antithetic: bool = True,
    to_go: bool = False,
) -> Credit:
    """Return (T,) the Shapley value of each turn in the game v(S) = score of the trajectory reduced to S.

    Source: SCAR (arXiv 2505.20417), which hands the values out as dense rewards.

    Args:
        trajectories: the batch; forks are not examples.
        context: `coalitions` of turns are read, player p being turn p; `generator` when orders are drawn.
        index: "shapley", "banzhaf" or "leave_one_out".
        permutations: random orders for each trajectory; 0 for exact values.
        antithetic: whether each order is followed by its reverse.
        to_go: credit a turn with the undiscounted sum of its value and all later ones, as a dense reward would.

    Raises:
        RuleError: when the coalitions are of other players, or orders are asked for another index.
    """
    value = player_values(
        trajectories,
        context,
        trajectories.lengths,
        "turns",
        index=index,
        permutations=permutations,
        antithetic=antithetic,
    )
    if to_go:
        value = discounted(value, trajectories.turn_offsets, 1.0)
    reason = on_collected(trajectories)
    missing = (reason == Reason.DEFINED) & ~np.isfinite(value)
    return credit_where(value, np.where(missing, int(Reason.NOT_MEASURED), reason))


SCAR = Rule(
    name="scar",
    assign=scar,
    needs=frozenset({Need.COALITIONS}),
    parameters=(
        INDEX,
        PERMUTATIONS,
        ANTITHETIC,
        Parameter("to_go", default=False, kind="bool", doc="sum of a turn's value and all later ones"),
    ),
    needs_of=sampling_needs,
    faults_of=sampling_faults,
    card=Card(
        name="scar",
        title="Shapley value of each segment (SCAR)",
        formula="φ_t = Σ_{S∌t} |S|!(n−|S|−1)!/n! (v(S∪t) − v(S)), v(S) = score of the turns in S alone",
        source="SCAR 2025, arXiv 2505.20417",
        granularity="turn",
        methodology="game-theoretic",
        evidence="notes",
        cost="2^n scores of partial trajectories of n turns, or at most m·(n − 1) + 2 for m sampled orders",
        extra_forward="N·2^n; at most N·(m·(n − 1) + 2) for m orders",
        drops="turns of trajectories in which a coalition that they need was not evaluated; forks",
        zeroes="turns that never change a coalition's score",
        edge="a trajectory of one turn gives it v(all) − v(none); v(none) may differ from 0",
        caveats="A score of an incomplete text is off the distribution of what the scorer was made for, and how "
        "turns are removed (deleted, masked, resampled) is part of the estimand. The paper's segments are spans of "
        "one answer and its tasks RLHF ones; turns as segments are our reading. The paper uses the values as "
        "dense rewards: that is to_go. Exact values double in cost with every turn.",
        reference_code="none released; Shapley core compared with PyPI shapiq 1.4.1 and shap 0.51.0",
    ),
)
