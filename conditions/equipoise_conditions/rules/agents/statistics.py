"""Steps that the rules of several agents share: whose credit stands, and each agent's own statistics."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.credit import Credit, Reason, credit_where, on_episodes
from equipoise_conditions.groups import centred, codes, codes_within, divided, variances
from equipoise_conditions.trajectories import Trajectories

__all__ = ["agent_credit", "broadcast", "by_agent", "tidy"]


def broadcast(trajectories: Trajectories) -> FloatArray:
    """Return (A,) the outcome of the trajectory that each pair of `agent_units` stands in."""
    return trajectories.outcome[trajectories.agent_units[0]]


def by_agent(
    trajectories: Trajectories,
    score: FloatArray,
    *,
    std: str,
    eps: float,
    singleton: str,
    vote: str = "trajectory",
    pool: str = "group",
) -> tuple[FloatArray, BoolArray]:
    """Return (A,) (score - mean) / (std + eps) with statistics of each agent's own, and which have no sibling.

    Only measured scores of collected trajectories vote; all others get 0. Where an agent has no vote at all in
    its pool, its scores are NaN.

    Args:
        trajectories: the batch.
        score: (A,) scores, NaN where not measured.
        std: "sample", "population" or "none".
        eps: added to the standard deviation.
        singleton: "raw" divides the score of one vote by (1 + eps); any other word leaves 0.
        vote: one vote for each "trajectory" of the agent, each of its "turn"s there, or each of its "token"s
            in the loss.
        pool: statistics over the agent's scores in a "group", or in the whole "batch".
    """
    owner, agent, _ = trajectories.agent_units
    use = trajectories.collected[owner] & np.isfinite(score)
    value, alone = np.zeros(score.size), np.zeros(score.size, dtype=np.bool_)
    if not use.any():
        return value, alone
    group = trajectories.group[owner[use]]
    code, n = codes_within(agent[use], group) if pool == "group" else codes(agent[use])
    weight = _votes(trajectories, vote)[use]
    value[use], alone[use] = _weighted(score[use], code, n, weight, std=std, eps=eps)
    if singleton == "raw":
        value = np.where(alone, np.where(use, score, 0.0) / (1.0 if std == "none" else 1.0 + eps), value)
    return value, alone


def agent_credit(
    trajectories: Trajectories, value: FloatArray, measured: BoolArray, alone: BoolArray | None = None
) -> Credit:
    """Return (A,) values as credit of agents: forks are DROPPED, the rest NOT_MEASURED, MASKED or NO_GROUP if so.

    Args:
        trajectories: the batch.
        value: (A,) credit; NaN is MASKED: the agent has no token in the loss.
        measured: (A,) whether what the rule needs was measured.
        alone: (A,) pairs that get no credit for want of siblings; none by default.
    """
    reason: IntArray = on_episodes(trajectories)[trajectories.agent_units[0]]
    reason = np.where((reason == Reason.DEFINED) & ~measured, int(Reason.NOT_MEASURED), reason)
    reason = np.where((reason == Reason.DEFINED) & np.isnan(value), int(Reason.MASKED), reason)
    if alone is not None:
        reason = np.where((reason == Reason.DEFINED) & alone, int(Reason.NO_GROUP), reason)
    return credit_where(value, reason, "agent")


def tidy(difference: FloatArray, *scale: FloatArray) -> FloatArray:
    """Return differences with those set to 0 that are rounding of the finite numbers they were made from."""
    size = np.maximum.reduce([np.abs(column) for column in scale])
    return np.where(np.isfinite(size) & (np.abs(difference) <= 1e-12 * size), 0.0, difference)


def _votes(trajectories: Trajectories, vote: str) -> FloatArray:
    of_turn = trajectories.agent_units[2]
    units = int(trajectories.agent_units[0].size)
    if vote == "trajectory":
        return np.ones(units)
    if vote == "turn":
        return np.bincount(of_turn, minlength=units).astype(np.float64)
    of_token = of_turn[trajectories.turn_of_token]
    return np.bincount(of_token[trajectories.mask], minlength=units).astype(np.float64)


def _weighted(
    score: FloatArray, code: IntArray, n: int, weight: FloatArray, *, std: str, eps: float
) -> tuple[FloatArray, BoolArray]:
    """Return what standardising `weight` copies of each score would give it, and where one copy was all."""
    count = np.bincount(code, weight, n)
    difference = np.where((count > 0)[code], centred(score, code, n, weight), np.nan)
    if std != "none":
        variance = variances(difference, code, n, std=std, vote=weight)
        difference = divided(difference, variance[code], eps=eps)
    return difference, (count == 1)[code]
