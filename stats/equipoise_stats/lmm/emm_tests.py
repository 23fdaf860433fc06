"""Estimates, tests and simultaneous intervals of linear functions, with one error level for each family."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from equipoise_stats import student
from equipoise_stats.errors import StatsError
from equipoise_stats.lmm.emm import Functions, Point
from equipoise_stats.lmm.model import FloatArray
from equipoise_stats.multiplicity import holm

Adjust = Literal["none", "holm", "bonferroni", "dunnettx", "mvt", "tukey"]
Test = Literal["difference", "equivalence", "greater", "less"]
ADJUSTMENTS: tuple[Adjust, ...] = ("none", "holm", "bonferroni", "dunnettx", "mvt", "tukey")
# A function whose variance is below this share of its scale is the constant 0: it has no test.
NO_VARIANCE = 1e-24


@dataclass(frozen=True)
class Row:
    """One function's result; every number is None where the data do not determine it.

    Attributes:
        labels: what the function is about.
        estimable: whether the data determine it; False is "not estimable", never 0.
        estimate: in units of the response.
        se: standard error.
        df: degrees of freedom.
        lower: lower end of the interval, simultaneous in its family under an adjustment.
        upper: upper end.
        t: statistic of the test.
        p: p value, adjusted for the family.
    """

    labels: Point
    estimable: bool
    estimate: float | None = None
    se: float | None = None
    df: float | None = None
    lower: float | None = None
    upper: float | None = None
    t: float | None = None
    p: float | None = None


@dataclass(frozen=True)
class _Family:
    estimate: FloatArray
    se: FloatArray
    df: FloatArray
    correlation: FloatArray
    compared: int
    members: int


def summary(
    of: Functions,
    *,
    adjust: Adjust = "none",
    level: float = 0.95,
    test: Test = "difference",
    delta: float = 0.0,
) -> tuple[Row, ...]:
    """Estimate and test every function.

    A member of a family that is not estimable still counts, as in emmeans: it was asked for. Only "mvt" goes by the
    estimable ones, whose correlation it knows (emmeans gives no p there).

    Args:
        of: means, slopes or contrasts.
        adjust: Holm (intervals by Bonferroni), Bonferroni, the Dunnett approximation of emmeans, the exact largest t
            ("mvt"), or Tukey's range for pairwise comparisons.
        level: coverage of the intervals.
        test: "difference" (from 0, two-sided), "equivalence" (within +-delta: the larger of two one-sided p values),
            "greater" (than -delta: non-inferiority; than 0 without a delta), "less" (than +delta).
        delta: the margin, in units of the response.

    Raises:
        StatsError: an adjustment, margin or level that does not go with the rest.
    """
    _check(of, adjust, level, test, delta)
    fit = of.model.fit
    sure = of.model.estimable(of.rows)
    found = [Row(label, estimable=False) for label in of.labels]
    for places in of.families():
        here = [place for place in places if sure[place]]
        if not here:
            continue
        rows = of.rows[np.ix_(here, of.model.kept)]
        family = replace(_family(of, rows, rows @ fit.beta), members=len(places))
        t, p = _tests(family, adjust, test, delta)
        reach = _critical(family, adjust, level) * family.se
        for k, place in enumerate(here):
            found[place] = replace(
                found[place],
                estimable=True,
                estimate=float(family.estimate[k]),
                se=float(family.se[k]),
                df=float(family.df[k]),
                lower=float(family.estimate[k] - reach[k]),
                upper=float(family.estimate[k] + reach[k]),
                t=float(t[k]),
                p=float(p[k]),
            )
    return tuple(found)


def _check(of: Functions, adjust: Adjust, level: float, test: Test, delta: float) -> None:
    faults = []
    if adjust not in ADJUSTMENTS:
        faults.append(f"adjust: expected one of {', '.join(ADJUSTMENTS)}, got {adjust!r}")
    if adjust == "tukey" and not of.compared:
        faults.append('adjust: "tukey" expects pairwise contrasts; use "mvt" for other families')
    if test not in ("difference", "equivalence", "greater", "less"):
        faults.append(f"test: expected difference, equivalence, greater or less, got {test!r}")
    elif test != "difference" and adjust not in ("none", "holm", "bonferroni"):
        faults.append(f'adjust: one-sided tests go with "none", "holm" or "bonferroni", got {adjust!r}')
    if not (math.isfinite(delta) and delta >= 0) or (test == "equivalence" and delta == 0):
        faults.append(f"delta: expected a margin above 0 (0 for superiority), got {delta}")
    if test == "difference" and delta != 0:
        faults.append(f"delta: a difference from 0 has no margin, got {delta}; name the test")
    if not 0 < level < 1:
        faults.append(f"level: expected between 0 and 1, such as 0.95, got {level}")
    if faults:
        raise StatsError(faults)


def _family(of: Functions, rows: FloatArray, estimate: FloatArray) -> _Family:
    covariance = rows @ of.model.vcov @ rows.T
    variance = np.diag(covariance)
    if (variance <= NO_VARIANCE * np.maximum(np.square(estimate), 1.0)).any():
        raise StatsError("contrast: expected coefficients that differ from 0, got one without variance")
    se = np.sqrt(variance)
    correlation = covariance / np.outer(se, se)
    np.fill_diagonal(correlation, 1.0)
    return _Family(estimate, se, of.model.freedom(rows), correlation, of.compared, se.size)


def _tests(family: _Family, adjust: Adjust, test: Test, delta: float) -> tuple[FloatArray, FloatArray]:
    estimate, se, df = family.estimate, family.se, family.df
    if test == "difference":
        t = estimate / se
        raw = student.two_sided_p(t, df)
    elif test == "equivalence":
        t = (np.abs(estimate) - delta) / se
        raw = student.upper_p(-t, df)
    elif test == "greater":
        t = (estimate + delta) / se
        raw = student.upper_p(t, df)
    else:
        t = (estimate - delta) / se
        raw = student.upper_p(-t, df)
    if adjust == "holm":
        return t, holm(np.append(raw, np.ones(family.members - raw.size)))[: raw.size]
    if adjust == "bonferroni":
        return t, np.minimum(1.0, raw * family.members)
    tail = _tail(family, adjust)
    if tail is None:
        return t, raw
    return t, np.array([tail(abs(float(t[k])), float(df[k])) for k in range(t.size)])


def _tail(family: _Family, adjust: Adjust) -> Callable[[float, float], float] | None:
    members = family.members
    if adjust == "none" or members == 1:
        return None
    if adjust == "dunnettx":
        return lambda t, df: student.dunnettx_p(t, members, df)
    if adjust == "tukey":
        return lambda t, df: student.studentized_range_p(math.sqrt(2.0) * t, family.compared, df)
    return lambda t, df: student.max_t_p(t, family.correlation, df)


def _critical(family: _Family, adjust: Adjust, level: float) -> FloatArray:
    """(m,) half-widths in standard errors; functions with the same degrees of freedom share one search."""
    error, members = 1.0 - level, family.members
    tail = None if adjust in ("holm", "bonferroni") else _tail(family, adjust)
    if tail is None:
        share = members if adjust in ("holm", "bonferroni") else 1
        return np.array([student.critical(error / share, float(df)) for df in family.df])
    by_df: dict[float, float] = {}
    for df in family.df:
        key = float(f"{df:.6g}")
        if key not in by_df:
            by_df[key] = student.family_critical(error, members, key, functools.partial(_swap, tail, key))
    return np.array([by_df[float(f"{df:.6g}")] for df in family.df])


def _swap(tail: Callable[[float, float], float], df: float, t: float) -> float:
    return tail(t, df)
