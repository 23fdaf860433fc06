"""SHARP: the team's outcome, what was lost without the agent, and its tool calls, by the agent's own statistics."""

import numpy as np

from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.agents.statistics import agent_credit, broadcast, by_agent, tidy
from equipoise_conditions.rules.common import EPS, SINGLETON, STD
from equipoise_conditions.trajectories import Trajectories

__all__ = ["SHARP", "sharp"]


def sharp(
    trajectories: Trajectories,
    context: Context,
    *,
    lambda_s: float = 1.0,
    lambda_p: float = 1.0,
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
) -> Credit:
    """Return (A,) A_m = (R_m - mu_m)/(sigma_m + eps) with R_m = R + lambda_s Delta_m + lambda_p R_tool,m.

    Delta_m = R - R without agent m, whose output was replaced by a placeholder: one mask an agent. mu_m and
    sigma_m are over the trajectories of the group in which the agent took part.

    Source: SHARP (arXiv 2602.08335).

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: `masked_agents` and `tool_reward` are read, both (A,); not finite in either is NOT_MEASURED.
        lambda_s: weight of the marginal term.
        lambda_p: weight of the tool term.
        std: "sample", "population" or "none".
        eps: added to the standard deviation.
        singleton: "zero", "raw" or "undefined" for an agent with one trajectory in its group.

    Raises:
        RuleError: when a column was measured on another batch.
    """
    units = int(trajectories.agent_units[0].size)
    without, tool = (
        np.where(np.isfinite(column), column, np.nan)
        for column in (context.column(Need.MASKED_AGENTS, units), context.column(Need.TOOL_REWARD, units))
    )
    team = broadcast(trajectories)
    reward = team + lambda_s * tidy(team - without, team, without) + lambda_p * tool
    value, alone = by_agent(trajectories, reward, std=std, eps=eps, singleton=singleton)
    measured = np.isfinite(reward)
    return agent_credit(trajectories, value, measured, alone if singleton == "undefined" else None)


SHARP = Rule(
    name="sharp",
    assign=sharp,
    needs=frozenset({Need.MASKED_AGENTS, Need.TOOL_REWARD}),
    parameters=(
        Parameter("lambda_s", 1.0, "float", "weight of what was lost without the agent"),
        Parameter("lambda_p", 1.0, "float", "weight of the reward of its tool calls"),
        STD,
        EPS,
        SINGLETON,
    ),
    card=Card(
        name="sharp",
        title="Masked-agent marginal with broadcast and tool reward (SHARP)",
        formula="A_m = (R_m − μ_m)/(σ_m + ε), R_m = R + λ_s (R − R without m) + λ_p R_tool,m",
        source="SHARP 2026, arXiv 2602.08335",
        granularity="agent",
        methodology="game-theoretic",
        evidence="notes",
        cost="one re-evaluation of the trajectory for each of its M agents, with that agent's output masked",
        extra_rollouts="N·M",
        drops="agents whose masked outcome or tool reward was not measured; forks",
        zeroes="agents whose reward is the same in every trajectory of the group; two agents that can stand in "
        "for each other both have a marginal of 0",
        edge="an agent with one trajectory in its group gets 0 (singleton); an agent absent from a trajectory has "
        "no unit there and does not vote",
        caveats="Called Shapley-based by its authors, but this is a single leave-one-out mask and no Shapley value: "
        "marginals do not add up to the outcome. The weights λ were not recovered; 1 is ours. Standardising undoes "
        "any common scale of the three terms, so only their proportions matter.",
        reference_code="none released; worked numbers from the formula",
    ),
)
