"""Several rounds of collection and training as one: their plans and doses added up, levels kept apart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from equipoise_budget.dose import PlannedDose, planned_dose
from equipoise_budget.errors import BudgetError
from equipoise_budget.plan import FloatArray, IntArray, Plan

__all__ = ["Joined", "Levels", "share_of"]


def share_of(total: int, rounds: int) -> int:
    """Return what each round gets of a total.

    Raises:
        BudgetError: when the total cannot be shared out exactly.
    """
    if rounds < 1 or total % rounds:
        message = f"expected a total that {rounds} rounds share exactly, got {total}"
        raise BudgetError(message)
    return total // rounds


@dataclass(frozen=True, eq=False)
class Levels:
    """What the turns of a batch belong to; of several batches, with turns and trajectories numbered on.

    Attributes:
        tokens: (T,) tokens in the loss of each turn.
        trajectory: (T,) trajectory of each turn.
        task: (T,) task of each turn; a task is the same one in every round.
    """

    tokens: IntArray
    trajectory: IntArray
    task: IntArray

    @classmethod
    def joined(cls, parts: Sequence["Levels"]) -> Self:
        """Put batches one after the other."""
        ends = np.cumsum([0, *(int(part.trajectory.max(initial=-1)) + 1 for part in parts)])
        trajectory = [part.trajectory + ahead for part, ahead in zip(parts, ends.tolist(), strict=False)]
        return cls(
            np.concatenate([part.tokens for part in parts]),
            np.concatenate(trajectory),
            np.concatenate([part.task for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Joined:
    """The plans of several rounds as one sequence of slots, for their dose only.

    An example of one round is none of another, even where the same task was played alike: it was collected, and given
    credit, by another policy.

    Attributes:
        plans: of the rounds that have one, in order.
        levels: of each of their batches.
    """

    plans: Sequence[Plan]
    levels: Sequence[Levels]

    @property
    def example(self) -> IntArray:
        """(S,) turns, numbered through all batches."""
        shifted = [plan.example + ahead for plan, ahead in zip(self.plans, self.ahead, strict=True)]
        return np.concatenate(shifted)

    @cached_property
    def ahead(self) -> list[int]:
        """How many turns the batches before each one have."""
        sizes = [level.tokens.size for level in self.levels[:-1]]
        return [0, *np.cumsum(sizes, dtype=np.int64).tolist()]

    @property
    def weight(self) -> FloatArray:
        """(S,) signed credit."""
        return np.concatenate([plan.weight for plan in self.plans])

    @property
    def token_weight(self) -> FloatArray:
        """(tokens,) signed credit of each token; empty where no round has any of its own."""
        if not any(plan.token_weight.size for plan in self.plans):
            return np.zeros(0)
        parts = [
            plan.token_weight
            if plan.token_weight.size
            else np.repeat(plan.weight, level.tokens[plan.example])
            for plan, level in zip(self.plans, self.levels, strict=True)
        ]
        return np.concatenate(parts)

    @property
    def padding(self) -> NDArray[np.bool_]:
        """(S,) whether a slot shows no example."""
        return np.concatenate([plan.padding for plan in self.plans])

    @property
    def token_padding(self) -> NDArray[np.bool_]:
        """(tokens,) whether a token's slot shows no example; empty where `token_weight` is."""
        if not any(plan.token_weight.size for plan in self.plans):
            return np.zeros(0, dtype=np.bool_)
        parts = [
            plan.token_padding
            if plan.token_weight.size
            else np.repeat(plan.padding, level.tokens[plan.example])
            for plan, level in zip(self.plans, self.levels, strict=True)
        ]
        return np.concatenate(parts)

    @property
    def steps(self) -> int:
        """Optimizer steps of all rounds."""
        return sum(plan.steps for plan in self.plans)

    @property
    def mass(self) -> float:
        """Weight masses of the rounds, added up."""
        return math.fsum(plan.mass for plan in self.plans)

    @property
    def fill(self) -> str:
        """How the slots were filled, each way once, in the order of the rounds."""
        return ", ".join(dict.fromkeys(plan.fill for plan in self.plans))

    def dose(self) -> PlannedDose:
        """What the optimizer is to receive in all rounds."""
        together = Levels.joined(self.levels)
        return planned_dose(self, together.tokens, together.trajectory, together.task)
