"""The balanced table that the exact analysis works on: cells by complete blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise_stats.decomposition import Cell, Vector, cell_name
from equipoise_stats.records import ARMS, Question, RunScore

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LeftOut:
    """A block that does not enter the analysis, and why."""

    block: int
    reason: str


@dataclass(frozen=True)
class Layout:
    """Cell scores of the complete blocks.

    Attributes:
        cells: the C cells of the layout, in the suite's order.
        blocks: the S complete blocks, ascending.
        y: (C, S) success rates; twins of a block are averaged.
        twins: per condition with a twin cell, the (S, K) success rates of its K twins.
        ragged: (C, all blocks) success rates, NaN where a block has no run of the cell.
        swaps: per condition with twins, the (S', 1 + K) success rates of the rule and its K twins in the blocks
            that have them all.
        left_out: blocks with a cell missing; the exact stratum cannot use them.
        absent: why a cell has no place in the layout although a contrast may ask for it.
        barred: why a cell may not be used: its budget was broken.
    """

    cells: tuple[Cell, ...]
    blocks: tuple[int, ...]
    y: FloatArray
    twins: Mapping[str, FloatArray]
    ragged: FloatArray
    swaps: Mapping[str, FloatArray]
    left_out: tuple[LeftOut, ...]
    absent: Mapping[Cell, str]
    barred: Mapping[Cell, str]

    @property
    def most_twins(self) -> int:
        """The largest number K of twins that a block runs of one condition; 0 without twins."""
        return max((t.shape[1] for t in self.twins.values()), default=0)

    def coefficients(self, vector: Vector) -> FloatArray:
        """A contrast as (C,) coefficients; every cell of the contrast must be in the layout."""
        return np.array([float(vector.get(cell, 0)) for cell in self.cells])

    def obstacles(self, vector: Vector) -> tuple[str, ...]:
        """Why a contrast cannot be estimated, one sentence a missing cell; empty where it can."""
        return tuple(self.absent[cell] for cell in vector if cell in self.absent)

    def bars(self, vector: Vector) -> tuple[str, ...]:
        """Which broken budgets bar a contrast; empty where none does."""
        return tuple(self.barred[cell] for cell in vector if cell in self.barred)


Scores = Mapping[Cell, Mapping[int, Mapping[int, float]]]


def lay_out(runs: Sequence[RunScore], question: Question) -> Layout:
    """Arrange runs into cells by complete blocks.

    A cell with a broken budget leaves the layout in all its blocks, so that it can neither carry a
    contrast nor enter the error stratum. The twin cell of a condition whose twin is the rule itself is
    left out too: the duplicate would shrink the error mean square.

    Args:
        runs: checked run scores, in any order.
        question: the registered question.
    """
    scores = _scores(runs)
    barred = _barred(question)
    absent = _absent(scores, question)
    cells = tuple(
        cell
        for cell in possible_cells(question)
        if cell in scores and cell not in barred and cell not in absent
    )
    width = {cell: len({twin for by_twin in scores[cell].values() for twin in by_twin}) for cell in cells}
    blocks, left_out = [], []
    for block in sorted({r.block for r in runs}):
        reasons = _gaps(scores, cells, width, block)
        if reasons:
            left_out.append(LeftOut(block, "; ".join(reasons)))
        else:
            blocks.append(block)
    full = {cell: _block_scores(scores[cell], blocks, width[cell]) for cell in cells}
    y = np.array([full[cell].mean(axis=1) for cell in cells]).reshape(len(cells), len(blocks))
    twins = {cell[0]: full[cell] for cell in cells if cell[1] == "twin"}
    every = sorted({r.block for r in runs})
    ragged = np.array([[_mean(scores[cell].get(block)) for block in every] for cell in cells])
    swaps = {
        condition: _swappable(scores[condition, "matched"], scores[condition, "twin"])
        for condition in twins
        if (condition, "matched") in cells
    }
    return Layout(
        cells,
        tuple(blocks),
        y,
        twins,
        ragged.reshape(len(cells), len(every)),
        swaps,
        tuple(left_out),
        absent,
        barred,
    )


def _mean(by_twin: Mapping[int, float] | None) -> float:
    return math.nan if not by_twin else float(np.mean([by_twin[twin] for twin in sorted(by_twin)]))


def _swappable(
    rule: Mapping[int, Mapping[int, float]], twins: Mapping[int, Mapping[int, float]]
) -> FloatArray:
    width = max(len(by_twin) for by_twin in twins.values())
    rows = [
        [rule[block][0], *(twins[block][twin] for twin in sorted(twins[block]))]
        for block in sorted(set(rule) & set(twins))
        if len(twins[block]) == width
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), 1 + width)


def _scores(runs: Sequence[RunScore]) -> Scores:
    scores: dict[Cell, dict[int, dict[int, float]]] = {}
    for r in runs:
        scores.setdefault((r.condition, r.arm), {}).setdefault(r.block, {})[r.twin] = r.y
    return scores


def possible_cells(question: Question) -> tuple[Cell, ...]:
    """The cells that a suite may have, in its order; a twin that is the rule itself is none."""
    return tuple(
        (condition, arm)
        for condition in question.conditions
        for arm in ARMS
        if not (arm == "twin" and condition in question.identical)
    )


def _absent(scores: Scores, question: Question) -> dict[Cell, str]:
    run_arms = {arm for _, arm in scores}
    return {
        cell: f"the {cell[1]} arm was not run" if cell[1] not in run_arms else f"{cell_name(cell)} has no run"
        for cell in possible_cells(question)
        if cell not in scores
    }


def _barred(question: Question) -> dict[Cell, str]:
    blocks: dict[Cell, list[int]] = {}
    for condition, arm, block in sorted(question.barred):
        blocks.setdefault((condition, arm), []).append(block)
    return {
        cell: f"{cell_name(cell)} broke its budget in block {', '.join(map(str, where))}"
        for cell, where in blocks.items()
    }


def _gaps(scores: Scores, cells: Sequence[Cell], width: Mapping[Cell, int], block: int) -> list[str]:
    gaps = []
    for cell in cells:
        found = len(scores[cell].get(block, {}))
        if found == 0:
            gaps.append(f"{cell_name(cell)} is missing")
        elif found < width[cell]:
            gaps.append(f"{cell_name(cell)} has {found} of {width[cell]} twins")
    return gaps


def _block_scores(
    by_block: Mapping[int, Mapping[int, float]], blocks: Sequence[int], width: int
) -> FloatArray:
    rows = [[by_block[block][twin] for twin in sorted(by_block[block])] for block in blocks]
    return np.array(rows, dtype=np.float64).reshape(len(blocks), width)
