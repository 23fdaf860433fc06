"""M1 to M3: cell means of ragged layouts by the own mixed-model engine, with small-sample degrees of freedom.

Nothing is dropped: a block that lacks a cell still tells about the cells it has. Rows are put in the suite's
order, so that neither names nor the order of records touch the last digit.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise_stats import figures
from equipoise_stats.decomposition import Cell, Vector, cell_name
from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import kenward_roger, satterthwaite
from equipoise_stats.lmm.fit import fit
from equipoise_stats.lmm.kenward_roger import KenwardRoger
from equipoise_stats.lmm.model import Problem, RandomTerm, intercept
from equipoise_stats.lmm.results import Fit
from equipoise_stats.records import RunScore, TaskScore
from equipoise_stats.results import Estimate
from equipoise_stats.stratum import NO_VARIATION

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CellMeans:
    """A fitted model of cell means.

    Attributes:
        cells: the C cells, in the suite's order.
        fit: its coefficients are the means of the cells.
        problem: what was fitted.
    """

    cells: tuple[Cell, ...]
    fit: Fit
    problem: Problem

    def rows(self, vectors: Sequence[Vector]) -> FloatArray:
        """(m, C) coefficients of contrasts whose cells are all here."""
        return np.array([[float(v.get(cell, 0)) for cell in self.cells] for v in vectors])

    def has(self, vector: Vector) -> bool:
        """Whether every cell of a contrast has a run."""
        return set(vector) <= set(self.cells)

    @functools.cached_property
    def adjusted(self) -> KenwardRoger:
        """Kenward and Roger's covariance."""
        return kenward_roger.adjust(self.fit)

    def satterthwaite(self, vectors: Sequence[Vector], alpha: float) -> list[Estimate]:
        """Contrasts with the model's standard errors and Satterthwaite's degrees of freedom."""
        rows = self.rows(vectors)
        return _estimates(rows, self.fit.beta, self.fit.vcov, satterthwaite.df(self.fit, rows), alpha)

    def kenward_roger(self, vectors: Sequence[Vector], alpha: float) -> list[Estimate]:
        """Contrasts with Kenward and Roger's standard errors and degrees of freedom."""
        rows = self.rows(vectors)
        return _estimates(rows, self.fit.beta, self.adjusted.vcov, self.adjusted.df(rows), alpha)

    def covariance(self, vectors: Sequence[Vector]) -> FloatArray:
        """(m, m) covariance of contrasts."""
        rows = self.rows(vectors)
        return np.asarray(rows @ self.fit.vcov @ rows.T, dtype=np.float64)


def _estimates(
    rows: FloatArray, beta: FloatArray, vcov: FloatArray, df: FloatArray, alpha: float
) -> list[Estimate]:
    estimates, variances = rows @ beta, np.einsum("mi,ij,mj->m", rows, vcov, rows)
    return [
        figures.figures(float(e), float(np.sqrt(v)), float(d), alpha)
        for e, v, d in zip(estimates, variances, df, strict=True)
    ]


def by_run(runs: Sequence[RunScore], cells: Sequence[Cell]) -> CellMeans | str:
    """M1: ``y ~ 0 + cell + (1 | block)`` by REML on runs; or the reason why it cannot be fitted.

    Args:
        runs: checked run scores; every twin is a run of its own.
        cells: which take part, in the suite's order.
    """
    place = {cell: i for i, cell in enumerate(cells)}
    chosen = sorted(
        (r for r in runs if (r.condition, r.arm) in place),
        key=lambda r: (place[r.condition, r.arm], r.block, r.twin),
    )
    labels = [place[r.condition, r.arm] for r in chosen]
    terms = (intercept("block", [r.block for r in chosen]),) if chosen else ()
    return _fitted([r.y for r in chosen], labels, cells, terms)


def by_task(
    tasks: Sequence[TaskScore], cells: Sequence[Cell], *, population: bool = False
) -> CellMeans | str:
    """M2: ``proportion ~ 0 + cell + (1 | block) + (1 | task) + (1 | run)``; or why it cannot be fitted.

    Args:
        tasks: checked task scores.
        cells: which take part, in the suite's order.
        population: M3, with ``(1 | cell:task)`` besides, which asks whether contrasts would hold on new tasks.
    """
    place = {cell: i for i, cell in enumerate(cells)}
    rows = sorted(
        (t for t in tasks if (t.condition, t.arm) in place),
        key=lambda t: (place[t.condition, t.arm], t.block, t.task, t.twin),
    )
    if not rows:
        return "no task scores"
    labels = [place[t.condition, t.arm] for t in rows]
    keyed = [
        ("block", [t.block for t in rows]),
        ("task", [t.task for t in rows]),
        ("run", _numbered([(c, t.block, t.twin) for c, t in zip(labels, rows, strict=True)])),
    ]
    if population:
        keyed.append(("cell:task", _numbered([(c, t.task) for c, t in zip(labels, rows, strict=True)])))
    terms = tuple(intercept(name, np.array(values)) for name, values in keyed)
    return _fitted([t.successes / t.episodes for t in rows], labels, cells, terms)


def _numbered(keys: Sequence[tuple[int, ...]]) -> list[int]:
    number = {key: i for i, key in enumerate(sorted(set(keys)))}
    return [number[key] for key in keys]


def _fitted(
    y: Sequence[float], labels: Sequence[int], cells: Sequence[Cell], terms: tuple[RandomTerm, ...]
) -> CellMeans | str:
    missing = [cell_name(cell) for i, cell in enumerate(cells) if i not in set(labels)]
    if missing or len(cells) < 2:
        return f"no scores of {', '.join(missing)}" if missing else "it needs two cells"
    design = np.zeros((len(y), len(cells)))
    design[np.arange(len(y)), labels] = 1.0
    names = tuple(f"cell{i:04d}" for i in range(len(cells)))
    problem = Problem(np.array(y, dtype=np.float64), design, names, terms)
    means = design.T @ problem.y / design.sum(axis=0)
    if float(np.square(problem.y - design @ means).mean()) < NO_VARIATION:
        return "no score varies within its cell"
    try:
        return CellMeans(tuple(cells), fit(problem), problem)
    except StatsError as error:
        return "; ".join(error.faults)
