"""Dr. MAS: the outcome in units of each agent's own mean and deviation."""

import numpy as np

from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit
from equipoise_conditions.rule import Card, Rule
from equipoise_conditions.rules.agents.statistics import agent_credit, broadcast, by_agent
from equipoise_conditions.rules.common import EPS, SINGLETON, STD, VOTE
from equipoise_conditions.trajectories import Trajectories

__all__ = ["DR_MAS", "dr_mas"]


def dr_mas(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
    vote: str = "trajectory",
) -> Credit:
    """Return (A,) A_m = (R - mu_m)/(sigma_m + eps), statistics over what agent m did in the group.

    Source: Dr. MAS (arXiv 2602.08847); the authors' code groups rows by prompt and agent together, and every
    row, which is one turn, votes: `vote="turn", singleton="raw"`.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        std: "sample", "population" or "none".
        eps: added to the standard deviation.
        singleton: "zero", "raw" or "undefined" for an agent with one vote in its group.
        vote: one vote for each trajectory, each turn or each token of the agent.

    Returns:
        (A,) agent-level credit; MASKED where tokens vote and the agent has none in the loss in its group.
    """
    score = broadcast(trajectories)
    value, alone = by_agent(trajectories, score, std=std, eps=eps, singleton=singleton, vote=vote)
    everything = np.ones(score.size, dtype=np.bool_)
    return agent_credit(trajectories, value, everything, alone if singleton == "undefined" else None)


DR_MAS = Rule(
    name="dr_mas",
    assign=dr_mas,
    needs=frozenset(),
    parameters=(STD, EPS, SINGLETON, VOTE),
    presets={"drmas": {"std": "sample", "eps": 1e-6, "singleton": "raw", "vote": "turn"}},
    card=Card(
        name="dr_mas",
        title="Agent-wise normalised outcome (Dr. MAS)",
        formula="A_m = (R − μ_m)/(σ_m + ε), μ_m and σ_m over agent m's own rows of the group",
        source="Dr. MAS 2026, arXiv 2602.08847",
        granularity="agent",
        methodology="outcome",
        evidence="code",
        cost="none beyond the collected trajectories",
        drops="nothing but forks; an agent with one vote in its group only when singleton is undefined; with token "
        "votes an agent without a token in the loss in its group",
        zeroes="agents whose trajectories of the group all have the same outcome",
        edge="with turn votes an agent with several turns in one trajectory only is its own baseline and gets 0; "
        "with one turn only it keeps its raw outcome under the preset",
        caveats="Within a trajectory agents differ only in their baselines: none is told from another by what it "
        "did. Where every agent acts once in every trajectory this is GRPO. The same authors' code without "
        "grouping by agent gives one vote a trajectory and other numbers.",
        reference_code="langfengQ/DrMAS 19c632bc verl/trainer/ppo/core_algos.py, verl/trainer/ppo/ray_trainer.py "
        "(group_by_agent_id)",
    ),
)
