"""IGPO as first released: reward-to-go of each token against the group at the same token position."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray
from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit, Reason, credit_where, on_tokens
from equipoise_conditions.groups import centred, codes, discounted
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, GAMMA, STD
from equipoise_conditions.rules.turns.information_gain import (
    GAIN,
    MISSING,
    gain_needs,
    place_rewards,
    turn_gains,
)
from equipoise_conditions.rules.turns.scaling import final_turns
from equipoise_conditions.trajectories import Trajectories

__all__ = ["IGPO_TOKEN", "igpo_token", "reward_to_go"]


def igpo_token(  # noqa: PLR0913 - one keyword for each convention in which published versions differ
    trajectories: Trajectories,
    context: Context,
    *,
    gain: str = "probability",
    baseline: str = "position",
    gamma: float = 0.95,
    bridge: bool = True,
    std: str = "sample",
    eps: float = 1e-6,
    missing: str = "undefined",
) -> Credit:
    """Return (K,) reward-to-go of each token minus a baseline of its group.

    Source: arXiv 2510.14967 and GuoqingWang1/IGPO bff163b7 verl/trainer/ppo/core_algos.py:118-254.

    Args:
        trajectories: the batch; collected trajectories vote, forks do not.
        context: `gold`, unless gains were recorded.
        gain: "probability" or "log" differences, placed on each turn's last token; "recorded" reads the
            batch's token rewards as they are, outcomes included.
        baseline: "position" subtracts the group's mean at the same token position, where shorter
            trajectories count as 0; "start" standardises by the group's returns at the first token.
        gamma: discount per token.
        bridge: whether credit crosses tokens outside the loss.
        std: deviation by which "start" divides; "position" never divides.
        eps: added to it.
        missing: "undefined" gives NO_GOLD, "outcome" the outcome alone, to a trajectory that lacks a gain.

    Raises:
        MissingNeed: when gains are needed and were not measured.
        RuleError: when they were measured on another batch.
    """
    if gain == "recorded":
        reward, known = np.asarray(trajectories.token_reward), np.ones(trajectories.n, dtype=np.bool_)
    else:
        gains, known = turn_gains(trajectories, context, gain)
        outcome = trajectories.outcome[trajectories.trajectory_of_turn]
        reward = place_rewards(trajectories, np.where(final_turns(trajectories), outcome, gains))
    returns = reward_to_go(trajectories, reward, gamma=gamma, bridge=bridge)
    votes = trajectories.collected & (known | (missing == "outcome"))
    if baseline == "position":
        value = returns - _position_mean(trajectories, returns, votes)
    else:
        value = _from_start(trajectories, returns, votes, std=std, eps=eps)
    reason = on_tokens(trajectories)
    if missing == "undefined" and not bool(known.all()):
        unknown = ~known[trajectories.trajectory_of_token]
        reason = np.where((reason == Reason.DEFINED) & unknown, int(Reason.NO_GOLD), reason)
    return credit_where(value, reason, "token")


def reward_to_go(trajectories: Trajectories, reward: FloatArray, *, gamma: float, bridge: bool) -> FloatArray:
    """Return (K,) R_k = r_k + gamma R_{k+1}; without `bridge` nothing passes on from a token outside the loss.

    Args:
        trajectories: the batch.
        reward: (K,) rewards.
        gamma: discount per token.
        bridge: whether credit crosses tokens outside the loss.
    """
    starts = np.zeros(reward.size + 1, dtype=np.bool_)
    starts[trajectories.token_offsets_of_trajectory] = True
    if not bridge:
        starts[:-1] |= ~trajectories.mask
    return discounted(reward, np.flatnonzero(starts).astype(np.int64), gamma)


def _position_mean(trajectories: Trajectories, returns: FloatArray, votes: BoolArray) -> FloatArray:
    group, n_groups = codes(trajectories.group)
    offsets = trajectories.token_offsets_of_trajectory
    lengths = np.diff(offsets)
    longest = np.zeros(n_groups, dtype=np.int64)
    np.maximum.at(longest, group, lengths)
    # Each group has as many places in a row as its longest trajectory has tokens.
    start = (np.cumsum(longest) - longest)[group] - offsets[:-1]
    place = np.repeat(start, lengths) + np.arange(returns.size)
    voted = returns if bool(votes.all()) else returns * np.repeat(votes, lengths)
    total = np.bincount(place, voted, int(longest.sum()))
    members = np.repeat(np.bincount(group, votes, n_groups), longest)
    mean: FloatArray = np.divide(total, members, out=np.zeros_like(total), where=members > 0)[place]
    return mean


def _from_start(
    trajectories: Trajectories, returns: FloatArray, votes: BoolArray, *, std: str, eps: float
) -> FloatArray:
    group, n_groups = codes(trajectories.group)
    start = returns[trajectories.token_offsets_of_trajectory[:-1]]
    apart = centred(start, group, n_groups, votes)
    owner = trajectories.trajectory_of_token
    difference: FloatArray = returns - (start - apart)[owner]
    if std == "none":
        return difference
    count = np.bincount(group, votes, n_groups)
    spread = np.bincount(group, votes * np.square(apart), n_groups)
    divisor = np.maximum(count - (1 if std == "sample" else 0), 1)
    scale = np.where(count > 1, np.sqrt(spread / divisor), 1.0) + eps
    # Equal starts with eps 0 leave nothing to divide by, though later tokens may differ.
    return difference / np.where(scale > 0, scale, 1.0)[group][owner]


_FIRST = {"bridge": False, "missing": "outcome"}

IGPO_TOKEN = Rule(
    name="igpo_token",
    assign=igpo_token,
    needs=frozenset(),
    needs_of=gain_needs,
    parameters=(
        GAIN,
        Parameter(
            "baseline",
            "position",
            ("position", "start"),
            "the group's mean at the same token position, or its returns at the first token",
        ),
        GAMMA,
        Parameter("bridge", default=True, kind="bool", doc="credit crosses tokens outside the loss"),
        STD,
        EPS,
        MISSING,
    ),
    presets={
        "first-release": {"baseline": "position", "gamma": 1.0, **_FIRST},
        "first-release-discounted": {
            "baseline": "start",
            "gamma": 0.5,
            "std": "sample",
            "eps": 1e-6,
            **_FIRST,
        },
    },
    card=Card(
        name="igpo_token",
        title="Information gain, as first released (IGPO)",
        formula="A_k = R_k − mean_{i in group} R_{i,k}, R_k = r_k + γ R_{k+1} over tokens k; r = the turn's gain on "
        "its last token, the outcome on the last of all",
        source="IGPO, arXiv 2510.14967",
        granularity="token",
        methodology="information-theoretic",
        evidence="code",
        extra_forward="T_i per trajectory: one pass over the known answer before the first turn and after each "
        "turn but the last",
        cost="one teacher-forced pass of the known answer a turn; needs a known answer",
        drops="trajectories that lack a gain (NO_GOLD), unless missing is outcome",
        zeroes="every token of a group of one; positions at which all of a group have the same return",
        edge="a group of one: 0 with baseline position; shorter trajectories count as 0 at later positions; "
        "trajectories without a token in the loss still vote; start divides a group of one by 1 + ε",
        caveats="The paper normalises whole turns; this is what its first code computes: token k is compared with "
        "token k of other answers, whatever turn those tokens stand in, and the deviation is computed and not "
        "used. With tool output outside the loss, the preset lets no credit cross it, and published rewards "
        "stand on the last token of a piece of text that may be tool output; ours stand on the last token in "
        "the loss. A turn whose text occurred before is found at its first occurrence there. γ counts tokens.",
        reference_code="GuoqingWang1/IGPO bff163b7 verl/trainer/ppo/core_algos.py:118-254, "
        "verl/utils/reward_score/info_gain.py:134-215",
    ),
)
