"""When a run stops because it has moved far enough from where it started."""

import math
from dataclasses import dataclass

from equipoise_budget.errors import BudgetError

__all__ = ["Stop"]


@dataclass(frozen=True)
class Stop:
    """Stop training at a divergence from the start.

    Attributes:
        divergence: mean KL from the starting policy, in nats, at which the run is to end.
        tolerance: relative difference to it that is still held.
    """

    divergence: float
    tolerance: float

    def __post_init__(self) -> None:
        if not 0 < self.divergence < math.inf or not 0 <= self.tolerance < 1:
            message = (
                "displacement: expected a finite divergence above 0 and a tolerance in [0, 1), "
                f"got {self.divergence} and {self.tolerance}"
            )
            raise BudgetError(message)

    def arrived(self, divergence: float | None) -> bool:
        """Whether a run that has moved this far after a whole step ends there.

        It ends at the first step inside the window or beyond it: a step is not taken back, so one that jumps over
        the window ends the run too, and `held` then says that the target was missed.

        Args:
            divergence: measured after the step; None where there is none to measure (the run diverged), which
                never ends a run by this rule.
        """
        return divergence is not None and divergence >= (1 - self.tolerance) * self.divergence

    def held(self, divergence: float | None) -> bool:
        """Whether a run that ended at this divergence received its target, within the tolerance."""
        return (
            divergence is not None and abs(divergence - self.divergence) <= self.tolerance * self.divergence
        )
