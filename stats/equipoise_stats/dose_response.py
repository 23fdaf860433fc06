"""M4, secondary: how success grows with the volume that was assigned, and how much volume a gain is worth.

Model: ``y ~ 0 + condition.role + x + (1 | block)`` by REML, with x the logarithm of assigned optimizer steps over those
of the matched arm, and role real or twin. Only assigned volumes enter: realised ones follow from how a run went. The
curve leans on its form, so its lack of fit and a saturating alternative, x = 1 - 1 / ratio, stand beside it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise_stats import student
from equipoise_stats.errors import StatsError
from equipoise_stats.figures import figures
from equipoise_stats.layout import Layout
from equipoise_stats.lmm import ftest, satterthwaite
from equipoise_stats.lmm.fit import fit
from equipoise_stats.lmm.model import Problem, intercept
from equipoise_stats.lmm.results import Fit
from equipoise_stats.records import Question, RunScore
from equipoise_stats.results import Estimate, Interval
from equipoise_stats.shares import fieller

FloatArray = npt.NDArray[np.float64]

FEWEST_VOLUMES = 3
# Volumes closer than this, relatively, are one.
_SAME = 0.01


@dataclass(frozen=True)
class EquivalentSteps:
    """How many times the steps would give a rule's content; None where the slope may be zero."""

    condition: str
    ratio: float | None
    ci: Interval | None


@dataclass(frozen=True)
class DoseResponse:
    """The curve, ``fitted`` or ``refused`` with the reason.

    Attributes:
        volumes: distinct assigned volumes, means of cells.
        slope: success gained with one unit of log steps, all conditions together.
        slopes: of each condition alone.
        lack_of_fit_p: of the F test that cells depart from the curve; None where no cell is left to depart.
        lack_of_fit_df: its degrees of freedom.
        saturating_gain: AIC of the logarithmic less that of the saturating curve (both by ML): above 0 the
            saturating one fits better.
        equivalents: by condition with a twin.
    """

    status: str
    reason: str
    rows: int
    volumes: int
    slope: Estimate | None = None
    slopes: tuple[tuple[str, Estimate], ...] = ()
    lack_of_fit_p: float | None = None
    lack_of_fit_df: tuple[float, float] | None = None
    saturating_gain: float | None = None
    equivalents: tuple[EquivalentSteps, ...] = ()


def dose_response(runs: Sequence[RunScore], layout: Layout, question: Question) -> DoseResponse:
    """Fit the curve where at least three volumes were assigned, or say why not.

    Args:
        runs: checked run scores with the steps assigned to them.
        layout: names the cells that may be used.
        question: the registered question.
    """
    place = {cell: i for i, cell in enumerate(layout.cells)}
    rows = sorted(
        (r for r in runs if (r.condition, r.arm) in place),
        key=lambda r: (place[r.condition, r.arm], r.block, r.twin),
    )
    unknown = sum(r.steps is None for r in rows)
    if unknown or not rows:
        why = f"{unknown} of {len(rows)} runs were assigned no steps, or do not say them"
        return DoseResponse("refused", why, len(rows), 0)
    x, cells = _log_ratio(rows), np.array([place[r.condition, r.arm] for r in rows])
    volumes = _volumes([float(x[cells == i].mean()) for i in range(len(place)) if (cells == i).any()])
    if volumes < FEWEST_VOLUMES:
        reason = f"{volumes} different volumes were assigned; a curve needs {FEWEST_VOLUMES}"
        return DoseResponse("refused", reason, len(rows), volumes)
    try:
        return _fitted(rows, x, cells, volumes, question)
    except StatsError as error:
        return DoseResponse("refused", "; ".join(error.faults), len(rows), volumes)


def _log_ratio(rows: Sequence[RunScore]) -> FloatArray:
    steps = np.array([float(r.steps or 0) for r in rows])
    matched = [r.steps for r in rows if r.arm == "matched" and r.steps]
    return np.asarray(np.log(steps / float(np.mean(matched or steps))), dtype=np.float64)


def _volumes(means: Sequence[float]) -> int:
    ordered = sorted(means)
    return 1 + sum(b - a > _SAME for a, b in itertools.pairwise(ordered))


def _fitted(
    rows: Sequence[RunScore], x: FloatArray, cells: npt.NDArray[np.int64], volumes: int, question: Question
) -> DoseResponse:
    keys = [(r.condition, "twin" if r.arm == "twin" else "real") for r in rows]
    groups = [(c, role) for c in question.conditions for role in ("real", "twin") if (c, role) in set(keys)]
    design = np.array([[float(key == group) for group in groups] for key in keys])
    names = tuple(f"group{i:03d}" for i in range(len(groups)))
    curve = _fit(rows, np.column_stack([design, x]), (*names, "x"))
    contrast = np.eye(len(groups) + 1)
    slope = _estimate(curve, contrast[-1], question.alpha)
    conditions = [c for c in question.conditions if _varies(c, rows, x)]
    by_rule = np.column_stack([x * [float(r.condition == c) for r in rows] for c in conditions])
    apart = _fit(
        rows, np.column_stack([design, by_rule]), (*names, *(f"x{i}" for i in range(len(conditions))))
    )
    wide = np.eye(len(groups) + len(conditions))[len(groups) :]
    lack = _lack_of_fit(rows, np.column_stack([design, x]), (*names, "x"), cells)
    logarithmic, saturating = (
        _fit(rows, np.column_stack([design, column]), (*names, "x"), reml=False).AIC
        for column in (x, 1.0 - np.exp(-x))
    )
    equivalents = tuple(
        _equivalent(
            c, curve, contrast[groups.index((c, "real"))] - contrast[groups.index((c, "twin"))], question
        )
        for c in question.conditions
        if {(c, "real"), (c, "twin")} <= set(groups)
    )
    return DoseResponse(
        "fitted",
        "",
        len(rows),
        volumes,
        slope,
        tuple((c, _estimate(apart, row, question.alpha)) for c, row in zip(conditions, wide, strict=True)),
        None if lack is None else lack.p,
        None if lack is None else (float(lack.numerator), lack.denominator),
        logarithmic - saturating,
        equivalents,
    )


def _varies(condition: str, rows: Sequence[RunScore], x: FloatArray) -> bool:
    own = x[[r.condition == condition for r in rows]]
    return own.size > 0 and float(np.ptp(own)) > _SAME


def _fit(rows: Sequence[RunScore], design: FloatArray, names: tuple[str, ...], *, reml: bool = True) -> Fit:
    y = np.array([r.y for r in rows])
    return fit(Problem(y, design, names, (intercept("block", np.array([r.block for r in rows])),)), reml=reml)


def _estimate(of: Fit, row: FloatArray, alpha: float) -> Estimate:
    df = float(satterthwaite.df(of, row)[0])
    return figures(float(row @ of.beta), math.sqrt(float(row @ of.vcov @ row)), df, alpha)


def _lack_of_fit(
    rows: Sequence[RunScore], design: FloatArray, names: tuple[str, ...], cells: npt.NDArray[np.int64]
) -> ftest.FTest | None:
    """The F test of what the cells say beyond the curve; None where the curve says it all."""
    extra = np.array([[float(cell == i) for i in range(int(cells.max()) + 1)] for cell in cells])
    beyond = tuple(f"cell{i:03d}" for i in range(extra.shape[1]))
    wide = _fit(rows, np.column_stack([design, extra]), (*names, *beyond))
    kept = [i for i, name in enumerate(wide.names) if name.startswith("cell")]
    return ftest.f_test(wide, np.eye(len(wide.names))[kept]) if kept else None


def _equivalent(condition: str, curve: Fit, row: FloatArray, question: Question) -> EquivalentSteps:
    """exp(content / slope) with Fieller's interval of the exponent."""
    last = np.eye(row.size)[-1]
    both = np.array([row, last])
    df = float(satterthwaite.df(curve, last)[0])
    estimates = both @ curve.beta
    ends = fieller(estimates, both @ curve.vcov @ both.T, student.critical(question.alpha, df))
    if ends is None or max(abs(end) for end in ends) > math.log(1e6):
        return EquivalentSteps(condition, None, None)
    ratio = math.exp(float(estimates[0] / estimates[1]))
    return EquivalentSteps(condition, ratio, (math.exp(ends[0]), math.exp(ends[1])))
