"""What a rule gives back: a signed advantage for every unit of its granularity, or the reason for none."""

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from os import PathLike
from typing import Self

import numpy as np

from equipoise_conditions.arrays import (
    BoolArray,
    Column,
    FloatArray,
    IntArray,
    booleans,
    column_digest,
    floats,
    integers,
    raise_faults,
    read_columns,
    write_columns,
)
from equipoise_conditions.trajectories import Trajectories

__all__ = [
    "GRANULARITIES",
    "Credit",
    "Reason",
    "credit_of_all",
    "credit_where",
    "on_collected",
    "on_episodes",
    "on_tokens",
]

GRANULARITIES = ("token", "segment", "turn", "agent", "episode")


class Reason(IntEnum):
    """Why a unit has credit or has none."""

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
    UNPARSABLE = 7
    """A judge answered, but no verdict could be read from it."""
    NOT_RESTORED = 8
    """The state could not be restored to what it was."""
    NO_GOLD = 9
    """The task has no known answer to score."""
    MASKED = 10
    """Not the policy's own token: outside the loss."""


_LAST_REASON = int(max(Reason))


@dataclass(frozen=True, eq=False)
class Credit:
    """Credit of the U units of a batch. Undefined is NaN with a reason, never zero.

    Zero credit on a defined unit stays an example: dropping a unit and zeroing it are different doses.
    Units are tokens (U = K), turns (T), episodes (N), agents (the pairs of `Trajectories.agent_units`) or
    segments, which are spans of tokens.

    Attributes:
        value: (U,) signed advantage, NaN exactly where not defined.
        reason: (U,) codes of `Reason`.
        granularity: what a unit is, one of `GRANULARITIES`.
        offsets: (U+1,) tokens `offsets[s]:offsets[s+1]` are segment s; only for segments, else empty.
        loss_mask: (K,) False for tokens that the rule takes out of the loss though their unit may have
            credit; empty where the rule takes none out.
    """

    value: FloatArray
    reason: IntArray
    granularity: str = "turn"
    offsets: IntArray = None  # type: ignore[assignment] # empty by default
    loss_mask: BoolArray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        faults: list[str] = []
        object.__setattr__(self, "value", floats("value", self.value, faults))
        object.__setattr__(self, "reason", integers("reason", self.reason, faults))
        offsets = np.empty(0, dtype=np.int64) if self.offsets is None else self.offsets
        object.__setattr__(self, "offsets", integers("offsets", offsets, faults))
        mask = np.empty(0, dtype=np.bool_) if self.loss_mask is None else self.loss_mask
        object.__setattr__(self, "loss_mask", booleans("loss_mask", mask, faults))
        if not faults and self.value.shape != self.reason.shape:
            faults.append(f"expected one reason a value, got {self.value.size} and {self.reason.size}")
        raise_faults("credit", faults or self._kind_faults() or self._faults())

    def _kind_faults(self) -> list[str]:
        if self.granularity not in GRANULARITIES:
            return [f"granularity: expected one of {', '.join(GRANULARITIES)}, got '{self.granularity}'"]
        expected = self.value.size + 1 if self.granularity == "segment" else 0
        if self.offsets.size != expected:
            return [f"offsets: expected {expected} entries, got {self.offsets.size}"]
        if expected and (self.offsets[0] != 0 or (np.diff(self.offsets) <= 0).any()):
            return ["offsets: expected segments of at least one token each, from token 0 on"]
        return []

    def _sound(self) -> bool:
        """Whether one look at each column shows that all is defined and finite; a sum beyond range does not."""
        if self.reason.any():
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(self.value.sum()))

    def _faults(self) -> list[str]:
        if self._sound():
            return []
        unknown = (self.reason < 0) | (self.reason > _LAST_REASON)
        unusable = self.defined & ~np.isfinite(self.value)
        filled = ~self.defined & ~np.isnan(self.value)
        return [
            f"{self.granularity} {int(np.argmax(bad))}: {expected}, got {got[bad][0]} ({int(bad.sum())} in all)"
            for bad, got, expected in (
                (unknown, self.reason, f"expected a reason from 0 to {_LAST_REASON}"),
                (unusable, self.value, "a defined credit must be finite"),
                (filled, self.value, "an undefined credit must be NaN"),
            )
            if bad.any()
        ]

    @cached_property
    def defined(self) -> BoolArray:
        """(U,) whether a unit has credit."""
        return np.equal(self.reason, int(Reason.DEFINED))

    @cached_property
    def examples(self) -> IntArray:
        """Indices of the units that have credit: of turns, the rows that the rule leaves for training."""
        return np.flatnonzero(self.defined).astype(np.int64)

    @property
    def total(self) -> float:
        """Sum of the defined credits."""
        return float(self.value[self.defined].sum())

    @property
    def mass(self) -> float:
        """Sum of their absolute values."""
        return float(np.abs(self.value[self.defined]).sum())

    @property
    def sum_of_squares(self) -> float:
        """Sum of their squares."""
        return float(np.square(self.value[self.defined]).sum())

    @property
    def sparsity(self) -> float:
        """Share of all units without a credit other than 0: undefined, or zero."""
        return 1.0 - float((self.value[self.defined] != 0).sum()) / max(1, self.value.size)

    @property
    def effective_sample_size(self) -> float:
        """Kish's (sum |w|)^2 / sum w^2 over the defined units; 0 without weight (Kish 1965)."""
        magnitude = np.abs(self.value[self.defined])
        largest = float(magnitude.max(initial=0.0))
        if largest == 0.0:
            return 0.0
        scaled = magnitude / largest  # so that tiny weights do not vanish when squared
        return float(scaled.sum() ** 2 / np.square(scaled).sum())

    def counts_by_reason(self) -> dict[str, int]:
        """Return how many units carry each reason, by the reason's name, leaving out those without any."""
        counts = np.bincount(self.reason, minlength=len(Reason))
        return {reason.name: int(counts[reason]) for reason in Reason if counts[reason]}

    @property
    def columns(self) -> dict[str, Column]:
        """Every column by its name; the granularity as its place in `GRANULARITIES`."""
        kind = np.array([GRANULARITIES.index(self.granularity)])
        names = ("value", "reason", "offsets", "loss_mask")
        return {name: getattr(self, name) for name in names} | {"granularity": kind}

    def digest(self) -> str:
        """Return the SHA-256 of all columns."""
        return column_digest(self.columns)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the credit to `path` as .npz."""
        write_columns(path, self.columns)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read credit written by `save`; RuleError when it is not one."""
        names = ("value", "reason", "granularity", "offsets", "loss_mask")
        columns = read_columns(path, names)
        kind = GRANULARITIES[int(columns.pop("granularity")[0])]
        return cls(**columns, granularity=kind)  # type: ignore[arg-type]


def credit_of_all(value: FloatArray, granularity: str = "token") -> Credit:
    """Return credit that is defined everywhere; `value` is handed over and becomes read-only."""
    value.setflags(write=False)
    reason = np.zeros(value.size, dtype=np.int64)
    reason.setflags(write=False)
    return Credit(value, reason, granularity)


def credit_where(
    value: FloatArray,
    reason: IntArray,
    granularity: str = "turn",
    *,
    offsets: IntArray | None = None,
    loss_mask: BoolArray | None = None,
) -> Credit:
    """Return `value` where `reason` is DEFINED and NaN elsewhere."""
    defined = np.equal(reason, int(Reason.DEFINED))
    whole = bool(defined.all()) and value.shape == defined.shape
    kept = np.array(value, dtype=np.float64) if whole else np.where(defined, value, np.nan)
    kept.setflags(write=False)  # nobody else holds it, so Credit need not copy it
    return Credit(kept, reason, granularity, offsets, loss_mask)  # type: ignore[arg-type]


def on_collected(trajectories: Trajectories) -> IntArray:
    """Return (T,) reasons for a rule that uses no forks: DEFINED on collected trajectories only."""
    reason = np.zeros(trajectories.n_turns, dtype=np.int64)
    if not bool(trajectories.collected.all()):
        reason[~trajectories.collected[trajectories.trajectory_of_turn]] = Reason.DROPPED
        reason[~trajectories.own] = Reason.COPY
    reason.setflags(write=False)
    return reason


def on_episodes(trajectories: Trajectories) -> IntArray:
    """Return (N,) reasons for an episode-level rule that uses no forks: forks are DROPPED."""
    reason: IntArray = np.where(trajectories.collected, int(Reason.DEFINED), int(Reason.DROPPED))
    reason.setflags(write=False)
    return reason


def on_tokens(trajectories: Trajectories) -> IntArray:
    """Return (K,) reasons for a token-level rule that uses no forks: also MASKED outside the loss."""
    if bool(trajectories.collected.all()):
        result: IntArray = np.where(trajectories.mask, int(Reason.DEFINED), int(Reason.MASKED))
        result.setflags(write=False)
        return result
    reason = on_collected(trajectories)[trajectories.turn_of_token]
    masked = (reason == Reason.DEFINED) & ~trajectories.mask
    result = np.where(masked, int(Reason.MASKED), reason)
    result.setflags(write=False)
    return result
