"""The common budget of matched and twin cells: slots, steps, and what else is to be equal."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from equipoise_budget.errors import BudgetError
from equipoise_budget.stopping import Stop

__all__ = ["AXES", "OVER", "TOLERANCES", "UNDER", "Budget"]

UNDER = ("resample", "cycle", "pad", "refill")
"""Ways to fill the slots of a rule that leaves too few examples."""

OVER = ("thin", "keep_largest")
"""Ways to choose among the examples of a rule that leaves too many."""

TOLERANCES: Mapping[str, float] = MappingProxyType(
    {"tokens": 0.02, "weight_mass": 1e-9, "effective_sample_size": 0.05, "displacement": 0.1}
)
"""Optional axes, and how far what is reached may lie from the target unless a tolerance is registered."""

AXES = tuple(TOLERANCES)


@dataclass(frozen=True)
class Budget:
    """Slots and optimizer steps that every matched and twin cell receives, exactly, and further axes.

    Attributes:
        examples: slots in all.
        optimizer_steps: steps in all; examples / optimizer_steps rows each, which must be whole.
        under: what to do with fewer examples than slots, one of `UNDER`.
        over: what to do with more examples than slots, one of `OVER`.
        max_repetition: slots an example may fill on average before the budget is refused; None for any.
            Padding repeats nothing, so it is not bound by this.
        targets: axis -> what every cell is to reach; an axis without a target is not matched. `tokens`: tokens
            in the loss. `weight_mass`: sum of |w| over slots. `effective_sample_size`: Kish's, of trajectories.
            `displacement`: divergence from the start in nats at which training stops.
        tolerances: axis -> relative difference to the target that is still held; `TOLERANCES` otherwise.
    """

    examples: int
    optimizer_steps: int
    under: str = "resample"
    over: str = "thin"
    max_repetition: int | None = None
    targets: Mapping[str, float] = field(default_factory=dict)
    tolerances: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        faults = [
            f"{name}: expected one of {', '.join(words)}, got '{value}'"
            for name, value, words in (("under", self.under, UNDER), ("over", self.over, OVER))
            if value not in words
        ]
        faults += self._size_faults() + self._axis_faults()
        if faults:
            message = "budget: " + "; ".join(faults)
            raise BudgetError(message)
        object.__setattr__(self, "targets", MappingProxyType(dict(self.targets)))
        object.__setattr__(self, "tolerances", MappingProxyType({**TOLERANCES, **self.tolerances}))

    def _size_faults(self) -> list[str]:
        if self.examples < 1 or self.optimizer_steps < 1:
            return [
                f"expected at least one slot and one step, got {self.examples} and {self.optimizer_steps}"
            ]
        if self.max_repetition is not None and self.max_repetition < 1:
            return [f"max_repetition: expected at least 1, got {self.max_repetition}"]
        if self.examples % self.optimizer_steps == 0:
            return []
        below = self.examples - self.examples % self.optimizer_steps
        near = [n for n in (below, below + self.optimizer_steps) if n]
        message = (
            f"{self.examples} examples in {self.optimizer_steps} steps leave no whole batch; "
            f"take {' or '.join(map(str, near))} examples"
        )
        return [message]

    def _axis_faults(self) -> list[str]:
        faults = [
            f"{where}.{name}: expected one of {', '.join(AXES)}"
            for where, given in (("targets", self.targets), ("tolerances", self.tolerances))
            for name in given
            if name not in AXES
        ]
        faults += [
            f"targets.{name}: expected a finite number above 0, got {value}"
            for name, value in self.targets.items()
            if not 0 < value < math.inf
        ]
        faults += [
            f"tolerances.{name}: expected at least 0 and below 1, got {value}"
            for name, value in self.tolerances.items()
            if not 0 <= value < 1
        ]
        return faults

    @property
    def batch(self) -> int:
        """Rows of each optimizer step."""
        return self.examples // self.optimizer_steps

    @property
    def stop(self) -> Stop | None:
        """When a run ends before its last slot; None where displacement is not matched."""
        if "displacement" not in self.targets:
            return None
        return Stop(self.targets["displacement"], self.tolerances["displacement"])

    def holds(self, axis: str, reached: float) -> bool:
        """Whether what was reached lies within the tolerance of the axis's target; True without a target."""
        if axis not in self.targets:
            return True
        target = self.targets[axis]
        return abs(reached - target) <= self.tolerances[axis] * target
