"""M-GRPO: group-relative advantages for each role of a hierarchy of agents."""

import numpy as np

from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.agents.statistics import agent_credit, broadcast, by_agent
from equipoise_conditions.rules.common import EPS, SINGLETON, STD
from equipoise_conditions.trajectories import Trajectories

__all__ = ["MGRPO", "mgrpo"]


def mgrpo(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    own_weight: float = 0.0,
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
) -> Credit:
    """Return (A,) A_m = (R_m - mu_m)/(sigma_m + eps), each role against itself in the group's trajectories.

    R_m is the outcome plus `own_weight` times the sum of the rewards of the role's own turns.

    Source: M-GRPO (arXiv 2511.13288).

    Args:
        trajectories: the batch; an agent is a role; forked trajectories are neither voters nor examples.
        context: not read.
        own_weight: weight of the role's own rewards beside the outcome.
        std: "sample", "population" or "none".
        eps: added to the standard deviation.
        singleton: "zero", "raw" or "undefined" for a role with one trajectory in its group.
    """
    score = broadcast(trajectories)
    if own_weight != 0.0:
        own = np.bincount(trajectories.agent_units[2], trajectories.reward, score.size)
        score = score + own_weight * own
    value, alone = by_agent(trajectories, score, std=std, eps=eps, singleton=singleton)
    everything = np.ones(score.size, dtype=np.bool_)
    return agent_credit(trajectories, value, everything, alone if singleton == "undefined" else None)


MGRPO = Rule(
    name="mgrpo",
    assign=mgrpo,
    needs=frozenset(),
    parameters=(
        Parameter("own_weight", 0.0, "float", "weight of the role's own turn rewards beside the outcome"),
        STD,
        EPS,
        SINGLETON,
    ),
    card=Card(
        name="mgrpo",
        title="Group advantage for each role (M-GRPO)",
        formula="A_m = (R_m − μ_m)/(σ_m + ε) over the group's trajectories with role m; "
        "R_m = R + w Σ rewards of m's own turns",
        source="M-GRPO 2025, arXiv 2511.13288",
        granularity="agent",
        methodology="outcome",
        evidence="notes",
        cost="none beyond the collected trajectories",
        drops="nothing but forks; a role with one trajectory in its group only when singleton is undefined",
        zeroes="roles whose trajectories of the group all have the same reward",
        edge="a role absent from a trajectory has no unit there; several calls of one role in a trajectory are one "
        "unit with one vote",
        caveats="The paper also aligns trajectories with different numbers of sub-agent calls and trains the roles "
        "apart; neither is a matter of credit and neither is here. Its rewards of a role are task-specific: w is "
        "our reconstruction, and 0 leaves the outcome alone. With w = 0 and every role in every trajectory this is "
        "GRPO. A reward on the last turn that repeats the outcome would count twice with w > 0.",
        reference_code="none found; worked numbers from the formula",
    ),
)
