"""GiGPO: the episode's advantage plus that of a turn among all turns taken in the same state."""

import numpy as np

from equipoise_conditions.arrays import FloatArray
from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit
from equipoise_conditions.groups import codes_within, discounted, standardised
from equipoise_conditions.rule import Card, Rule
from equipoise_conditions.rules.common import (
    EPS,
    GAMMA,
    OMEGA,
    SINGLETON,
    STD,
    VOTE,
    turn_advantage,
    with_reasons,
)
from equipoise_conditions.trajectories import Trajectories

__all__ = ["GIGPO", "anchor_hit_rate", "gigpo"]


def gigpo(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    gamma: float = 0.95,
    omega: float = 1.0,
    std: str = "sample",
    eps: float = 1e-6,
    vote: str = "trajectory",
    singleton: str = "zero",
) -> Credit:
    """Return A_t = A^E + omega A^S: outcome among siblings, plus discounted return in the anchor state.

    A^S standardises G_t = r_t + gamma G_{t+1} over all turns of collected trajectories of the task taken
    in the same state; a trajectory that revisits a state enters several times, and a state seen once
    gives exactly 0.

    Source: Feng et al. 2025 (arXiv 2505.10978). `vote="turn", singleton="raw"` is what the authors'
    verl-agent computes (a longer trajectory votes more often); `vote="trajectory", singleton="raw"` is
    what their later DrMAS computes; `std="none"` is their `mean_norm`.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        gamma: discount per turn.
        omega: weight of the turn term.
        std: "sample", "population" or "none", for both terms.
        eps: added to both standard deviations.
        vote: "trajectory" or "turn", for the episode term.
        singleton: "zero", "raw" or "undefined" for a task with one voter.
    """
    episode, alone = turn_advantage(trajectories, std=std, eps=eps, singleton=singleton, vote=vote)
    step = _step_term(trajectories, gamma=gamma, std=std, eps=eps)
    return with_reasons(trajectories, episode + omega * step, alone, singleton=singleton)


def _step_term(trajectories: Trajectories, *, gamma: float, std: str, eps: float) -> FloatArray:
    returns = discounted(trajectories.reward, trajectories.turn_offsets, gamma)
    if bool(trajectories.collected.all()):
        anchor, n_anchors = codes_within(trajectories.state, trajectories.group_of_turn)
        return standardised(returns, anchor, n_anchors, std=std, eps=eps)
    use = trajectories.collected[trajectories.trajectory_of_turn]
    anchor, n_anchors = codes_within(trajectories.state[use], trajectories.group_of_turn[use])
    step = np.zeros(trajectories.n_turns)
    step[use] = standardised(returns[use], anchor, n_anchors, std=std, eps=eps)
    return step


def anchor_hit_rate(trajectories: Trajectories) -> float:
    """Return the share of collected turns whose state another collected turn of the task shares."""
    use = trajectories.collected[trajectories.trajectory_of_turn]
    anchor, n_anchors = codes_within(trajectories.state[use], trajectories.group_of_turn[use])
    return float((np.bincount(anchor, minlength=n_anchors)[anchor] > 1).mean())


GIGPO = Rule(
    name="gigpo",
    assign=gigpo,
    needs=frozenset(),
    parameters=(GAMMA, OMEGA, STD, EPS, VOTE, SINGLETON),
    card=Card(
        name="gigpo",
        title="Group-in-group (GiGPO)",
        formula="A_t = A^E + ω (G_t − mean_g G)/(std_g G + ε), g = turns of the task in the same state",
        source="Feng et al. 2025, arXiv 2505.10978",
        granularity="turn",
        cost="none beyond the collected trajectories",
        drops="nothing; a task with one trajectory only when singleton is undefined",
        zeroes="the turn term of states visited once; the episode term of tasks with equal outcomes",
        reference_code="langfengQ/DrMAS a64f4e09 gigpo/core_gigpo.py (verl-agent), 19c632bc (DrMAS)",
    ),
)
