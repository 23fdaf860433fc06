"""The layout as tables: cell means with their own errors, and the analysis of variance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from equipoise_stats import figures
from equipoise_stats.decomposition import Cell, cell_name
from equipoise_stats.layout import Layout
from equipoise_stats.records import ARMS, Question, RunScore
from equipoise_stats.results import CellMean, StratumTable
from equipoise_stats.stratum import Stratum

FloatArray = npt.NDArray[np.float64]


def stratum_table(stratum: Stratum | None, layout: Layout) -> StratumTable | None:
    """The mean squares of a layout with the covariance of its cell means; None where there is no error."""
    if stratum is None:
        return None
    return StratumTable(
        cells=tuple(cell_name(cell) for cell in layout.cells),
        blocks=stratum.blocks,
        ms_error=float(stratum.ms_error),
        df_error=stratum.df_error,
        error_sd=math.sqrt(float(stratum.ms_error)),
        ms_block=float(stratum.ms_block),
        df_block=stratum.df_block,
        block_variance=float(stratum.block_variance),
        covariance=_rows(stratum.covariance()),
        sample_covariance=_rows(np.cov(layout.y) / stratum.blocks),
    )


def _rows(matrix: FloatArray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(v) for v in row) for row in matrix)


def cell_means(runs: Sequence[RunScore], layout: Layout, question: Question) -> tuple[CellMean, ...]:
    """Every cell with a run, in the suite's order; means over the complete blocks only."""
    counted: dict[Cell, list[RunScore]] = {}
    for run in runs:
        counted.setdefault((run.condition, run.arm), []).append(run)
    order = {condition: place for place, condition in enumerate(question.conditions)}
    return tuple(
        _cell(cell, counted[cell], layout, question)
        for cell in sorted(counted, key=lambda cell: (order[cell[0]], ARMS.index(cell[1])))
    )


def _cell(cell: Cell, runs: Sequence[RunScore], layout: Layout, question: Question) -> CellMean:
    diverged = sum(run.diverged for run in runs)
    twins = len({run.twin for run in runs}) if cell[1] == "twin" else 0
    if cell not in layout.cells or not layout.blocks:
        note = layout.barred.get(cell) or (
            "no complete block"
            if cell in layout.cells
            else "credit is the same at every turn: the twin moves nothing"
        )
        return CellMean(*cell, len(runs), diverged, 0, twins, None, None, None, None, note)
    scores = layout.y[layout.cells.index(cell)]
    if scores.size < 2:
        mean = float(scores.mean())
        return CellMean(*cell, len(runs), diverged, 1, twins, mean, None, None, None, "one complete block")
    figure = figures.of_differences(scores, question.alpha)
    sd = figure.se * math.sqrt(scores.size)
    return CellMean(
        *cell, len(runs), diverged, scores.size, twins, figure.estimate, sd, figure.se, figure.ci, ""
    )
