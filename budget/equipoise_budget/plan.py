"""A plan of training: which example stands in which slot, with which weight, in which optimizer step."""

import hashlib
import zipfile
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise_budget.dose import PlannedDose, planned_dose
from equipoise_budget.errors import BudgetError

__all__ = ["FILLS", "Budget", "FloatArray", "IntArray", "Plan"]

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]

FILLS = ("native", "exact", "resample", "cycle", "thin", "keep_largest")
_UNDER = ("resample", "cycle")
_OVER = ("thin", "keep_largest")


@dataclass(frozen=True)
class Budget:
    """Slots and optimizer steps that every matched and twin cell receives, exactly.

    Attributes:
        examples: slots in all.
        optimizer_steps: steps in all; examples / optimizer_steps rows each, which must be whole.
        under: what to do with fewer examples than slots, "resample" or "cycle".
        over: what to do with more examples than slots, "thin" or "keep_largest".
    """

    examples: int
    optimizer_steps: int
    under: str = "resample"
    over: str = "thin"

    def __post_init__(self) -> None:
        faults = [
            f"{name}: expected one of {', '.join(words)}, got '{value}'"
            for name, value, words in (("under", self.under, _UNDER), ("over", self.over, _OVER))
            if value not in words
        ]
        if self.examples < 1 or self.optimizer_steps < 1:
            faults.append(
                f"expected at least one slot and one step, got {self.examples} and {self.optimizer_steps}"
            )
        elif self.examples % self.optimizer_steps:
            below = self.examples - self.examples % self.optimizer_steps
            near = [n for n in (below, below + self.optimizer_steps) if n]
            faults.append(
                f"{self.examples} examples in {self.optimizer_steps} steps leave no whole batch; "
                f"take {' or '.join(map(str, near))} examples"
            )
        if faults:
            message = "budget: " + "; ".join(faults)
            raise BudgetError(message)

    @property
    def batch(self) -> int:
        """Rows of each optimizer step."""
        return self.examples // self.optimizer_steps


@dataclass(frozen=True, eq=False)
class Plan:
    """S slots in the order in which the optimizer sees them; read-only, and hashed by content.

    Attributes:
        example: (S,) turn of the batch.
        presentation: (S,) 0 the first time an example is shown, 1 the second, ...
        weight: (S,) signed credit.
        step: (S,) optimizer step, 0, 1, ...; `batch` rows each, the last step of a native plan maybe fewer.
        batch: nominal rows of a step: the denominator of the loss.
        fill: how the slots were filled, one of `FILLS`.
    """

    example: IntArray
    presentation: IntArray
    weight: FloatArray
    step: IntArray
    batch: int
    fill: str

    def __post_init__(self) -> None:
        for name in ("example", "presentation", "step"):
            object.__setattr__(self, name, _whole(getattr(self, name)))
        object.__setattr__(self, "weight", _real(self.weight))
        faults = self._faults()
        if faults:
            message = "plan: " + "; ".join(faults)
            raise BudgetError(message)

    def _faults(self) -> list[str]:
        slots = self.example.shape
        others = (self.presentation.shape, self.weight.shape, self.step.shape)
        if len(slots) != 1 or any(shape != slots for shape in others) or slots == (0,):
            return [f"expected four columns of one length, at least 1, got {slots} and {others}"]
        faults = []
        if self.fill not in FILLS:
            faults.append(f"fill: expected one of {', '.join(FILLS)}, got '{self.fill}'")
        if not np.isfinite(self.weight).all():
            faults.append(f"slot {int(np.argmin(np.isfinite(self.weight)))}: expected a finite weight")
        if self.batch < 1 or not np.array_equal(self.step, np.arange(self.slots) // self.batch):
            faults.append(f"expected steps 0, 1, ... of {self.batch} rows each")
        elif self.fill != "native" and self.slots % self.batch:
            faults.append(f"expected whole batches of {self.batch}, got {self.slots} slots")
        if (self.example < 0).any() or not _counts_up(self.example, self.presentation):
            faults.append("presentation: expected each example's showings numbered 0, 1, ... in order")
        return faults

    @property
    def slots(self) -> int:
        """Number of slots."""
        return int(self.example.size)

    @property
    def steps(self) -> int:
        """Number of optimizer steps."""
        return int(self.step[-1]) + 1

    def digest(self) -> str:
        """Return "eq1:" and the SHA-256 of every slot, the batch and the fill; the same on every machine."""
        content = hashlib.sha256(f"plan\n{self.fill}\n{self.batch}\n{self.slots}\n".encode())
        for column, kind in (
            (self.example, "<i8"),
            (self.presentation, "<i8"),
            (self.weight, "<f8"),
            (self.step, "<i8"),
        ):
            content.update(np.ascontiguousarray(column, dtype=kind).tobytes())
        return "eq1:" + content.hexdigest()

    def twin(self, sigma: ArrayLike) -> "Plan":
        """Return this plan with every example moved to sigma[example] and nothing else changed.

        Slots, steps, weights and repetitions stay; only the place of the credit moves. Masses and the
        effective sample size of each step are therefore those of the rule.

        Args:
            sigma: (T,) a permutation of the turns of the batch.

        Raises:
            BudgetError: when sigma is no permutation, or does not reach the plan's examples.
        """
        moved = np.asarray(sigma)
        if not np.array_equal(np.sort(moved), np.arange(moved.size)):
            message = f"twin: expected a permutation of all turns, got {moved.size} entries that are none"
            raise BudgetError(message)
        if int(self.example.max()) >= moved.size:
            message = (
                f"twin: expected sigma to reach turn {int(self.example.max())}, got {moved.size} entries"
            )
            raise BudgetError(message)
        example = moved[self.example].astype(np.int64)
        return Plan(example, self.presentation, self.weight, self.step, self.batch, self.fill)

    def dose(self, tokens: ArrayLike, *, trajectory: ArrayLike, task: ArrayLike) -> PlannedDose:
        """Return what the optimizer is to receive.

        Args:
            tokens: (T,) tokens in the loss of each turn of the batch.
            trajectory: (T,) trajectory of each turn.
            task: (T,) task of each turn.
        """
        return planned_dose(self, np.asarray(tokens), np.asarray(trajectory), np.asarray(task))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the plan to exactly `path` as .npz."""
        with Path(path).open("wb") as handle:
            columns = {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}
            np.savez(handle, allow_pickle=False, **columns)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a plan written by `save`; BudgetError when it is not one."""
        try:
            with np.load(Path(path), allow_pickle=False) as stored:
                columns = {name: stored[name] for name in (field.name for field in fields(cls))}
        except (zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
            message = f"{path}: expected a plan written by save(), got something else ({error})"
            raise BudgetError(message) from error
        return cls(**columns | {"batch": int(columns["batch"]), "fill": str(columns["fill"])})


def _whole(value: ArrayLike) -> IntArray:
    array = np.array(value, dtype=np.int64)
    array.setflags(write=False)
    return array


def _real(value: ArrayLike) -> FloatArray:
    # Adding 0 turns -0 into 0: they train alike, so they must hash alike.
    array: FloatArray = np.array(value, dtype=np.float64) + 0.0
    array.setflags(write=False)
    return array


def _counts_up(example: IntArray, presentation: IntArray) -> bool:
    order = np.argsort(example, kind="stable")
    ids, shown = example[order], presentation[order]
    first = np.diff(ids, prepend=ids[:1] - 1) != 0
    starts = np.flatnonzero(first)
    expected = np.arange(ids.size) - np.repeat(starts, np.diff(starts, append=ids.size))
    return np.array_equal(shown, expected)
