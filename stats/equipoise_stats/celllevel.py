"""The crossed model of task scores: fitted where the library is reliable, refused with a reason where not.

Model: proportion ~ 0 + cell + (1 | block) + (1 | task) + (1 | run), for the question of the fixed suite of
tasks. In a balanced layout its contrasts equal those of the run means; it is a sensitivity analysis. The
library's standard errors are wrong wherever a variance is near 0, and none is taken there.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise_stats import student
from equipoise_stats.crosscheck import said
from equipoise_stats.decomposition import Cell, cell_name, contrast
from equipoise_stats.layout import Layout
from equipoise_stats.records import Question, TaskScore
from equipoise_stats.results import CellLevel, CellLevelContrast, Contrast

FloatArray = npt.NDArray[np.float64]

MOST_ROWS = 2_000
# A component below this share of the total variance counts as being at the boundary.
INTERIOR = 1e-4
COMPONENTS = ("block", "task", "run")


def cell_level(
    tasks: Sequence[TaskScore], layout: Layout, contrasts: Sequence[Contrast], question: Question
) -> CellLevel:
    """Fit the crossed model on the complete blocks, or refuse.

    Args:
        tasks: checked task scores.
        layout: names the cells and the complete blocks.
        contrasts: the contrasts with a figure in the primary analysis; their df is borrowed.
        question: the registered question.
    """
    rows = _rows(tasks, layout)
    reason = _refusal(rows, layout)
    if reason:
        return CellLevel("refused", reason, len(rows))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit = _fit(rows, layout)
            covariance = np.asarray(fit.cov_params(), dtype=np.float64)
        except (np.linalg.LinAlgError, ValueError) as error:
            return CellLevel("refused", f"statsmodels raised {type(error).__name__}: {error}", len(rows))
    heard = said(caught)
    components = {name: float(v) for name, v in zip(sorted(COMPONENTS), fit.vcomp, strict=True)}
    components["residual"] = float(fit.scale)
    total = sum(components.values())
    small = [name for name in (*COMPONENTS, "residual") if components[name] < INTERIOR * total]
    if small or not fit.converged:
        why = f"the variance of {', '.join(small)} is at or near 0" if small else "the fit did not converge"
        reason = f"{why}: the library's standard errors mean nothing there"
        return CellLevel("refused", reason, len(rows), components=components, warnings=heard)
    size = len(layout.cells)
    means = np.asarray(fit.fe_params, dtype=np.float64)
    judged = _contrasts(means, covariance[:size, :size], layout, contrasts, question)
    how = "fitted; degrees of freedom are those of the run means, because the library has none"
    return CellLevel("fitted", how, len(rows), float(fit.llf), components, judged, heard)


def _rows(tasks: Sequence[TaskScore], layout: Layout) -> list[tuple[Cell, int, int, int, float]]:
    place, blocks = {cell: i for i, cell in enumerate(layout.cells)}, set(layout.blocks)
    rows = [
        ((t.condition, t.arm), t.block, t.task, t.twin, t.successes / t.episodes)
        for t in tasks
        if (t.condition, t.arm) in place and t.block in blocks
    ]
    # by the suite's order, not by the alphabet: names must not touch the last digits
    return sorted(rows, key=lambda row: (place[row[0]], *row[1:4]))


def _refusal(rows: Sequence[tuple[Cell, int, int, int, float]], layout: Layout) -> str:
    if not rows:
        return "no task scores in the complete blocks"
    if len(rows) > MOST_ROWS:
        return f"{len(rows)} rows: statsmodels is slow and stops short of the optimum beyond {MOST_ROWS}"
    if min(len(layout.blocks), len({task for _, _, task, _, _ in rows})) < 2 or len(layout.cells) < 2:
        return "it needs two cells, two complete blocks and two tasks"
    missing = [cell_name(cell) for cell in layout.cells if cell not in {row[0] for row in rows}]
    if missing:
        return f"no task scores of {', '.join(missing)}"
    if len({row[4] for row in rows}) == 1:
        return "all task scores are equal"
    return ""


def _fit(rows: Sequence[tuple[Cell, int, int, int, float]], layout: Layout) -> Any:
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

    place = {cell: i for i, cell in enumerate(layout.cells)}
    labels = {
        "block": [str(block) for _, block, _, _, _ in rows],
        "run": [f"{place[cell]}/{block}/{twin}" for cell, block, _, twin, _ in rows],
        "task": [str(task) for _, _, task, _, _ in rows],
    }
    names = sorted(COMPONENTS)
    columns = [sorted(set(labels[name])) for name in names]
    indicators = [
        np.array([[label == column for column in of] for label in labels[name]], dtype=np.float64)
        for name, of in zip(names, columns, strict=True)
    ]
    spec = VCSpec(names, [[of] for of in columns], [[matrix] for matrix in indicators])
    design = np.zeros((len(rows), len(layout.cells)))
    design[np.arange(len(rows)), [place[row[0]] for row in rows]] = 1.0
    model = MixedLM(
        np.array([row[4] for row in rows]), design, groups=np.zeros(len(rows), dtype=np.int64), exog_vc=spec
    )
    return model.fit(reml=True, method="powell")


def _contrasts(
    means: FloatArray,
    covariance: FloatArray,
    layout: Layout,
    contrasts: Sequence[Contrast],
    question: Question,
) -> tuple[CellLevelContrast, ...]:
    judged = []
    for primary in contrasts:
        if primary.m0 is None:
            continue
        vector = layout.coefficients(contrast(primary.condition, primary.kind, question))
        estimate, se = float(vector @ means), float(np.sqrt(vector @ covariance @ vector))
        p = float(student.two_sided_p(estimate / se, primary.m0.df))
        judged.append(CellLevelContrast(primary.condition, primary.kind, estimate, se, primary.m0.df, p))
    return tuple(judged)
