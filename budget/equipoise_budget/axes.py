"""Plans that are matched on more than slots and steps: tokens, and the effective sample size of trajectories."""

from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from equipoise_budget.budget import Budget
from equipoise_budget.dose import kish
from equipoise_budget.errors import BudgetError, BudgetRefused
from equipoise_budget.fills import matched, strata_of
from equipoise_budget.plan import FloatArray, IntArray, Plan
from equipoise_budget.tokens import Pool, match_tokens

__all__ = ["Turns", "fitted"]

_AROUND = 3


@dataclass(frozen=True, eq=False)
class Turns:
    """What a plan must know of the T turns of a batch of N trajectories.

    Attributes:
        stratum: (T,) stratum of each: its task, or 0 for all where nothing is stratified.
        tokens: (T,) tokens in the loss of each.
        trajectory: (T,) trajectory of each.
        order: (N,) trajectories with large numbers are left out first; drawn once a block, for all its conditions.
    """

    stratum: IntArray
    tokens: IntArray
    trajectory: IntArray
    order: FloatArray

    def __post_init__(self) -> None:
        if not self.stratum.shape == self.tokens.shape == self.trajectory.shape or (
            self.trajectory.size and int(self.trajectory.max()) >= self.order.size
        ):
            message = (
                f"turns: expected three columns of one length and an order of every trajectory, got "
                f"{self.stratum.shape}, {self.tokens.shape}, {self.trajectory.shape} and {self.order.shape}"
            )
            raise BudgetError(message)


def fitted(
    values: ArrayLike, examples: ArrayLike, turns: Turns, budget: Budget, rng: np.random.Generator
) -> Plan:
    """Return a plan of exactly the budget's slots and steps that meets its `tokens` and `effective_sample_size`.

    Where a rule's effective sample size of trajectories is above the target, trajectories are left out in the
    registered order, from every stratum alike, until it is as near as it comes; then slots exchange examples until
    the tokens are as near as they come. `weight_mass` and `displacement` do not bear on which examples are chosen:
    see `Plan.scaled_to` and `Plan.stop`.

    Args:
        values: (T,) credit of every turn of the batch; read at the examples only.
        examples: ascending turns that have credit, zero credit included.
        turns: of the batch.
        budget: slots, steps, fills, targets.
        rng: the block's stream for the order of data, fresh; it is not advanced.

    Raises:
        EmptyBudget: when there are no examples.
        BudgetRefused: when a target cannot be met within its tolerance, with the number that was reached.
    """
    credit, ids = np.asarray(values, dtype=np.float64), np.asarray(examples)
    if "effective_sample_size" in budget.targets and ids.size:
        return _thinned(credit, ids, turns, budget, rng)
    return _counted(credit, ids, turns, budget, rng)


def _counted(
    credit: FloatArray, ids: IntArray, turns: Turns, budget: Budget, rng: np.random.Generator
) -> Plan:
    plan = matched(credit, ids, turns.stratum, budget, deepcopy(rng))
    if "tokens" not in budget.targets:
        return plan
    pool = Pool(
        ids,
        strata_of(turns.stratum, ids, credit.size),
        turns.tokens[ids],
        deepcopy(rng).random(credit.size)[ids],
    )
    target = budget.targets["tokens"]
    plan = match_tokens(plan, pool, credit, target)
    reached = int(turns.tokens[plan.example].sum())
    if not budget.holds("tokens", reached):
        message = (
            f"tokens: expected {target:g} in {plan.slots} slots within {budget.tolerances['tokens']:g}, reached "
            f"{reached} ({plan.fill}, {ids.size} examples of {pool.tokens.min()} to {pool.tokens.max()} tokens); "
            "register another target, or a wider budget.tolerances.tokens"
        )
        raise BudgetRefused(message)
    return plan


def _thinned(
    credit: FloatArray, ids: IntArray, turns: Turns, budget: Budget, rng: np.random.Generator
) -> Plan:
    """Search the number of trajectories at which the effective sample size comes nearest to its target."""
    target = budget.targets["effective_sample_size"]
    order = _order(ids, turns)
    rank = np.empty(turns.order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    place = rank[turns.trajectory[ids]]
    tried: dict[int, tuple[Plan, float]] = {}

    def size_of(kept: int) -> float:
        """Effective sample size with this many trajectories; 0 where they leave too little for a plan."""
        if kept not in tried:
            try:
                plan = _counted(credit, ids[place < kept], turns, budget, rng)
            except BudgetRefused:
                return 0.0
            tried[kept] = plan, kish(np.bincount(turns.trajectory[plan.example], np.abs(plan.weight)))
        return tried[kept][1]

    whole = _counted(credit, ids, turns, budget, rng)
    tried[order.size] = whole, kish(np.bincount(turns.trajectory[whole.example], np.abs(whole.weight)))
    if budget.holds("effective_sample_size", size_of(order.size)):
        return whole
    low, high = 1, order.size
    while low < high and size_of(order.size) > target:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if size_of(middle) < target else (low, middle)
    for kept in range(max(1, low - _AROUND), min(order.size, low + _AROUND) + 1):
        size_of(kept)
    kept = min(tried, key=lambda count: (abs(tried[count][1] - target), -count))
    plan, reached = tried[kept]
    if not budget.holds("effective_sample_size", reached):
        message = (
            f"effective_sample_size: expected {target:g} trajectories within "
            f"{budget.tolerances['effective_sample_size']:g}, reached {reached:.4g} with {kept} of "
            f"{order.size} trajectories that have credit (all of them: {size_of(order.size):.4g}); "
            "register another target, or a wider budget.tolerances.effective_sample_size"
        )
        raise BudgetRefused(message)
    return plan


def _order(ids: IntArray, turns: Turns) -> IntArray:
    """Trajectories with examples: first one of each stratum, then a second of each, ..., in the registered order."""
    present, first = np.unique(turns.trajectory[ids], return_index=True)
    stratum, key = turns.stratum[ids[first]], turns.order[present]
    grouped = np.lexsort((key, stratum))
    sizes = np.unique(stratum, return_counts=True)[1]
    within = np.empty(present.size, dtype=np.int64)
    within[grouped] = np.arange(present.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return present[np.lexsort((key, within))]
