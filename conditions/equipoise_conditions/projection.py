"""Credit of any granularity as credit of turns, or of tokens: the one place where units are translated."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, IntArray
from equipoise_conditions.credit import Credit, Reason, credit_of_all, credit_where
from equipoise_conditions.errors import RuleError
from equipoise_conditions.trajectories import Trajectories

__all__ = ["expected_units", "loss_tokens", "to_tokens", "to_turns"]


def expected_units(credit: Credit, trajectories: Trajectories) -> int:
    """Return how many units credit of this granularity has on the batch; segments bring their own number."""
    match credit.granularity:
        case "token":
            return trajectories.n_tokens
        case "turn":
            return trajectories.n_turns
        case "agent":
            return int(trajectories.agent_units[0].size)
        case "episode":
            return trajectories.n
        case _:
            return int(credit.value.size)


def to_tokens(credit: Credit, trajectories: Trajectories) -> Credit:
    """Return (K,) token-level credit: every token has the credit, or the reason, of the unit it stands in.

    Tokens outside `trajectories.mask`, and those the rule takes out of the loss, are MASKED where they
    would have had credit. Copies of a fork's parent are COPY whatever their unit.

    Raises:
        RuleError: when the credit is not of this batch.
    """
    _check(credit, trajectories)
    tokens = _tokens_of_unit(credit, trajectories)
    if tokens is None:
        unit = trajectories.agent_units[2][trajectories.turn_of_token]
        value, reason = credit.value[unit], credit.reason[unit]
    else:
        value = np.repeat(credit.value, tokens)
        if trajectories.whole and not credit.loss_mask.size and bool(credit.defined.all()):
            return credit_of_all(value)
        reason = np.repeat(credit.reason, tokens)
    if credit.granularity in ("agent", "episode") and not bool(trajectories.collected.all()):
        reason = np.where(trajectories.own[trajectories.turn_of_token], reason, int(Reason.COPY))
    kept = loss_tokens(credit, trajectories)
    reason = np.where((reason == Reason.DEFINED) & ~kept, int(Reason.MASKED), reason)
    return credit_where(value, reason, "token")


def to_turns(credit: Credit, trajectories: Trajectories) -> Credit:
    """Return (T,) turn-level credit.

    Episodes and agents give their credit to each of their own turns. A turn of finer credit has the mean of
    its tokens that have credit, and is undefined, for its first token's reason, when none has.

    Raises:
        RuleError: when the credit is not of this batch.
    """
    _check(credit, trajectories)
    if credit.granularity == "turn":
        return credit
    if credit.granularity in ("agent", "episode"):
        unit = (
            trajectories.trajectory_of_turn
            if credit.granularity == "episode"
            else trajectories.agent_units[2]
        )
        reason = np.where(trajectories.own, credit.reason[unit], int(Reason.COPY))
        return credit_where(credit.value[unit], reason)
    tokens = to_tokens(credit, trajectories)
    turns = trajectories.n_turns
    count = np.bincount(trajectories.turn_of_token, tokens.defined, turns)
    known = np.where(tokens.defined, tokens.value, 0.0)
    total = np.bincount(trajectories.turn_of_token, known, turns)
    value = np.divide(total, count, out=np.zeros(turns), where=count > 0)
    first = tokens.reason[trajectories.token_offsets[:-1]]
    return credit_where(value, np.where(count > 0, int(Reason.DEFINED), first))


def loss_tokens(credit: Credit, trajectories: Trajectories) -> BoolArray:
    """Return (K,) which tokens may enter the loss: the batch's mask without what the rule takes out."""
    if not credit.loss_mask.size:
        return trajectories.mask
    if credit.loss_mask.size != trajectories.n_tokens:
        message = (
            f"loss_mask: expected one entry for each of {trajectories.n_tokens} tokens, "
            f"got {credit.loss_mask.size}"
        )
        raise RuleError(message)
    return trajectories.mask & credit.loss_mask


def _tokens_of_unit(credit: Credit, trajectories: Trajectories) -> IntArray | None:
    """(U,) tokens of each unit, where units follow one another as their tokens do; None for agents' units."""
    match credit.granularity:
        case "token":
            return np.ones(trajectories.n_tokens, dtype=np.int64)
        case "turn":
            return trajectories.tokens_of_turn
        case "episode":
            return np.diff(trajectories.token_offsets_of_trajectory)
        case "segment":
            return np.diff(credit.offsets)
        case _:
            return None


def _check(credit: Credit, trajectories: Trajectories) -> None:
    expected, got = expected_units(credit, trajectories), int(credit.value.size)
    if credit.granularity == "segment":
        expected, got = trajectories.n_tokens, int(credit.offsets[-1])
        crossing = np.setdiff1d(trajectories.token_offsets_of_trajectory, credit.offsets)
        if got == expected and crossing.size:
            message = f"segments: expected each inside one trajectory, but one holds token {int(crossing[0])}"
            raise RuleError(f"{message}, where a trajectory begins")
    if got != expected:
        noun = "tokens in all" if credit.granularity == "segment" else f"{credit.granularity}s"
        message = f"credit: expected {expected} {noun}, got {got}; is it of another batch?"
        raise RuleError(message)
