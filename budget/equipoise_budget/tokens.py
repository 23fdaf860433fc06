"""Plans whose tokens add up: as few slots as possible change their example, inside their stratum."""

from dataclasses import dataclass, replace

import numpy as np

from equipoise_budget.plan import FloatArray, IntArray, Plan, counted_up

__all__ = ["Pool", "match_tokens"]


@dataclass(frozen=True, eq=False)
class Pool:
    """The n examples that slots may show.

    Attributes:
        ids: (n,) turns, ascending.
        stratum: (n,) code of each; slots keep their stratum.
        tokens: (n,) tokens in the loss of each.
        key: (n,) of equal examples, those of small keys come in first, and those of large keys leave first.
    """

    ids: IntArray
    stratum: IntArray
    tokens: IntArray
    key: FloatArray


def match_tokens(plan: Plan, pool: Pool, credit: FloatArray, target: float) -> Plan:
    """Return a plan of the same slots whose number of tokens is as near to the target as exchanges bring it.

    Each exchange puts another example of the same stratum into one slot and is the one that leaves the smallest
    difference; it ends when none makes it smaller. The fill keeps its promise: `thin` shows nothing twice, `cycle`
    repeats all examples to within one showing, `resample` draws from the pool. The other fills leave no choice,
    and their plan comes back as it is.

    Args:
        plan: whose slots have one weight each.
        pool: its examples, and those that could be.
        credit: (T,) credit of every turn of the batch.
        target: tokens in the loss.
    """
    bounds = _bounds(plan, pool.ids.size)
    if bounds is None:
        return plan
    shown = np.bincount(np.searchsorted(pool.ids, plan.example), minlength=pool.ids.size)
    example = plan.example.copy()
    gap = target - float(pool.tokens[np.searchsorted(pool.ids, example)].sum())
    classes = _Classes.of(pool)
    while (pair := classes.best(shown, bounds, gap)) is not None:
        out, into = _members(pool, classes, shown, bounds, pair)
        slot = int(np.flatnonzero(example == pool.ids[out])[-1])
        example[slot] = pool.ids[into]
        shown[out] -= 1
        shown[into] += 1
        gap -= float(pool.tokens[into] - pool.tokens[out])
    return replace(plan, example=example, presentation=counted_up(example), weight=credit[example])


def _bounds(plan: Plan, examples: int) -> tuple[int, int] | None:
    """Fewest and most showings of an example that the fill allows; None where it leaves no choice."""
    match plan.fill:
        case "thin":
            return 0, 1
        case "cycle":
            return plan.slots // examples, -(-plan.slots // examples)
        case "resample":
            return 0, plan.slots
        case _:
            return None


@dataclass(frozen=True, eq=False)
class _Classes:
    """Examples of one stratum and one length are alike: exchanges are between classes, C of them."""

    of_example: IntArray
    out: IntArray
    into: IntArray
    gain: IntArray

    @classmethod
    def of(cls, pool: Pool) -> "_Classes":
        kinds, code = np.unique(np.stack((pool.stratum, pool.tokens)), axis=1, return_inverse=True)
        pairs = [
            np.stack(np.meshgrid(here, here, indexing="ij")).reshape(2, -1)
            for here in (np.flatnonzero(kinds[0] == stratum) for stratum in np.unique(kinds[0]))
        ]
        out, into = np.concatenate(pairs, axis=1)
        return cls(code.reshape(-1).astype(np.int64), out, into, kinds[1][into] - kinds[1][out])

    def best(self, shown: IntArray, bounds: tuple[int, int], gap: float) -> tuple[int, int] | None:
        """The pair of classes whose exchange leaves the smallest gap; None if none makes it smaller."""
        size = int(self.of_example.max()) + 1
        can_leave = np.bincount(self.of_example[shown > bounds[0]], minlength=size) > 0
        can_come = np.bincount(self.of_example[shown < bounds[1]], minlength=size) > 0
        left = np.where(can_leave[self.out] & can_come[self.into], np.abs(gap - self.gain), np.inf)
        at = int(np.argmin(left))
        return (int(self.out[at]), int(self.into[at])) if left[at] < abs(gap) else None


def _members(
    pool: Pool, classes: _Classes, shown: IntArray, bounds: tuple[int, int], pair: tuple[int, int]
) -> tuple[int, int]:
    """The example of the first class that is shown most, and that of the second that is shown least."""
    leaving = np.flatnonzero((classes.of_example == pair[0]) & (shown > bounds[0]))
    coming = np.flatnonzero((classes.of_example == pair[1]) & (shown < bounds[1]))
    out = leaving[np.lexsort((-pool.key[leaving], -shown[leaving]))[0]]
    into = coming[np.lexsort((pool.key[coming], shown[coming]))[0]]
    return int(out), int(into)
