"""M6: cell means by generalised estimating equations, blocks as clusters, for few clusters.

The robust covariance is that of Mancl & DeRouen (2001, *Biometrics* 57), referred to t with S - 1 degrees of
freedom. The default of the library, the plain sandwich with z, rejects far too often with five or ten blocks.
Mean model: identity link, working independence; no assumption on the variances.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise_stats.decomposition import Cell, cell_name, contrast
from equipoise_stats.errors import StatsError
from equipoise_stats.figures import figures
from equipoise_stats.layout import Layout
from equipoise_stats.records import Question, RunScore, TaskScore
from equipoise_stats.results import Contrast, Estimate

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

HOW = "blocks as clusters, Mancl-DeRouen covariance, t with S - 1 degrees of freedom"


@dataclass(frozen=True)
class Equations:
    """Cell means and their covariance.

    Attributes:
        means: (C,) means of the rows of each cell.
        covariance: (C, C), Mancl-DeRouen.
        blocks: S clusters.
        warnings: what the library said.
    """

    means: FloatArray
    covariance: FloatArray
    blocks: int
    warnings: tuple[str, ...]

    def contrast(self, vector: FloatArray, alpha: float) -> Estimate:
        """A (C,) combination of cell means, with t on S - 1 degrees of freedom."""
        se = float(np.sqrt(max(float(vector @ self.covariance @ vector), 0.0)))
        return figures(float(vector @ self.means), se, self.blocks - 1, alpha)


@dataclass(frozen=True)
class GeeContrast:
    """One contrast under the estimating equations."""

    condition: str
    kind: str
    figures: Estimate


@dataclass(frozen=True)
class Gee:
    """The sensitivity analysis, ``fitted`` or ``refused`` with the reason.

    Attributes:
        of: what the rows are: ``runs`` or ``tasks``.
    """

    status: str
    reason: str
    how: str
    of: str
    rows: int
    blocks: int
    contrasts: tuple[GeeContrast, ...] = ()
    warnings: tuple[str, ...] = ()


def solve(y: FloatArray, cells: IntArray, blocks: IntArray, names: Sequence[str]) -> Equations:
    """Cell means with a covariance that is robust to any dependence within blocks.

    Args:
        y: (n,) success rates.
        cells: (n,) cell of each row, from 0.
        blocks: (n,) block of each row.
        names: C names of the cells.

    Raises:
        StatsError: with fewer than two blocks, a cell without rows, or a cell found in one block only, which
            leaves the correction undefined; or where the library finds no solution.
    """
    faults = list(_faults(y, cells, blocks, names))
    if faults:
        raise StatsError(faults)
    from statsmodels.genmod.cov_struct import Independence
    from statsmodels.genmod.generalized_estimating_equations import GEE

    design = np.zeros((len(y), len(names)))
    design[np.arange(len(y)), cells] = 1.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = GEE(y, design, groups=blocks, cov_struct=Independence())
        result = model.fit(cov_type="bias_reduced")
    if result is None:
        message = "statsmodels found no solution of the estimating equations"
        raise StatsError(message)
    covariance = np.asarray(result.cov_params(), dtype=np.float64)
    heard = tuple(dict.fromkeys(str(w.message) for w in caught))
    means = np.asarray(result.params, dtype=np.float64)
    return Equations(means, covariance, int(np.unique(blocks).size), heard)


def _faults(y: FloatArray, cells: IntArray, blocks: IntArray, names: Sequence[str]) -> list[str]:
    faults = []
    if not np.all(np.isfinite(y)):
        faults.append(
            f"y: {int(np.sum(~np.isfinite(y)))} rows are not finite; score them before the analysis"
        )
    if y.size and float(np.ptp(y)) == 0.0:
        faults.append(f"all {y.size} rows are {y[0]:g}; nothing varies, so there is no error")
    if np.unique(blocks).size < 2:
        faults.append(f"expected at least 2 blocks, got {np.unique(blocks).size}; clusters need company")
    for i, name in enumerate(names):
        found = np.unique(blocks[cells == i]).size
        if found < 2:
            faults.append(
                f"cell {name}: expected rows in at least 2 blocks, got {found}; its error is unknown"
            )
    return faults


def of_runs(
    runs: Sequence[RunScore], layout: Layout, contrasts: Sequence[Contrast], question: Question
) -> Gee:
    """The equations on run scores of the layout's cells, incomplete blocks included.

    Args:
        runs: checked run scores.
        layout: names the cells.
        contrasts: the contrasts of the primary analysis; those without figures there are left out.
        question: the registered question.
    """
    rows = [((r.condition, r.arm), r.block, r.y) for r in sorted(runs, key=_by_place)]
    return _analysed(rows, "runs", layout, contrasts, question)


def of_tasks(
    tasks: Sequence[TaskScore], layout: Layout, contrasts: Sequence[Contrast], question: Question
) -> Gee:
    """The same on proportions of runs on tasks, every pair of run and task weighing the same.

    Args:
        tasks: checked task scores.
        layout: names the cells.
        contrasts: as in ``of_runs``.
        question: the registered question.
    """
    ordered = sorted(tasks, key=lambda t: (*_by_place(t), t.task))
    rows = [((t.condition, t.arm), t.block, t.successes / t.episodes) for t in ordered]
    return _analysed(rows, "tasks", layout, contrasts, question)


def _by_place(score: RunScore | TaskScore) -> tuple[int, str, str, int]:
    return score.block, score.condition, score.arm, score.twin


def _analysed(
    rows: Sequence[tuple[Cell, int, float]],
    of: str,
    layout: Layout,
    contrasts: Sequence[Contrast],
    question: Question,
) -> Gee:
    place = {cell: i for i, cell in enumerate(layout.cells)}
    # by the suite's order of cells, so that names of conditions change no digit
    used = sorted((row for row in rows if row[0] in place), key=lambda row: (row[1], place[row[0]]))
    blocks = len({block for _, block, _ in used})
    try:
        solved = solve(
            np.array([y for *_, y in used], dtype=np.float64),
            np.array([place[cell] for cell, _, _ in used], dtype=np.int64),
            np.array([block for _, block, _ in used], dtype=np.int64),
            [cell_name(cell) for cell in layout.cells],
        )
    except StatsError as error:
        return Gee("refused", "; ".join(error.faults), HOW, of, len(used), blocks)
    found = tuple(
        GeeContrast(
            c.condition,
            c.kind,
            solved.contrast(layout.coefficients(contrast(c.condition, c.kind, question)), question.alpha),
        )
        for c in contrasts
        if c.estimable
    )
    return Gee("fitted", "", HOW, of, len(used), blocks, found, solved.warnings)
