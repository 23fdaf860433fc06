"""What a rule may ask for beyond the trajectories, guarded by what it declares."""

from dataclasses import dataclass
from enum import StrEnum
from os import PathLike
from typing import Protocol, Self, TypeVar

import numpy as np

from equipoise_conditions.arrays import (
    FloatArray,
    IntArray,
    floats,
    integers,
    raise_faults,
    read_columns,
    write_columns,
)
from equipoise_conditions.credit import Reason
from equipoise_conditions.errors import MissingNeed, UndeclaredNeed

__all__ = ["Context", "Need", "Replays"]


class Need(StrEnum):
    """What a rule may declare; all but FORKS are fields of the context."""

    GENERATOR = "generator"
    HINDSIGHT = "hindsight"
    REPLAYS = "replays"
    FORKS = "forks"
    """The batch holds forked trajectories (parent >= 0) beside the collected ones."""
    TRUTH = "truth"


_T = TypeVar("_T")

_MEND = {
    Need.GENERATOR: "pass generator=np.random.default_rng(seed)",
    Need.HINDSIGHT: "score every action with the final state revealed and pass hindsight=",
    Need.REPLAYS: "execute the replays of this batch and pass replays=",
    Need.TRUTH: "use an environment that knows its exact advantages and pass truth=",
}


class Declares(Protocol):
    """Something with a name and declared needs: a rule."""

    @property
    def name(self) -> str:
        """The rule's name."""
        ...

    @property
    def needs(self) -> frozenset[Need]:
        """What it declares to use."""
        ...


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
        finite = np.isfinite(self.factual).all(axis=1) & np.isfinite(self.alternative).all(axis=(1, 2))
        holes = (self.reason == Reason.DEFINED) & ~finite
        if holes.any():
            return [f"turn {int(np.argmax(holes))} is marked as measured but lacks outcomes"]
        return []

    def save(self, path: str | PathLike[str]) -> None:
        """Write the replays to `path` as .npz."""
        columns = {"reason": self.reason, "factual": self.factual, "alternative": self.alternative}
        write_columns(path, columns)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read replays written by `save`; RuleError when they are not."""
        return cls(**read_columns(path, ("reason", "factual", "alternative")))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Context:
    """What has been measured for a batch; None for what has not.

    Attributes:
        generator: the rule's own stream of random numbers.
        hindsight: (T,) mean token log-probability of each action with the final state revealed.
        replays: executed replays of the batch.
        truth: (T,) exact advantage where the environment knows it, NaN elsewhere.
    """

    generator: np.random.Generator | None = None
    hindsight: FloatArray | None = None
    replays: Replays | None = None
    truth: FloatArray | None = None

    def for_rule(self, rule: Declares) -> "Context":
        """Return a view that lets `rule` read only what it declares.

        Reading an undeclared field raises UndeclaredNeed; reading a declared one that was not measured
        raises MissingNeed with how to mend it.
        """
        view = _Guarded(self.generator, self.hindsight, self.replays, self.truth)
        object.__setattr__(view, "_rule_name", rule.name)
        object.__setattr__(view, "_declared", rule.needs)
        return view

    def the_generator(self) -> np.random.Generator:
        """Return the generator; MissingNeed when there is none."""
        return _present(self.generator, Need.GENERATOR)

    def the_hindsight(self) -> FloatArray:
        """Return the hindsight scores; MissingNeed when there are none."""
        return _present(self.hindsight, Need.HINDSIGHT)

    def the_replays(self) -> Replays:
        """Return the replays; MissingNeed when there are none."""
        return _present(self.replays, Need.REPLAYS)

    def the_truth(self) -> FloatArray:
        """Return the exact advantages; MissingNeed when there are none."""
        return _present(self.truth, Need.TRUTH)


class _Guarded(Context):
    """A context as one rule may see it."""

    _rule_name: str
    _declared: frozenset[Need]

    def __getattribute__(self, name: str) -> object:
        value: object = object.__getattribute__(self, name)
        if name not in _MEND:
            return value
        rule, declared = (object.__getattribute__(self, key) for key in ("_rule_name", "_declared"))
        if name not in declared:
            message = f"rule '{rule}' reads '{name}' but declares {_listed(declared)}; add it to its needs"
            raise UndeclaredNeed(message)
        if value is None:
            message = f"rule '{rule}' needs '{name}', which the context does not hold; {_MEND[Need(name)]}"
            raise MissingNeed(message)
        return value


def _listed(needs: frozenset[Need]) -> str:
    return "needs " + ", ".join(sorted(needs)) if needs else "no needs"


def _present(value: _T | None, need: Need) -> _T:
    if value is None:
        message = f"the rule needs '{need}', which the context does not hold; {_MEND[need]}"
        raise MissingNeed(message)
    return value
