"""What a rule gives back: a signed advantage for every turn, or the reason why there is none."""

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from os import PathLike
from typing import Self

import numpy as np

from equipoise_conditions.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    column_digest,
    floats,
    integers,
    raise_faults,
    read_columns,
    write_columns,
)
from equipoise_conditions.trajectories import Trajectories

__all__ = ["Credit", "Reason", "credit_where", "on_collected"]


class Reason(IntEnum):
    """Why a turn has credit or has none."""

    DEFINED = 0
    DROPPED = 1
    """The rule leaves it out of training."""
    COPY = 2
    """Copied from the parent of a fork: its own trajectory trains it."""
    NOT_SELECTED = 3
    """Outside the registered allowance of replays."""
    NO_ALTERNATIVE = 4
    """Fewer distinct alternatives than asked for."""
    NOT_MEASURED = 5
    """What the rule needs was not measured here."""
    NO_GROUP = 6
    """No sibling to compare with."""


@dataclass(frozen=True, eq=False)
class Credit:
    """Credit of the T turns of a batch. Undefined is NaN with a reason, never zero.

    Zero credit on a defined turn stays an example: dropping a turn and zeroing it are different doses.

    Attributes:
        value: (T,) signed advantage, NaN exactly where not defined.
        reason: (T,) codes of `Reason`.
    """

    value: FloatArray
    reason: IntArray

    def __post_init__(self) -> None:
        faults: list[str] = []
        object.__setattr__(self, "value", floats("value", self.value, faults))
        object.__setattr__(self, "reason", integers("reason", self.reason, faults))
        if not faults and self.value.shape != self.reason.shape:
            faults.append(f"expected one reason a value, got {self.value.size} and {self.reason.size}")
        raise_faults("credit", faults or self._faults())

    def _faults(self) -> list[str]:
        unknown = (self.reason < 0) | (self.reason > max(Reason))
        unusable = self.defined & ~np.isfinite(self.value)
        filled = ~self.defined & ~np.isnan(self.value)
        return [
            f"turn {int(np.argmax(bad))}: {expected}, got {got[bad][0]} ({int(bad.sum())} in all)"
            for bad, got, expected in (
                (unknown, self.reason, f"expected a reason from 0 to {max(Reason)}"),
                (unusable, self.value, "a defined credit must be finite"),
                (filled, self.value, "an undefined credit must be NaN"),
            )
            if bad.any()
        ]

    @cached_property
    def defined(self) -> BoolArray:
        """(T,) whether a turn has credit."""
        return np.equal(self.reason, int(Reason.DEFINED))

    @cached_property
    def examples(self) -> IntArray:
        """Indices of the turns that have credit: the rows that the rule leaves for training."""
        return np.flatnonzero(self.defined).astype(np.int64)

    def counts_by_reason(self) -> dict[str, int]:
        """Return how many turns carry each reason, by the reason's name, leaving out those without any."""
        counts = np.bincount(self.reason, minlength=len(Reason))
        return {reason.name: int(counts[reason]) for reason in Reason if counts[reason]}

    def digest(self) -> str:
        """Return the SHA-256 of values and reasons."""
        return column_digest({"value": self.value, "reason": self.reason})

    def save(self, path: str | PathLike[str]) -> None:
        """Write the credit to `path` as .npz."""
        write_columns(path, {"value": self.value, "reason": self.reason})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read credit written by `save`; RuleError when it is not one."""
        return cls(**read_columns(path, ("value", "reason")))  # type: ignore[arg-type]


def credit_where(value: FloatArray, reason: IntArray) -> Credit:
    """Return `value` where `reason` is DEFINED and NaN elsewhere."""
    kept = np.where(reason == Reason.DEFINED, value, np.nan)
    kept.setflags(write=False)  # nobody else holds it, so Credit need not copy it
    return Credit(kept, reason)


def on_collected(trajectories: Trajectories) -> IntArray:
    """Return (T,) reasons for a rule that uses no forks: DEFINED on collected trajectories only."""
    reason = np.zeros(trajectories.n_turns, dtype=np.int64)
    if not bool(trajectories.collected.all()):
        reason[~trajectories.collected[trajectories.trajectory_of_turn]] = Reason.DROPPED
        reason[~trajectories.own] = Reason.COPY
    reason.setflags(write=False)
    return reason
