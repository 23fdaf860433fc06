"""A plan of training: which example stands in which slot, with which weight, in which optimizer step."""

import hashlib
import math
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise_budget.dose import PlannedDose, planned_dose
from equipoise_budget.errors import BudgetError, BudgetRefused
from equipoise_budget.stopping import Stop

__all__ = ["FILLS", "PADDING", "FloatArray", "IntArray", "Plan", "counted_up", "mass_of"]

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]

FILLS = ("native", "exact", "resample", "cycle", "pad", "refill", "thin", "keep_largest")

PADDING = -1
"""Presentation of a slot that shows no example: a legal row of weight 0 that keeps slots and steps whole."""


@dataclass(frozen=True, eq=False)
class Plan:
    """S slots in the order in which the optimizer sees them; read-only, and hashed by content.

    Attributes:
        example: (S,) turn of the batch.
        presentation: (S,) 0 the first time an example is shown, 1 the second, ...; `PADDING` for a slot of weight
            0 that shows none.
        weight: (S,) signed credit.
        step: (S,) optimizer step, 0, 1, ...; `batch` rows each, the last step of a native plan maybe fewer.
        batch: nominal rows of a step: the denominator of the loss.
        fill: how the slots were filled, one of `FILLS`.
        token_offsets: (S+1,) tokens of each slot, where credit is finer than a turn or some tokens stay out
            of the loss; empty where every token of a slot has the slot's weight.
        token_weight: (tokens,) signed credit of each token, NaN for a token that is not in the loss; the
            weight of the slot is then their mean.
        stop: the divergence at which training ends, before the last step if need be; None to train on every slot.
    """

    example: IntArray
    presentation: IntArray
    weight: FloatArray
    step: IntArray
    batch: int
    fill: str
    token_offsets: IntArray = None  # type: ignore[assignment] # empty by default
    token_weight: FloatArray = None  # type: ignore[assignment]
    stop: Stop | None = None

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
        expected = counted_up(self.example, self.padding)
        if (self.example < 0).any() or not np.array_equal(expected, self.presentation):
            faults.append("presentation: expected each example's showings numbered 0, 1, ... in order")
        if self.padding.any() and (self.fill != "pad" or (self.weight[self.padding] != 0).any()):
            faults.append(f"padding: expected slots of weight 0 in a plan filled by pad, got '{self.fill}'")
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
    def padding(self) -> NDArray[np.bool_]:
        """(S,) whether a slot shows no example."""
        return np.equal(self.presentation, PADDING)

    @property
    def token_padding(self) -> NDArray[np.bool_]:
        """(tokens,) whether a token's slot shows no example; empty where slots have one weight each."""
        if not self.token_offsets.size:
            return np.zeros(0, dtype=np.bool_)
        return np.repeat(self.padding, np.diff(self.token_offsets))

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
        if self.stop is not None:
            column = np.array([self.stop.divergence, self.stop.tolerance], dtype="<f8")
            content.update(b"stop\n" + column.tobytes())
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
                when the plan has weights of its own for every token, which the function `token_twin` moves.
        """
        if self.token_offsets.size:
            message = (
                "twin: expected a plan whose slots have one weight each; use token_twin for weights of tokens"
            )
            raise BudgetError(message)
        example, sign = self.moved(moves)
        shown = counted_up(example, self.padding)
        return replace(self, example=example, presentation=shown, weight=self.weight * sign)

    def moved(self, moves: Iterable[tuple[ArrayLike, ArrayLike]]) -> tuple[IntArray, FloatArray]:
        """Return (S,) where one move a step leads each slot's example, and (S,) the sign that it meets there."""
        example, signs = self.example.copy(), np.ones(self.slots)
        given = iter(moves)
        for step in range(self.steps):
            here = slice(step * self.batch, (step + 1) * self.batch)
            to, sign = self._move(next(given, None), step)
            example[here] = to[example[here]]
            signs[here] = sign[example[here]]
        return example, signs

    def until(self, steps: int) -> "Plan":
        """Return the first steps of this plan: what a run received that stopped after them."""
        if not 1 <= steps <= self.steps:
            message = f"until: expected 1 to {self.steps} steps, got {steps}"
            raise BudgetError(message)
        end = min(steps * self.batch, self.slots)
        columns = {name: getattr(self, name)[:end] for name in ("example", "presentation", "weight", "step")}
        if not self.token_offsets.size:
            return replace(self, **columns)
        offsets = self.token_offsets[: end + 1]
        return replace(
            self, **columns, token_offsets=offsets, token_weight=self.token_weight[: int(offsets[-1])]
        )

    def scaled_to(self, mass: float) -> "Plan":
        """Return this plan with all weights multiplied by one number, so that its weight mass is `mass`.

        The number depends on the multiset of |w| only: a twin that moves or flips weights gets the same one, bit
        for bit.

        Raises:
            BudgetRefused: when all weights are 0, which no number can mend.
        """
        found = self.mass
        factor = mass / found if found else math.inf
        if not math.isfinite(factor):
            message = (
                f"weight_mass: expected weights that can be rescaled to {mass:g}, got a mass of {found:g}"
            )
            raise BudgetRefused(message)
        weight, tokens = self.weight * factor, self.token_weight * factor
        return replace(self, weight=weight, token_weight=tokens)

    @property
    def mass(self) -> float:
        """Weight mass, see `mass_of`."""
        return mass_of(self.weight, self.token_weight)

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
        chosen = np.where(np.repeat(self.padding, counts), 0.0 * chosen, chosen)
        return replace(self, token_offsets=np.append(0, ends), token_weight=chosen)

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
            columns["stop"] = np.array([self.stop.divergence, self.stop.tolerance] if self.stop else ())
            np.savez(handle, allow_pickle=False, **columns)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a plan written by `save`; BudgetError when it is not one."""
        try:
            # A handle of our own: numpy leaves its own open where the file is no archive.
            with Path(path).open("rb") as handle, np.load(handle, allow_pickle=False) as stored:
                columns = {name: stored[name] for name in (field.name for field in fields(cls))}
        except (zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
            message = f"{path}: expected a plan written by save(), got something else ({error})"
            raise BudgetError(message) from error
        stop = Stop(*columns["stop"].tolist()) if columns["stop"].size else None
        return cls(**columns | {"batch": int(columns["batch"]), "fill": str(columns["fill"]), "stop": stop})


def _whole(value: ArrayLike) -> IntArray:
    array = np.array(value, dtype=np.int64)
    array.setflags(write=False)
    return array


def _real(value: ArrayLike) -> FloatArray:
    # Adding 0 turns -0 into 0: they train alike, so they must hash alike.
    array: FloatArray = np.array(value, dtype=np.float64) + 0.0
    array.setflags(write=False)
    return array


def counted_up(example: IntArray, padding: NDArray[np.bool_] | None = None) -> IntArray:
    """Return (S,) how often each slot's example was shown before: 0, 1, ...; `PADDING` where there is padding."""
    if padding is not None and padding.any():
        presentation = np.full(example.size, PADDING, dtype=np.int64)
        presentation[~padding] = counted_up(example[~padding])
        return presentation
    order = np.argsort(example, kind="stable")
    sizes = np.unique(example, return_counts=True)[1]
    presentation = np.empty(example.size, dtype=np.int64)
    presentation[order] = np.arange(example.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return presentation


def mass_of(weight: FloatArray, token_weight: FloatArray) -> float:
    """Return the sum of |w| over slots; with weights of tokens, the number of slots times the mean token's |w|.

    The second is what the first would be if every slot had the mean of its tokens' |w| and all were equally long. It
    does not change when tokens of different slots exchange their weights, and neither depends on any order.
    """
    if not token_weight.size:
        return math.fsum(np.abs(weight).tolist())
    inside = np.abs(token_weight[~np.isnan(token_weight)])
    return weight.size * math.fsum(inside.tolist()) / inside.size
