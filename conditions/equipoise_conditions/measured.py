"""What is measured for a rule beyond the trajectories: frozen, checked, undefined where it is."""

from dataclasses import dataclass
from os import PathLike
from typing import Self

import numpy as np

from equipoise_conditions.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    booleans,
    floats,
    integers,
    raise_faults,
    read_columns,
    write_columns,
)
from equipoise_conditions.credit import Reason

__all__ = ["Boundary", "Coalitions", "Continuations", "Cuts", "Replays", "Verdicts"]


@dataclass(frozen=True, eq=False)
class Replays:
    """Executed replay of the turns of a batch: M rollouts of the action taken and of K alternatives.

    Attributes:
        reason: (T,) DEFINED where measured, else NOT_SELECTED, NO_ALTERNATIVE or COPY.
        factual: (T, M) outcomes of rolling the action taken on, NaN where not measured.
        alternative: (T, K, M) outcomes of rolling K distinct alternatives on, NaN where not measured.
    """

    reason: IntArray
    factual: FloatArray
    alternative: FloatArray

    def __post_init__(self) -> None:
        faults: list[str] = []
        object.__setattr__(self, "reason", integers("reason", self.reason, faults))
        object.__setattr__(self, "factual", floats("factual", self.factual, faults, ndim=2))
        object.__setattr__(self, "alternative", floats("alternative", self.alternative, faults, ndim=3))
        raise_faults("replays", faults or self._faults())

    def _faults(self) -> list[str]:
        (turns, rollouts), shape = self.factual.shape, self.alternative.shape
        if self.reason.size != turns or shape[0] != turns or shape[2] != rollouts:
            expected = "expected reason (T,), factual (T, M) and alternative (T, K, M)"
            return [f"{expected}, got {self.reason.shape}, {self.factual.shape} and {shape}"]
        if min(rollouts, shape[1]) < 1:
            return [f"expected at least one rollout and one alternative, got M={rollouts} and K={shape[1]}"]
        finite = np.asarray(np.isfinite(self.factual).all(axis=1)) & np.isfinite(self.alternative).all(
            axis=(1, 2)
        )
        return _holes(self.reason, finite, "turn")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the replays to `path` as .npz."""
        columns = {"reason": self.reason, "factual": self.factual, "alternative": self.alternative}
        write_columns(path, columns)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read replays written by `save`; RuleError when they are not."""
        return cls(**read_columns(path, ("reason", "factual", "alternative")))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Continuations:
    """Monte-Carlo value of the state before each turn: M rollouts of the policy from there.

    Attributes:
        reason: (T,) DEFINED where measured, else NOT_SELECTED, NOT_RESTORED or COPY.
        outcome: (T, M) outcomes of the rollouts, NaN where not measured.
    """

    reason: IntArray
    outcome: FloatArray

    def __post_init__(self) -> None:
        faults: list[str] = []
        object.__setattr__(self, "reason", integers("reason", self.reason, faults))
        object.__setattr__(self, "outcome", floats("outcome", self.outcome, faults, ndim=2))
        if not faults and self.reason.size != self.outcome.shape[0]:
            faults.append(
                f"expected reason (T,) and outcome (T, M), got {self.reason.shape}, {self.outcome.shape}"
            )
        if not faults:
            finite = np.asarray(np.isfinite(self.outcome).all(axis=1))
            faults += _holes(self.reason, finite, "turn")
        raise_faults("continuations", faults)

    @property
    def value(self) -> FloatArray:
        """(T,) mean outcome, NaN where not measured."""
        known = self.reason == Reason.DEFINED
        value = np.full(self.reason.size, np.nan)
        value[known] = self.outcome[known].mean(axis=1)
        return value


@dataclass(frozen=True, eq=False)
class Boundary:
    """A number measured before each trajectory's first turn and after each of its turns.

    The gold answer's mean token log-probability, a predicted reward or a progress score: what changes over
    turn t is after[t] minus what stood before it.

    Attributes:
        before: (N,) before the first turn; NaN where not measured.
        after: (T,) after each turn; NaN where not measured.
    """

    before: FloatArray
    after: FloatArray

    def __post_init__(self) -> None:
        faults: list[str] = []
        object.__setattr__(self, "before", floats("before", self.before, faults))
        object.__setattr__(self, "after", floats("after", self.after, faults))
        raise_faults("boundary", faults)


@dataclass(frozen=True, eq=False)
class Verdicts:
    """A judge's answers about each turn; V of them, so that they can be put to the vote.

    Attributes:
        score: (T, V) scores as the judge gave them; NaN where no verdict could be read.
        asked: (T,) whether the judge was asked about the turn at all.
    """

    score: FloatArray
    asked: BoolArray

    def __post_init__(self) -> None:
        faults: list[str] = []
        object.__setattr__(self, "score", floats("score", self.score, faults, ndim=2))
        object.__setattr__(self, "asked", booleans("asked", self.asked, faults))
        if not faults and (self.score.shape[0] != self.asked.size or self.score.shape[1] < 1):
            expected = "expected score (T, V) with V at least 1 and asked (T,)"
            faults.append(f"{expected}, got {self.score.shape} and {self.asked.shape}")
        raise_faults("verdicts", faults)


@dataclass(frozen=True, eq=False)
class Cuts:
    """Token positions at which a trajectory was cut, and the value of continuing from there.

    Attributes:
        offsets: (N+1,) cuts `offsets[i]:offsets[i+1]` are of trajectory i.
        position: (C,) token inside the trajectory before which it was cut, ascending; 0 is its start.
        value: (C,) mean outcome of the continuations.
    """

    offsets: IntArray
    position: IntArray
    value: FloatArray

    def __post_init__(self) -> None:
        faults: list[str] = []
        object.__setattr__(self, "offsets", integers("offsets", self.offsets, faults))
        object.__setattr__(self, "position", integers("position", self.position, faults))
        object.__setattr__(self, "value", floats("value", self.value, faults))
        if not faults and not self.position.size == self.value.size == int(self.offsets[-1]):
            sizes = (self.position.size, self.value.size, int(self.offsets[-1]))
            faults.append(f"expected as many positions as values as offsets tell, got {sizes}")
        raise_faults("cuts", faults)


@dataclass(frozen=True, eq=False)
class Coalitions:
    """The value of every coalition of a trajectory's n players (agents, segments or turns).

    Attributes:
        players: (N,) players of each trajectory.
        offsets: (N+1,) values `offsets[i]:offsets[i+1]` are of trajectory i: 2**players[i] of them.
        value: (C,) v(S), in the order of S as a bit mask (bit p is player p); NaN where not evaluated.
    """

    players: IntArray
    offsets: IntArray
    value: FloatArray

    def __post_init__(self) -> None:
        faults: list[str] = []
        object.__setattr__(self, "players", integers("players", self.players, faults))
        object.__setattr__(self, "offsets", integers("offsets", self.offsets, faults))
        object.__setattr__(self, "value", floats("value", self.value, faults))
        if not faults and not np.array_equal(np.diff(self.offsets), 2**self.players):
            faults.append("expected 2**players values for each trajectory")
        raise_faults("coalitions", faults)


def _holes(reason: IntArray, finite: BoolArray, of: str) -> list[str]:
    holes = (reason == Reason.DEFINED) & ~finite
    return [f"{of} {int(np.argmax(holes))} is marked as measured but lacks outcomes"] if holes.any() else []
