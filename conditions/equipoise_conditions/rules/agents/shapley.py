"""Shapley, Banzhaf and leave-one-out values of the agents of a trajectory."""

import numpy as np

from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit
from equipoise_conditions.rule import Card, Rule
from equipoise_conditions.rules.agents.coalitions import (
    ANTITHETIC,
    INDEX,
    PERMUTATIONS,
    player_values,
    sampling_faults,
    sampling_needs,
)
from equipoise_conditions.rules.agents.statistics import agent_credit
from equipoise_conditions.trajectories import Trajectories

__all__ = ["SHAPLEY", "shapley"]


def shapley(
    trajectories: Trajectories,
    context: Context,
    *,
    index: str = "shapley",
    permutations: int = 0,
    antithetic: bool = True,
) -> Credit:
    """Return (A,) phi_m = sum over S without m of |S|! (n-|S|-1)!/n! (v(S and m) - v(S)).

    Player p of a trajectory is the p-th of its agents in ascending order.

    Source: Shapley 1953; Banzhaf 1965; the difference reward of Wolpert and Tumer 2001.

    Args:
        trajectories: the batch; forks are not examples.
        context: `coalitions` of agents are read; `generator` when orders are drawn.
        index: "shapley", "banzhaf" or "leave_one_out".
        permutations: random orders for each trajectory; 0 for exact values.
        antithetic: whether each order is followed by its reverse.

    Raises:
        RuleError: when the coalitions are of other players, or orders are asked for another index.
    """
    units = np.bincount(trajectories.agent_units[0], minlength=trajectories.n).astype(np.int64)
    value = player_values(
        trajectories,
        context,
        units,
        "agents",
        index=index,
        permutations=permutations,
        antithetic=antithetic,
    )
    return agent_credit(trajectories, value, np.isfinite(value))


SHAPLEY = Rule(
    name="shapley",
    assign=shapley,
    needs=frozenset({Need.COALITIONS}),
    parameters=(INDEX, PERMUTATIONS, ANTITHETIC),
    needs_of=sampling_needs,
    faults_of=sampling_faults,
    presets={
        "shapiq": {"index": "shapley", "permutations": 0},
        "shapiq-banzhaf": {"index": "banzhaf", "permutations": 0},
    },
    card=Card(
        name="shapley",
        title="Shapley value of each agent",
        formula="φ_m = Σ_{S∌m} |S|!(n−|S|−1)!/n! (v(S∪m) − v(S)); Banzhaf: mean over S; "
        "leave-one-out: v(N) − v(N∖m)",
        source="Shapley 1953; Banzhaf 1965; Wolpert and Tumer 2001",
        granularity="agent",
        methodology="game-theoretic",
        evidence="background",
        cost="every coalition of a trajectory's agents played out; n + 1 of them for leave-one-out, at most "
        "m·(n − 1) + 2 for m sampled orders",
        extra_rollouts="N·(2^n − 1); N·n for leave-one-out; at most N·(m·(n − 1) + 1) for m orders",
        drops="agents of trajectories in which a coalition that they need was not evaluated; forks",
        zeroes="agents that never change a coalition's value; under leave-one-out also two that can stand in for "
        "each other",
        edge="one agent gets v(all) − v(none); v(none) may differ from 0; where every coalition is worth the same "
        "everyone gets 0",
        caveats="No baseline: values of a success add up to what it gained, so that most are positive. Only Shapley "
        "values add up; Banzhaf and leave-one-out do not. How an absent agent is replaced is part of the estimand.",
        reference_code="PyPI shapiq 1.4.1 (ExactComputer) and shap 0.51.0 (explainers.Exact): same values; they "
        "have no commit",
    ),
)
