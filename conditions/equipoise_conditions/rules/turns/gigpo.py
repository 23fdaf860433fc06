"""GiGPO: the episode's advantage plus that of a turn among all turns taken in the same state."""

from dataclasses import replace

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit
from equipoise_conditions.groups import codes_within, standardised
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import (
    EPS,
    GAMMA,
    OMEGA,
    SINGLETON,
    STD,
    VOTE,
    group_advantage,
    turn_advantage,
    with_reasons,
)
from equipoise_conditions.rules.turns.scaling import returns_to_go
from equipoise_conditions.trajectories import Trajectories

__all__ = ["GIGPO", "anchor_hit_rate", "gigpo", "shared_returns"]


def gigpo(  # noqa: PLR0913 - one keyword for each convention in which published versions differ
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    gamma: float = 0.95,
    omega: float = 1.0,
    std: str = "sample",
    eps: float = 1e-6,
    vote: str = "trajectory",
    singleton: str = "zero",
    per_agent: bool = False,
) -> Credit:
    """Return A_t = A^E + omega A^S: outcome among siblings, plus discounted return in the anchor state.

    A^S standardises G_t = r_t + gamma G_{t+1} over all turns of collected trajectories of the group taken
    in the same state; a trajectory that revisits a state enters several times, and a state seen once
    gives exactly 0.

    Source: Feng et al. 2025 (arXiv 2505.10978) and two generations of its authors' code, the presets.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        gamma: discount per turn.
        omega: weight of the turn term.
        std: "sample", "population" or "none", for both terms.
        eps: added to both standard deviations.
        vote: "trajectory" or "turn", for the episode term.
        singleton: "zero", "raw" or "undefined" for a group with one voter.
        per_agent: whether turns are compared only with turns of the same agent, in both terms.
    """
    if per_agent:
        group = codes_within(trajectories.agent, trajectories.group_of_turn)[0]
        episode, alone = _agent_term(trajectories, group, std=std, eps=eps, singleton=singleton, vote=vote)
    else:
        group = trajectories.group_of_turn
        episode, alone = turn_advantage(trajectories, std=std, eps=eps, singleton=singleton, vote=vote)
    step = _step_term(trajectories, group, gamma=gamma, std=std, eps=eps)
    return with_reasons(trajectories, episode + omega * step, alone, singleton=singleton)


def _agent_term(
    trajectories: Trajectories, group: IntArray, *, std: str, eps: float, singleton: str, vote: str
) -> tuple[FloatArray, BoolArray]:
    """Return (T,) the episode term among turns of the same agent, and which turns have no group."""
    owner = trajectories.trajectory_of_turn
    if vote == "trajectory":
        pair_owner, _, unit = trajectories.agent_units
        key = np.zeros(pair_owner.size, dtype=np.int64)
        key[unit] = group
    else:
        pair_owner, unit, key = owner, np.arange(owner.size), group
    use = trajectories.collected[pair_owner]
    score, alone = np.zeros(key.size), np.zeros(key.size, dtype=np.bool_)
    score[use], alone[use] = group_advantage(
        trajectories.outcome[pair_owner][use], key[use], std=std, eps=eps, singleton=singleton
    )
    return score[unit], alone[unit]


def _step_term(
    trajectories: Trajectories, group: IntArray, *, gamma: float, std: str, eps: float
) -> FloatArray:
    returns = returns_to_go(trajectories.reward, trajectories.turn_offsets, gamma)
    if bool(trajectories.collected.all()):
        anchor, n_anchors = codes_within(trajectories.state, group)
        return standardised(returns, anchor, n_anchors, std=std, eps=eps)
    use = trajectories.collected[trajectories.trajectory_of_turn]
    anchor, n_anchors = codes_within(trajectories.state[use], group[use])
    step = np.zeros(trajectories.n_turns)
    step[use] = standardised(returns[use], anchor, n_anchors, std=std, eps=eps)
    return step


def anchor_hit_rate(trajectories: Trajectories) -> float:
    """Return the share of collected turns whose state another collected turn of the group shares."""
    use = trajectories.collected[trajectories.trajectory_of_turn]
    anchor, n_anchors = codes_within(trajectories.state[use], trajectories.group_of_turn[use])
    return float((np.bincount(anchor, minlength=n_anchors)[anchor] > 1).mean())


def shared_returns(reward: FloatArray, offsets: IntArray, step: IntArray, gamma: float) -> FloatArray:
    """Return (T,) discounted returns where several turns in a row belong to one environment step.

    Turns of one step share its reward, that of its first turn, and its return; they are discounted once.
    DrMAS counts so when several agents act within a step. A batch built from such runs may carry, as
    turn rewards, r_t = G_t - gamma G_{t+1} of these returns.

    Args:
        reward: (T,) rewards, repeated in the turns of a step.
        offsets: (N+1,) turns of each trajectory.
        step: (T,) environment step of each turn; consecutive equal entries of a trajectory are one step.
        gamma: discount per step.
    """
    first = np.ones(reward.size, dtype=np.bool_)
    first[1:] = step[1:] != step[:-1]
    first[offsets[:-1]] = True
    of_turn = np.cumsum(first) - 1
    steps = np.concatenate(([0], np.cumsum(first)))[offsets].astype(np.int64)
    returns: FloatArray = returns_to_go(reward[first], steps, gamma)[of_turn]
    return returns


_MEAN = {"std": "none", "singleton": "raw"}
_MEAN_STD = {"std": "sample", "singleton": "raw"}

GIGPO = Rule(
    name="gigpo",
    assign=gigpo,
    needs=frozenset(),
    parameters=(
        GAMMA,
        OMEGA,
        STD,
        EPS,
        replace(VOTE, kind=("trajectory", "turn"), doc="one vote for each trajectory, or for each turn"),
        SINGLETON,
        Parameter(
            "per_agent", default=False, kind="bool", doc="compare turns only with turns of the same agent"
        ),
    ),
    presets={
        "verl-agent": {"vote": "turn", **_MEAN},
        "verl-agent-std": {"vote": "turn", **_MEAN_STD},
        "drmas": {"vote": "trajectory", **_MEAN},
        "drmas-std": {"vote": "trajectory", **_MEAN_STD},
        "drmas-agents": {"vote": "turn", "per_agent": True, **_MEAN},
        "drmas-agents-std": {"vote": "turn", "per_agent": True, **_MEAN_STD},
    },
    card=Card(
        name="gigpo",
        title="Group-in-group (GiGPO)",
        formula="A_t = A^E + ω (G_t − mean_g G)/(std_g G + ε), g = turns of the group in the same state",
        source="Feng et al. 2025, arXiv 2505.10978",
        granularity="turn",
        methodology="monte-carlo",
        evidence="code",
        cost="none beyond the collected trajectories; hashing of states",
        drops="nothing; a group with one voter only when singleton is undefined",
        zeroes="the turn term of states visited once; the episode term of groups with equal outcomes",
        edge="group of one: 0, or its raw outcome in the presets; equal returns in a state: turn term 0; "
        "masks do not change who votes",
        caveats="The authors' two generations of code differ: in verl-agent every turn votes in the episode "
        "mean, so long trajectories count more, and one trajectory of several turns gets 0; in DrMAS every "
        "trajectory votes once and a lone one keeps its raw outcome. Their configuration file drops the "
        "standard deviation (presets without -std), a wrapper's default keeps it (-std). Revisits put a "
        "trajectory several times into its own baseline. States are compared by key: for the likeness of "
        "texts, whose result depends on their order, put rules.turns.similar_groups(texts, threshold, "
        "group) under `state` when the batch is built. DrMAS discounts several turns of one environment "
        "step once: rules.turns.shared_returns.",
        reference_code="langfengQ/DrMAS a64f4e09 gigpo/core_gigpo.py (verl-agent), 19c632bc "
        "verl/trainer/ppo/core_algos.py (DrMAS)",
    ),
)
