"""Placebos of plans with a weight for every token: turns exchange theirs, and so do the tokens of a turn."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from equipoise_budget.errors import BudgetError
from equipoise_budget.plan import FloatArray, IntArray, Plan, counted_up

__all__ = ["token_twin"]


def token_twin(
    plan: Plan,
    moves: Iterable[tuple[ArrayLike, ArrayLike]],
    inside: ArrayLike,
    token_offsets: ArrayLike,
    rng: np.random.Generator,
    *,
    signs: bool = False,
) -> Plan:
    """Return a plan in which the weights of every slot stand on the tokens of another turn, in another order.

    A slot's example is moved as in `Plan.twin`, to a turn with as many tokens in the loss, and its weights are
    put onto those tokens in random order. Each slot, and so each step, keeps the multiset of its weights.

    Args:
        plan: with weights of tokens.
        moves: one for each optimizer step: (T,) a permutation of the turns, and (T,) signs, which are not
            read: tokens have signs of their own.
        inside: (K,) which tokens of the batch have credit.
        token_offsets: (T+1,) tokens of each turn of the batch.
        rng: the twin's own stream; one number is drawn for each token of the plan.
        signs: move nothing, and give every token a sign at random.

    Raises:
        BudgetError: when the plan has one weight a slot, or a move leads to a turn with more or fewer tokens.
    """
    if not plan.token_offsets.size:
        message = "token twin: expected a plan with a weight for every token, got one a slot; use Plan.twin"
        raise BudgetError(message)
    key = rng.random(plan.token_weight.size)
    known = np.flatnonzero(~np.isnan(plan.token_weight))
    if signs:
        weight = plan.token_weight.copy()
        weight[known] *= np.where(key[known] < 0.5, -1.0, 1.0)
        return _with(plan, plan.example, weight, plan.token_offsets)
    example = plan.moved(moves)[0]
    flags, offsets = np.asarray(inside, dtype=np.bool_), np.asarray(token_offsets)
    counts = np.diff(offsets)[example]
    ends = np.cumsum(counts)
    place = np.arange(int(ends[-1])) - np.repeat(ends - counts - offsets[example], counts)
    here = np.flatnonzero(flags[place])
    slot = np.repeat(np.arange(plan.slots), np.diff(plan.token_offsets))[known]
    if not np.array_equal(slot, np.repeat(np.arange(plan.slots), counts)[here]):
        message = "token twin: expected moves between turns with as many tokens in the loss, got others"
        raise BudgetError(message)
    weight = np.full(int(ends[-1]), np.nan)
    weight[here] = plan.token_weight[known[np.lexsort((key[known], slot))]]
    return _with(plan, example, weight, np.append(0, ends))


def _with(plan: Plan, example: IntArray, weight: FloatArray, offsets: IntArray) -> Plan:
    known = ~np.isnan(weight)
    total = np.add.reduceat(np.where(known, weight, 0.0), offsets[:-1])
    mean = total / np.add.reduceat(known, offsets[:-1], dtype=np.int64)
    return replace(
        plan,
        example=example,
        presentation=counted_up(example, plan.padding),
        weight=mean,
        token_offsets=offsets,
        token_weight=weight,
    )
