"""Turn-level reward design: every turn's own reward among its peers, beside the outcome."""

import numpy as np

from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit
from equipoise_conditions.groups import codes, standardised
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, SINGLETON, STD, turn_advantage, with_reasons
from equipoise_conditions.rules.turns.mt_grpo import COEFFICIENT
from equipoise_conditions.rules.turns.scaling import final_turns
from equipoise_conditions.trajectories import Trajectories

__all__ = ["TURN_REWARDS", "turn_rewards"]


def turn_rewards(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    turn_advantage_coef: float = 1.0,
    peers: str = "index",
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
) -> Credit:
    """Return A_t = A^O + c (r_t - mean r) / (std r + eps), and A^O alone on last turns.

    Reconstructed: arXiv 2505.11821 as the survey (arXiv 2604.09459) sums it up, MT-GRPO's two turns made
    any number. With two turns in every trajectory it is `mt_grpo`.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        turn_advantage_coef: c.
        peers: turns that a reward is compared with: "index", those of the group at the same place in their
            trajectory, or "group", all of the group. Last turns, whose reward is the outcome, are none.
        std: "sample", "population" or "none", for both terms.
        eps: added to the standard deviations.
        singleton: "zero", "raw" or "undefined" for a group with one trajectory; a turn without peers gets 0.
    """
    value, alone = turn_advantage(trajectories, std=std, eps=eps, singleton=singleton, vote="trajectory")
    use = trajectories.collected[trajectories.trajectory_of_turn] & ~final_turns(trajectories)
    if bool(use.any()):
        key, n_keys = codes(trajectories.group_of_turn[use])
        if peers == "index":
            span = int(trajectories.lengths.max())
            key, n_keys = codes(key * span + trajectories.turn_index[use])
        term = np.zeros(trajectories.n_turns)
        term[use] = standardised(trajectories.reward[use], key, n_keys, std=std, eps=eps)
        value = value + turn_advantage_coef * term
    return with_reasons(trajectories, value, alone, singleton=singleton)


TURN_REWARDS = Rule(
    name="turn_rewards",
    assign=turn_rewards,
    needs=frozenset(),
    parameters=(
        COEFFICIENT,
        Parameter(
            "peers",
            "index",
            ("index", "group"),
            "turns compared with one another: at the same place in their trajectories, or all of the group",
        ),
        STD,
        EPS,
        SINGLETON,
    ),
    card=Card(
        name="turn_rewards",
        title="Turn-level rewards beside the outcome",
        formula="A_t = A^O + c (r_t − mean r)/(std r + ε) over the group's turns t; A^O alone on last turns",
        source="Turn-level reward design, arXiv 2505.11821, as the survey arXiv 2604.09459 sums it up",
        granularity="turn",
        methodology="process-reward",
        evidence="reconstructed",
        cost="none beyond the collected trajectories; needs an environment that rewards turns",
        drops="nothing; a group with one trajectory only when singleton is undefined",
        zeroes="the turn term of turns without peers or with equal rewards; A^O of groups with equal outcomes",
        edge="group of one: 0; turns that only the longest trajectory reaches have no peers at their index",
        caveats="A reconstruction: the paper's code has credit for the first turn only (mt_grpo), and which turns "
        "it would compare with which is our choice (peers). The paper lets a judge score turns that cannot be "
        "verified; here rewards come from the batch. The last turn's reward is taken to be the outcome.",
        reference_code="none released for more than two turns; for two SiliangZeng/Multi-Turn-RL-Agent 7dbdd08b",
    ),
)
