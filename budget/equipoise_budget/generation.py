"""Budgets of generation: a rule that needs extra rollouts gets fewer prompts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from equipoise_budget.errors import BudgetError
from equipoise_budget.fills import quotas
from equipoise_budget.ledger import Cost
from equipoise_budget.plan import IntArray

__all__ = ["LIMITS", "Affordable", "affordable", "apportioned"]

LIMITS = ("rollout_tokens", "environment_steps", "judge_calls", "flops")
"""What a generation budget may limit: columns of `Cost`."""


@dataclass(frozen=True, eq=False)
class Affordable:
    """The prompts whose counted cost fits a generation budget.

    Attributes:
        prompts: those that fit, in the registered order.
        of: how many there are.
        limits: what the budget allows.
        used: what the affordable prompts cost, by limit.
        next: what they would cost with the next prompt in the order, by limit; `used` when all fit.
        whole: what all prompts cost, by limit.
        binding: the limit that the next prompt breaks, of several the one it breaks by the largest factor; None
            when all fit.
    """

    prompts: IntArray
    of: int
    limits: Mapping[str, float]
    used: Mapping[str, float]
    next: Mapping[str, float]
    whole: Mapping[str, float]
    binding: str | None

    def to_json(self) -> dict[str, object]:
        """Return plain JSON values."""
        return {
            "prompts": self.prompts.tolist(),
            "of": self.of,
            "binding": self.binding,
            "limits": dict(self.limits),
            "used": dict(self.used),
            "next": dict(self.next),
            "whole": dict(self.whole),
            "says": self.sentence,
        }

    @property
    def sentence(self) -> str:
        """What binds, with its numbers."""
        if self.binding is None:
            return f"all {self.of} prompts fit"
        name = self.binding
        return (
            f"{name}: the limit {self.limits[name]:g} allows {self.prompts.size} of {self.of} prompts "
            f"({self.used[name]:g} used); one more would cost {self.next[name]:g}, all cost {self.whole[name]:g}"
        )


def affordable(costs: Sequence[Cost], limits: Mapping[str, float], order: ArrayLike) -> Affordable:
    """Return the largest prefix of the prompts, in a given order, whose counted cost fits every limit.

    Args:
        costs: of each prompt, collection and measurement together.
        limits: name of `LIMITS` -> most that may be spent.
        order: a permutation of the prompts, drawn once a block for all conditions.

    Raises:
        BudgetError: when there are no prompts, a limit is unknown or negative, or the order is no permutation.
    """
    place = np.asarray(order)
    faults = [f"{name}: expected one of {', '.join(LIMITS)}" for name in limits if name not in LIMITS]
    faults += [
        f"{name}: expected at least 0, got {value}" for name, value in limits.items() if not value >= 0
    ]
    if not costs or not np.array_equal(np.sort(place), np.arange(len(costs))):
        faults.append(f"order: expected a permutation of {len(costs)} prompts, at least 1, got {place.size}")
    if faults:
        message = "generation: " + "; ".join(faults)
        raise BudgetError(message)
    summed = {name: np.cumsum([float(getattr(costs[p], name)) for p in place.tolist()]) for name in limits}
    fits = min((int((summed[name] <= limits[name]).sum()) for name in limits), default=len(costs))
    ahead = min(fits, len(costs) - 1)
    after = {name: float(column[ahead]) for name, column in summed.items()}
    broken = {name: after[name] / max(limits[name], 1e-300) for name in limits if after[name] > limits[name]}
    return Affordable(
        prompts=place[:fits].astype(np.int64),
        of=len(costs),
        limits=dict(limits),
        used={name: float(column[fits - 1]) if fits else 0.0 for name, column in summed.items()},
        next=after,
        whole={name: float(column[-1]) for name, column in summed.items()},
        binding=max(sorted(broken), key=broken.__getitem__) if broken else None,
    )


def apportioned(cost: Cost, sizes: ArrayLike) -> list[Cost]:
    """Share a cost out over prompts in proportion to their sizes; the shares add up to it.

    Counts are shared out whole, by the largest remainder; ties go to the first prompts. Seconds are not shared.

    Args:
        cost: counted for all prompts together.
        sizes: (P,) turns of each prompt, at least 1 in all.
    """
    size = np.asarray(sizes, dtype=np.int64)
    if size.ndim != 1 or (size < 0).any() or size.sum() < 1:
        message = f"sizes: expected a flat column of counts, at least 1 in all, got {size.tolist()}"
        raise BudgetError(message)
    tie = np.arange(size.size, dtype=np.float64)
    names = [name for name in vars(cost) if name not in ("seconds", "flops")]
    shares = {name: quotas(size, int(getattr(cost, name)), tie).tolist() for name in names}
    flops = (cost.flops * (size / size.sum())).tolist()
    return [
        replace(Cost(flops=flops[p]), **{name: column[p] for name, column in shares.items()})
        for p in range(size.size)
    ]
