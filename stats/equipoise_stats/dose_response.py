"""M4, secondary: how success grows with the volume that was assigned, and how much volume a gain is worth.

Model: ``y ~ 0 + condition.role + x + (1 | block)`` by REML, with x the logarithm of the assigned dose over that of the
matched arm, and role real or twin. The dose is the optimizer steps, or Kish's effective sample size of the plan. Only
assigned doses enter: realised ones follow from how a run went. The curve leans on its form, so its lack of fit, a
natural spline, slopes apart and a saturating alternative, x = 1 - 1 / ratio, stand beside it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from equipoise_stats import dose_shape, student
from equipoise_stats.dose_shape import CurveTest, Layer
from equipoise_stats.errors import StatsError
from equipoise_stats.figures import figures
from equipoise_stats.layout import Layout
from equipoise_stats.lmm import satterthwaite
from equipoise_stats.lmm.results import Fit
from equipoise_stats.records import Question, RunScore
from equipoise_stats.results import Estimate, Interval
from equipoise_stats.shares import fieller

FloatArray = npt.NDArray[np.float64]

FEWEST_VOLUMES = 3
STEPS, ESS = "steps", "ess"
_WORDS = {STEPS: "steps", ESS: "effective sample size"}
# Volumes closer than this, relatively, are one.
_SAME = 0.01


@dataclass(frozen=True)
class EquivalentSteps:
    """How many times the dose would give a rule's content; None where the slope may be zero."""

    condition: str
    ratio: float | None
    ci: Interval | None


@dataclass(frozen=True)
class DoseResponse:
    """The curve, ``fitted`` or ``refused`` with the reason.

    Attributes:
        dose: ``steps`` or ``ess``, what was assigned.
        volumes: distinct assigned doses, means of cells.
        slope: success gained with one unit of the log dose, all conditions together.
        slopes: of each condition alone.
        lack_of_fit: of cells beyond the line; None where no cell is left to depart.
        saturating_gain: AIC of the logarithmic less that of the saturating curve (both by ML): above 0 the
            saturating one fits better.
        equivalents: by condition with a twin.
        curvature: of a natural spline with two degrees of freedom beyond the line.
        unequal_slopes: of slopes apart beyond that spline.
        beyond_spline: of cells beyond spline and slopes; these three are None where they would add nothing.
    """

    status: str
    reason: str
    rows: int
    volumes: int
    slope: Estimate | None = None
    slopes: tuple[tuple[str, Estimate], ...] = ()
    lack_of_fit: CurveTest | None = None
    saturating_gain: float | None = None
    equivalents: tuple[EquivalentSteps, ...] = ()
    dose: str = STEPS
    curvature: CurveTest | None = None
    unequal_slopes: CurveTest | None = None
    beyond_spline: CurveTest | None = None


def dose_response(
    runs: Sequence[RunScore], layout: Layout, question: Question, dose: str = STEPS
) -> DoseResponse:
    """Fit the curve where at least three doses were assigned, or say why not.

    Args:
        runs: checked run scores with the doses assigned to them.
        layout: names the cells that may be used.
        question: the registered question.
        dose: ``steps`` or ``ess``.
    """
    place = {cell: i for i, cell in enumerate(layout.cells)}
    rows = sorted(
        (r for r in runs if (r.condition, r.arm) in place),
        key=lambda r: (place[r.condition, r.arm], r.block, r.twin),
    )
    amounts = [r.ess if dose == ESS else r.steps for r in rows]
    unknown = sum(amount is None for amount in amounts)
    if unknown or not rows:
        why = f"{unknown} of {len(rows)} runs were assigned no {_WORDS[dose]}, or do not say them"
        return DoseResponse("refused", why, len(rows), 0, dose=dose)
    x = _log_ratio(rows, [float(amount or 0) for amount in amounts])
    cells = np.array([place[r.condition, r.arm] for r in rows])
    volumes = _volumes([float(x[cells == i].mean()) for i in range(len(place)) if (cells == i).any()])
    if volumes < FEWEST_VOLUMES:
        reason = f"{volumes} different volumes were assigned; a curve needs {FEWEST_VOLUMES}"
        return DoseResponse("refused", reason, len(rows), volumes, dose=dose)
    try:
        return replace(_fitted(rows, x, cells, volumes, question), dose=dose)
    except StatsError as error:
        return DoseResponse("refused", "; ".join(error.faults), len(rows), volumes, dose=dose)


def _log_ratio(rows: Sequence[RunScore], amounts: Sequence[float]) -> FloatArray:
    matched = [amount for r, amount in zip(rows, amounts, strict=True) if r.arm == "matched"]
    return np.asarray(np.log(np.array(amounts) / float(np.mean(matched or amounts))), dtype=np.float64)


def _volumes(means: Sequence[float]) -> int:
    ordered = sorted(means)
    return 1 + sum(b - a > _SAME for a, b in itertools.pairwise(ordered))


def _fitted(
    rows: Sequence[RunScore], x: FloatArray, cells: npt.NDArray[np.int64], volumes: int, question: Question
) -> DoseResponse:
    y, blocks = np.array([r.y for r in rows]), np.array([r.block for r in rows])
    keys = [(r.condition, "twin" if r.arm == "twin" else "real") for r in rows]
    groups = [(c, role) for c in question.conditions for role in ("real", "twin") if (c, role) in set(keys)]
    means = dose_shape.indicators(np.array([groups.index(key) for key in keys]), "group")
    line, spline = Layer(("x",), x[:, None]), dose_shape.spline(x)
    curve = dose_shape.fitted(y, means + line, blocks)
    contrast = np.eye(len(groups) + 1)
    conditions = [c for c in question.conditions if _varies(c, rows, x)]
    by_rule = Layer(
        tuple(f"slope{i:03d}" for i in range(len(conditions))),
        np.column_stack([x * [float(r.condition == c) for r in rows] for c in conditions]),
    )
    apart = dose_shape.fitted(y, means + by_rule, blocks)
    wide = np.eye(len(groups) + len(conditions))[len(groups) :]
    saturated = dose_shape.indicators(cells, "cell")
    logarithmic, saturating = (
        dose_shape.fitted(y, means + Layer(("x",), column[:, None]), blocks, reml=False).AIC
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
        _estimate(curve, contrast[-1], question.alpha),
        tuple((c, _estimate(apart, row, question.alpha)) for c, row in zip(conditions, wide, strict=True)),
        dose_shape.added(y, means + line, saturated, blocks),
        logarithmic - saturating,
        equivalents,
        curvature=dose_shape.added(y, means + line, spline, blocks),
        unequal_slopes=dose_shape.added(y, means + spline, by_rule, blocks),
        beyond_spline=dose_shape.added(y, means + spline + by_rule, saturated, blocks),
    )


def _varies(condition: str, rows: Sequence[RunScore], x: FloatArray) -> bool:
    own = x[[r.condition == condition for r in rows]]
    return own.size > 0 and float(np.ptp(own)) > _SAME


def _estimate(of: Fit, row: FloatArray, alpha: float) -> Estimate:
    df = float(satterthwaite.df(of, row)[0])
    return figures(float(row @ of.beta), math.sqrt(float(row @ of.vcov @ row)), df, alpha)


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
