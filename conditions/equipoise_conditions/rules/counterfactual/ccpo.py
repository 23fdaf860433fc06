"""CCPO: what the team's outcome loses when one agent is taken out."""

import numpy as np

from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit
from equipoise_conditions.groups import codes_within
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.agents.statistics import agent_credit, broadcast, by_agent, tidy
from equipoise_conditions.rules.common import EPS, SINGLETON, STD
from equipoise_conditions.trajectories import Trajectories

__all__ = ["CCPO", "ccpo"]


def ccpo(
    trajectories: Trajectories,
    context: Context,
    *,
    baseline: str = "trajectory",
    outcome_weight: float = 0.0,
    normalise: str = "none",
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
) -> Credit:
    """Return (A,) A_m = w R + R - R without agent m, standardised by agent if asked.

    Source: CCPO (arXiv 2603.21563).

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: `masked_agents` is read, (A,); NaN is NOT_MEASURED.
        baseline: the outcome without the agent of the "trajectory" itself, or its mean over the "group".
        outcome_weight: w, weight of the joint outcome beside the difference.
        normalise: "none", or subtract the agent's own mean and divide by its deviation over the "group" or
            the "batch".
        std: "sample", "population" or "none"; only read when normalising.
        eps: added to the standard deviation.
        singleton: "zero", "raw" or "undefined" for one trajectory; only read when normalising.

    Raises:
        RuleError: when the column was measured on another batch.
    """
    owner, agent, _ = trajectories.agent_units
    without = context.column(Need.MASKED_AGENTS, int(owner.size))
    use = trajectories.collected[owner] & np.isfinite(without)
    if baseline == "group" and use.any():
        code, n = codes_within(agent[use], trajectories.group[owner[use]])
        mean = np.bincount(code, without[use], n) / np.bincount(code, minlength=n)
        without = np.full(owner.size, np.nan)
        without[use] = mean[code]
    team = broadcast(trajectories)
    value = outcome_weight * team + tidy(team - without, team, without)
    if normalise == "none":
        return agent_credit(trajectories, value, use)
    scaled, alone = by_agent(trajectories, value, std=std, eps=eps, singleton=singleton, pool=normalise)
    return agent_credit(trajectories, scaled, use, alone if singleton == "undefined" else None)


CCPO = Rule(
    name="ccpo",
    assign=ccpo,
    needs=frozenset({Need.MASKED_AGENTS}),
    parameters=(
        Parameter(
            "baseline",
            "trajectory",
            ("trajectory", "group"),
            "outcome without the agent of this trajectory, or its mean over the group",
        ),
        Parameter("outcome_weight", 0.0, "float", "weight of the joint outcome beside the difference"),
        Parameter(
            "normalise",
            "none",
            ("none", "group", "batch"),
            "standardise each agent's credit over the group or the batch",
        ),
        STD,
        EPS,
        SINGLETON,
    ),
    card=Card(
        name="ccpo",
        title="Outcome without the agent (CCPO)",
        formula="A_m = w R + (R − R without m), w = 0; (A_m − μ_m)/(σ_m + ε) if normalised",
        source="CCPO 2026, arXiv 2603.21563",
        granularity="agent",
        methodology="counterfactual",
        evidence="notes",
        cost="one re-run of the trajectory without each of its M agents",
        extra_rollouts="N·M",
        drops="agents whose absence was not played out; forks",
        zeroes="agents without whom the outcome is the same; two agents that can stand in for each other both get 0",
        edge="normalised, an agent with one trajectory in its pool gets 0 (singleton), and so do equal differences",
        caveats="A leave-one-out difference, not a Shapley value: differences do not add up to the outcome. The paper "
        "changed between its versions: the first calibrates advantages by statistics of the whole training history, "
        "which no batch holds (batch comes nearest); the later one, and its code, adds a small multiple of the "
        "difference from the group's mean outcome without the agent to the joint outcome, for one of two agents "
        "only, and by default only its sign where joint and solo outcome disagree. Normalising by agent and group is "
        "our reconstruction.",
        reference_code="bhai114/ccpo ea50d3ae CCPO/examples/gspo_trainer/two_model/two_model_trainer.py was read; "
        "worked numbers from the formula, not from that code",
    ),
)
