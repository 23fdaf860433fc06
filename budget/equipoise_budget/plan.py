"""A plan of training: which example stands in which slot, with which weight, in which optimizer step."""

import hashlib
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise_budget.dose import PlannedDose, planned_dose
from equipoise_budget.errors import BudgetError

__all__ = ["FILLS", "Budget", "FloatArray", "IntArray", "Plan", "counted_up"]

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
        token_offsets: (S+1,) tokens of each slot, where credit is finer than a turn or some tokens stay out
            of the loss; empty where every token of a slot has the slot's weight.
        token_weight: (tokens,) signed credit of each token, NaN for a token that is not in the loss; the
            weight of the slot is then their mean.
    """

    example: IntArray
    presentation: IntArray
    weight: FloatArray
    step: IntArray
    batch: int
    fill: str
    token_offsets: IntArray = None  # type: ignore[assignment] # empty by default
    token_weight: FloatArray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name in ("example", "presentation", "step", "token_offsets"):
            value = getattr(self, name)
            object.__setattr__(self, name, _whole(() if value is None else value))
        for name in ("weight", "token_weight"):
            value = getattr(self, name)
            object.__setattr__(self, name, _real(() if value is None else value))
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
        if (self.example < 0).any() or not np.array_equal(counted_up(self.example), self.presentation):
            faults.append("presentation: expected each example's showings numbered 0, 1, ... in order")
        return faults + self._token_faults()

    def _token_faults(self) -> list[str]:
        offsets, weight = self.token_offsets, self.token_weight
        if not offsets.size and not weight.size:
            return []
        if offsets.size != self.slots + 1 or offsets[0] != 0 or offsets[-1] != weight.size:
            return [f"token_offsets: expected {self.slots + 1} from 0 to {weight.size}, got {offsets.size}"]
        if (np.diff(offsets) < 1).any() or np.isinf(weight).any():
            return ["token_weight: expected at least one token a slot, and finite weights or NaN"]
        empty = np.add.reduceat(~np.isnan(weight), offsets[:-1]) == 0
        return [f"slot {int(np.argmax(empty))}: expected a token in the loss"] if empty.any() else []

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
        if self.token_offsets.size:
            content.update(b"tokens\n" + self.token_offsets.astype("<i8").tobytes())
            content.update(self.token_weight.astype("<f8").tobytes())
        return "eq1:" + content.hexdigest()

    def twin(self, moves: Iterable[tuple[ArrayLike, ArrayLike]]) -> "Plan":
        """Return this plan with the examples of every step moved and nothing else changed.

        Slots, steps and weights stay (up to their signs, if the moves have signs); only the place of the
        credit moves. Masses and the effective sample size of each step are therefore those of the rule.

        Args:
            moves: one for each optimizer step, in their order: (T,) a permutation of the turns of the batch,
                and (T,) the sign that what arrives at a turn is multiplied by.

        Raises:
            BudgetError: when a move is no permutation, does not reach the plan's examples, or is missing; or
                when the plan has weights of its own for every token, which `token_twin` moves.
        """
        if self.token_offsets.size:
            message = (
                "twin: expected a plan whose slots have one weight each; use token_twin for weights of tokens"
            )
            raise BudgetError(message)
        example, weight = self.example.copy(), self.weight.copy()
        given = iter(moves)
        for step in range(self.steps):
            here = slice(step * self.batch, (step + 1) * self.batch)
            to, sign = self._move(next(given, None), step)
            example[here] = to[example[here]]
            weight[here] = weight[here] * sign[example[here]]
        return Plan(example, counted_up(example), weight, self.step, self.batch, self.fill)

    def _move(self, move: tuple[ArrayLike, ArrayLike] | None, step: int) -> tuple[IntArray, FloatArray]:
        if move is None:
            message = f"twin: expected a move for each of {self.steps} steps, got {step}"
            raise BudgetError(message)
        to, sign = np.asarray(move[0]), np.asarray(move[1], dtype=np.float64)
        if not np.array_equal(np.sort(to), np.arange(to.size)) or sign.shape != to.shape:
            message = f"twin: expected a permutation of all turns, got {to.size} entries that are none"
            raise BudgetError(message)
        if int(self.example.max()) >= to.size:
            message = f"twin: expected a move to reach turn {int(self.example.max())}, got {to.size} entries"
            raise BudgetError(message)
        return to.astype(np.int64), sign

    def with_tokens(self, token_weight: ArrayLike, token_offsets: ArrayLike) -> "Plan":
        """Return this plan with a weight for every token.

        Args:
            token_weight: (K,) credit of every token of the batch, NaN for those that are not in the loss.
            token_offsets: (T+1,) tokens of each turn of the batch.
        """
        weight, offsets = np.asarray(token_weight, dtype=np.float64), np.asarray(token_offsets)
        counts = np.diff(offsets)[self.example]
        ends = np.cumsum(counts)
        place = np.arange(int(ends[-1])) - np.repeat(ends - counts, counts)
        chosen = weight[np.repeat(offsets[self.example], counts) + place]
        return replace(self, token_offsets=np.append(0, ends), token_weight=chosen)

    def token_twin(self, cell: ArrayLike, rng: np.random.Generator, *, signs: bool = False) -> "Plan":
        """Return this plan with the weights of tokens permuted inside cells, or with random signs.

        Every step keeps its tokens and the weights they have between them. Tokens that are not in the loss
        stay out of it.

        Args:
            cell: (S,) slots of one step and of one cell exchange the weights of their tokens: the trajectory
                of each slot, or its group.
            rng: the twin's own stream; one number is drawn for each token of the plan.
            signs: move nothing, and give every token a sign at random.
        """
        counts = np.diff(self.token_offsets)
        key = rng.random(self.token_weight.size)
        inside = np.flatnonzero(~np.isnan(self.token_weight))
        weight = self.token_weight.copy()
        if signs:
            weight[inside] *= np.where(key[inside] < 0.5, -1.0, 1.0)
        else:
            step, where = (np.repeat(column, counts)[inside] for column in (self.step, np.asarray(cell)))
            before = inside[np.lexsort((key[inside], where, step))]
            weight[inside[np.lexsort((where, step))]] = self.token_weight[before]
        known = ~np.isnan(weight)
        total = np.add.reduceat(np.where(known, weight, 0.0), self.token_offsets[:-1])
        mean = total / np.add.reduceat(known, self.token_offsets[:-1], dtype=np.int64)
        return replace(self, weight=mean, token_weight=weight)

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


def counted_up(example: IntArray) -> IntArray:
    """Return (S,) how often each slot's example was shown before: 0, 1, ..."""
    order = np.argsort(example, kind="stable")
    sizes = np.unique(example, return_counts=True)[1]
    presentation = np.empty(example.size, dtype=np.int64)
    presentation[order] = np.arange(example.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return presentation
