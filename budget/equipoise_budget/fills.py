"""Ways to turn the examples that a rule leaves into slots: all of them once, or exactly the budget."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from equipoise_budget.budget import Budget
from equipoise_budget.errors import BudgetError, BudgetRefused, EmptyBudget
from equipoise_budget.plan import FloatArray, IntArray, Plan, counted_up

__all__ = ["matched", "native", "quotas", "strata_of"]

# Every draw is made for all T turns, in the order of their ids, and only then read at the examples. So the
# order is a function of (stream, example ids): two rules that leave the same examples get the same slots,
# and rules that share some examples share their keys (common random numbers). Pass a fresh generator of
# the same seed for every rule of a block.


def native(values: ArrayLike, examples: ArrayLike, batch: int, rng: np.random.Generator) -> Plan:
    """Return a plan that shows every example once, shuffled; its last step may be ragged.

    Args:
        values: (T,) credit of every turn of the batch; read at the examples only.
        examples: ascending turns that have credit, zero credit included.
        batch: rows of a step.
        rng: the block's stream for the order of data, fresh.

    Raises:
        EmptyBudget: when there are no examples.
    """
    credit, ids = _checked(values, examples)
    key = rng.random(credit.size)
    return _plan(ids[np.argsort(key[ids], kind="stable")], credit, batch, "native")


def matched(
    values: ArrayLike,
    examples: ArrayLike,
    strata: ArrayLike,
    budget: Budget,
    rng: np.random.Generator,
) -> Plan:
    """Return a plan of exactly `budget.examples` slots in exactly `budget.optimizer_steps` steps.

    Slots are shared out over strata in proportion to their examples (largest remainder), except by
    "keep_largest", which keeps the largest credit wherever it is. As many examples as slots are each shown
    once, whatever the fill. "pad" shows every example once and spreads slots of weight 0 evenly between them.

    Args:
        values: (T,) credit of every turn of the batch; read at the examples only.
        examples: ascending turns that have credit, zero credit included.
        strata: (T,) stratum of every turn, or one for each example: its task.
        budget: slots, steps and how to reach them.
        rng: the block's stream for the order of data, fresh.

    Raises:
        EmptyBudget: when there are no examples.
        BudgetRefused: when there are too few for the fill.
    """
    credit, ids = _checked(values, examples)
    stratum = strata_of(strata, ids, credit.size)
    if ids.size == budget.examples:
        key = rng.random(credit.size)
        return _plan(ids[np.argsort(key[ids], kind="stable")], credit, budget.batch, "exact")
    fill = budget.under if ids.size < budget.examples else budget.over
    if fill == "pad":
        return _padded(ids, credit, budget, rng)
    if ids.size < budget.examples:
        _expect_enough(ids.size, budget)
    if fill == "resample":
        example = _resampled(ids, stratum, budget.examples, credit.size, rng)
    elif fill == "cycle":
        example = _cycled(ids, stratum, budget.examples, credit.size, rng)
    else:
        key = rng.random(credit.size)[ids]
        rank = np.lexsort((key, -np.abs(credit[ids])))[: budget.examples]
        kept = rank if fill == "keep_largest" else _smallest(key, stratum, budget.examples)
        example = ids[kept[np.argsort(key[kept], kind="stable")]]
    return _plan(example, credit, budget.batch, fill)


def quotas(sizes: IntArray, slots: int, tie: FloatArray) -> IntArray:
    """Return whole shares of `slots` in proportion to `sizes`, by the largest remainder.

    Args:
        sizes: (G,) examples of each stratum, at least 1 each.
        slots: what to share out.
        tie: (G,) equal remainders are served in ascending order of this.
    """
    share = sizes * slots // int(sizes.sum())
    remainder = sizes * slots % int(sizes.sum())
    served = np.lexsort((tie, -remainder))[: slots - int(share.sum())]
    share[served] += 1
    return share


@dataclass(frozen=True, eq=False)
class _Strata:
    code: IntArray
    sizes: IntArray

    def quotas(self, slots: int, key: FloatArray) -> IntArray:
        first = np.full(self.sizes.size, np.inf)
        np.minimum.at(first, self.code, key)
        return quotas(self.sizes, slots, first)

    def first(self, key: FloatArray, quota: IntArray) -> IntArray:
        """Return positions of the `quota` smallest keys of each stratum."""
        order = np.lexsort((key, self.code))
        sizes = np.bincount(self.code, minlength=self.sizes.size)
        starts = np.cumsum(sizes) - sizes
        rank = np.arange(order.size) - np.repeat(starts, sizes)
        return order[rank < np.repeat(quota, sizes)]


def _smallest(key: FloatArray, stratum: IntArray, slots: int) -> IntArray:
    strata = _Strata(stratum, np.bincount(stratum))
    return strata.first(key, strata.quotas(slots, key))


def _expect_enough(examples: int, budget: Budget) -> None:
    """Refuse fewer examples than slots where the fill cannot make up for them."""
    if budget.under == "refill":
        message = f"refill: expected at least {budget.examples} examples, got {examples}; collect more"
        raise BudgetRefused(message)
    most = budget.max_repetition
    if most is not None and budget.examples > examples * most:
        message = (
            f"{budget.under}: expected at least {-(-budget.examples // most)} examples for {budget.examples} slots "
            f"(max_repetition {most}), got {examples}"
        )
        raise BudgetRefused(message)


def _padded(ids: IntArray, credit: FloatArray, budget: Budget, rng: np.random.Generator) -> Plan:
    # Example i stands in slot floor(i N / n): every step shows floor or ceil of its share. The rows between
    # them are the same examples in turn, which are legal rows, with weight 0.
    shuffled = ids[np.argsort(rng.random(credit.size)[ids], kind="stable")]
    padding = np.ones(budget.examples, dtype=np.bool_)
    padding[np.arange(ids.size) * budget.examples // ids.size] = False
    example = np.empty(budget.examples, dtype=np.int64)
    example[~padding] = shuffled
    example[padding] = np.resize(shuffled, int(padding.sum()))
    return Plan(
        example=example,
        presentation=counted_up(example, padding),
        weight=np.where(padding, 0.0, credit[example]),
        step=np.arange(example.size) // budget.batch,
        batch=budget.batch,
        fill="pad",
    )


def _cycled(ids: IntArray, stratum: IntArray, slots: int, turns: int, rng: np.random.Generator) -> IntArray:
    # Every pass over the examples has its own order; the last, partial one is stratified.
    whole, rest = divmod(slots, ids.size)
    passes = [ids[np.argsort(rng.random(turns)[ids], kind="stable")] for _ in range(whole)]
    if rest:
        key = rng.random(turns)[ids]
        kept = _smallest(key, stratum, rest)
        passes.append(ids[kept[np.argsort(key[kept], kind="stable")]])
    return np.concatenate(passes)


def _resampled(
    ids: IntArray, stratum: IntArray, slots: int, turns: int, rng: np.random.Generator
) -> IntArray:
    # Each turn rings at the times of its own Poisson process of rate 1. The first q rings in a stratum are
    # q uniform draws with replacement, and a turn rings at the same times whichever rule it is drawn for.
    strata = _Strata(stratum, np.bincount(stratum))
    rings: list[FloatArray] = []
    latest = np.zeros(ids.size)
    quota: IntArray | None = None
    while True:
        latest = latest - np.log1p(-rng.random(turns)[ids])
        rings.append(latest)
        if quota is None:
            quota = strata.quotas(slots, latest)
        if len(rings) * ids.size < slots:
            continue
        times = np.concatenate(rings)
        repeated = _Strata(np.tile(stratum, len(rings)), strata.sizes)
        drawn = repeated.first(times, quota)
        last = np.full(quota.size, np.inf)
        enough = np.bincount(repeated.code[drawn], minlength=quota.size) == quota
        if enough.all():
            last[:] = -np.inf
            np.maximum.at(last, repeated.code[drawn], times[drawn])
        # A stratum is settled once every turn of it has rung past the last ring that was drawn.
        if (latest >= last[stratum]).all():
            return ids[drawn[np.argsort(times[drawn], kind="stable")] % ids.size]


def _checked(values: ArrayLike, examples: ArrayLike) -> tuple[FloatArray, IntArray]:
    credit, ids = np.asarray(values, dtype=np.float64), np.asarray(examples)
    if ids.size == 0:
        message = "there is no example to fill a slot with; the rule left none"
        raise EmptyBudget(message)
    faults = []
    if credit.ndim != 1 or ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer):
        faults.append(f"expected flat columns, turns whole, got {credit.shape} and {ids.dtype}{ids.shape}")
    elif int(ids.min()) < 0 or int(ids.max()) >= credit.size or (np.diff(ids) <= 0).any():
        faults.append(f"expected ascending turns below {credit.size}, got {ids.min()}..{ids.max()}")
    elif not np.isfinite(credit[ids]).all():
        faults.append(f"turn {int(ids[np.argmin(np.isfinite(credit[ids]))])}: expected finite credit")
    if faults:
        message = f"examples: {faults[0]}"
        raise BudgetError(message)
    return credit, ids.astype(np.int64)


def strata_of(strata: ArrayLike, ids: IntArray, turns: int) -> IntArray:
    """Return the strata of the examples as codes 0, 1, ..., given one a turn or one an example."""
    stratum = np.asarray(strata)
    if stratum.shape == (turns,):
        stratum = stratum[ids]
    elif stratum.shape != ids.shape:
        message = (
            f"strata: expected one for each of {turns} turns or {ids.size} examples, got {stratum.shape}"
        )
        raise BudgetError(message)
    return np.unique(stratum, return_inverse=True)[1].astype(np.int64)


def _plan(example: IntArray, credit: FloatArray, batch: int, fill: str) -> Plan:
    if batch < 1:
        message = f"batch: expected at least one row a step, got {batch}"
        raise BudgetError(message)
    step = np.arange(example.size) // batch
    return Plan(example, counted_up(example), credit[example], step, batch, fill)
