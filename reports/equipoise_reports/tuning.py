"""The search for hyper-parameters as the report sees it: what was granted, tried, counted and chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Dimension:
    """One axis of the space.

    Attributes:
        name: ``training.learning_rate``, or a parameter of rules.
        range: what it was searched over, in words.
        conditions: the conditions that have it.
    """

    name: str
    range: str
    conditions: tuple[str, ...]


@dataclass(frozen=True)
class Trial:
    """One point: its number, its values, and its success over the tuning blocks."""

    number: int
    values: Mapping[str, object]
    success: float
    diverged: int = 0


@dataclass(frozen=True)
class Search:
    """The search of one condition.

    Attributes:
        condition: its id.
        trials: all of them, by number.
        chosen: number of the one that its runs use.
        curve: success that n trials find, for n = 1 ... N.
        granted: optimizer steps granted to every condition.
        counted: optimizer steps in the ledgers of its trial runs.
        forgone: steps that runs which ended early, by diverging or at their registered displacement, left.
        breaches: where it did not get what was granted; empty when it did.
    """

    condition: str
    trials: tuple[Trial, ...]
    chosen: int
    curve: tuple[float, ...]
    granted: int
    counted: int
    forgone: int = 0
    breaches: tuple[str, ...] = ()

    @property
    def best(self) -> Trial:
        """The trial that was chosen."""
        return next(trial for trial in self.trials if trial.number == self.chosen)


@dataclass(frozen=True)
class Tuning:
    """The searches of a study.

    Attributes:
        sampler: where the points came from, in words.
        adaptive: whether later trials built on earlier ones.
        blocks: tuning blocks.
        space: the dimensions.
        searches: one a condition, in the suite's order.
    """

    sampler: str
    adaptive: bool
    blocks: int
    space: tuple[Dimension, ...]
    searches: tuple[Search, ...]
