"""Profile-likelihood intervals of standard deviations and correlations.

The deviance of a parameter is twice the fall of the ML log-likelihood when it is held and all else is at its best;
the interval holds the values whose deviance is below the quantile of chi-squared with one degree of freedom (Bates et
al. 2015, section 5.1: the criterion is the likelihood, also after a REML fit). An end that the deviance never reaches
is the end of the parameter's range: 0, or a correlation of -1 or 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import linear
from equipoise_stats.lmm.cone import Block, block, gradient_matrix
from equipoise_stats.lmm.fit import Solution, fit_standardised
from equipoise_stats.lmm.model import FloatArray
from equipoise_stats.lmm.newton import Ascent, Held, ascend, point
from equipoise_stats.lmm.results import Fit
from equipoise_stats.lmm.satterthwaite import solution


@dataclass(frozen=True)
class Interval:
    """A profile interval.

    Attributes:
        term: name of the random term, or "Residual".
        columns: one column for a standard deviation, two for a correlation, () for the residual.
        estimate: maximum-likelihood estimate of the standard deviation (units of y) or correlation.
        low: lower end.
        high: upper end.
    """

    term: str
    columns: tuple[str, ...]
    estimate: float
    low: float
    high: float


def intervals(fit: Fit, level: float = 0.95) -> tuple[Interval, ...]:
    """Intervals of every standard deviation and correlation, in the order of the fit's components.

    Args:
        fit: a fit by REML or ML.
        level: coverage.

    Raises:
        StatsError: a level outside (0, 1), or a term of more than two columns.
    """
    solved = solution(fit)
    if not 0 < level < 1:
        raise StatsError(f"profile interval: expected a level between 0 and 1, got {level}")
    wide = [term.name for term in solved.problem.terms if term.width > 2]
    if wide:
        raise StatsError(
            f"profile interval: expected terms of one or two columns, got more in {', '.join(wide)}"
        )
    from scipy.stats import chi2

    best = fit_standardised(solved.system, reml=False)
    bound = float(chi2.ppf(level, 1))
    found: list[Interval] = []
    for index, term in enumerate(solved.problem.terms):
        profile = _Term(solved, best, index)
        if term.width == 1:
            found.append(_interval(profile.one, float(profile.sds()[0]), bound, (term.name, term.columns)))
            continue
        for which in (0, 2, 1):
            columns = term.columns if which == 2 else (term.columns[which],)
            found.append(
                _interval(profile.two(which), profile.estimate()[which], bound, (term.name, columns))
            )
    sigma = float(np.sqrt(best.at.sigma2)) * solved.system.scale
    found.append(_interval(_residual(solved, best), sigma, bound, ("Residual", ())))
    return tuple(found)


Deviance = Callable[[float], float]


def _residual(solved: Solution, best: Ascent) -> Deviance:
    def deviance(sigma: float) -> float:
        sigma2 = (sigma / solved.system.scale) ** 2
        start = point(solved.system, sigma2, best.at.blocks, reml=False, held=Held(residual=True))
        there = ascend(start, reml=False, held=Held(residual=True))
        return 2 * (best.at.loglik - there.at.loglik)

    return deviance


@dataclass(frozen=True)
class _Term:
    """One random term held at chosen values while the rest is at its best."""

    solved: Solution
    best: Ascent
    index: int

    def sds(self) -> FloatArray:
        """ML standard deviations of the term's columns."""
        return np.asarray(np.sqrt(np.diag(self._matrix())), dtype=np.float64)

    def _matrix(self) -> FloatArray:
        back = linear.inverse(self.solved.system.white[self.index]) * self.solved.system.scale
        return np.asarray(back @ self.best.at.blocks[self.index].matrix @ back.T, dtype=np.float64)

    def estimate(self) -> tuple[float, float, float]:
        """Both standard deviations and the correlation, 0 where a standard deviation is 0."""
        first, second = self.sds()
        both = float(first * second)
        return float(first), float(second), float(self._matrix()[0, 1]) / both if both > 0 else 0.0

    def _held(self, own: Block) -> Ascent:
        blocks = tuple(own if i == self.index else b for i, b in enumerate(self.best.at.blocks))
        held = Held(terms=frozenset({self.index}))
        start = point(self.solved.system, self.best.at.sigma2, blocks, reml=False, held=held)
        return ascend(start, reml=False, held=held)

    def one(self, sd: float) -> float:
        """Deviance of the standard deviation of a single column."""
        forward = float(self.solved.system.white[self.index][0, 0]) / self.solved.system.scale
        own = block(np.array([[(sd * forward) ** 2]]))
        return 2 * (self.best.at.loglik - self._held(own).at.loglik)

    def two(self, which: int) -> Deviance:
        """Deviance of one of (sd, sd, correlation) of a pair of columns, the other two at their best."""
        rest = [i for i in range(3) if i != which]
        estimate = np.array(self.estimate())
        ends = [(0.0, None), (0.0, None), (-1.0, 1.0)]
        size = np.append(np.maximum(estimate[:2], 1e-3 * self._unit()), 1.0)

        def deviance(value: float) -> float:
            from scipy.optimize import minimize

            def objective(free: FloatArray) -> tuple[float, FloatArray]:
                at = estimate.copy()
                at[which], at[rest] = value, free * size[rest]
                loglik, gradient = self._pair(at)
                return 2 * (self.best.at.loglik - loglik), -2 * gradient[rest] * size[rest]

            low = [-0.95 if i == 2 else 0.05 for i in rest]
            start = np.clip(estimate[rest] / size[rest], low, [0.95 if i == 2 else np.inf for i in rest])
            options = {"ftol": 1e-13, "gtol": 1e-8}
            bounds = [ends[i] for i in rest]
            found: Any = minimize(
                cast("Any", objective),
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options=cast("Any", options),
            )
            return float(found.fun)

        return deviance

    def _unit(self) -> FloatArray:
        back = linear.inverse(self.solved.system.white[self.index]) * self.solved.system.scale
        return np.asarray(np.sqrt(np.diag(back @ back.T)), dtype=np.float64)

    def _pair(self, at: FloatArray) -> tuple[float, FloatArray]:
        """Profiled log-likelihood at (sd, sd, correlation) and, by the envelope theorem, its gradient."""
        one, two, rho = at
        forward = self.solved.system.white[self.index] / self.solved.system.scale
        own = block(forward @ np.array([[one**2, rho * one * two], [rho * one * two, two**2]]) @ forward.T)
        there = self._held(own)
        start = 1 + sum(b.size * (b.size + 1) // 2 for b in self.best.at.blocks[: self.index])
        s = forward.T @ gradient_matrix(there.by_tau.score[start : start + 3], 2) @ forward
        gradient = [2 * (s[0, 0] * one + s[0, 1] * rho * two), 2 * (s[1, 1] * two + s[0, 1] * rho * one)]
        return there.at.loglik, np.array([*gradient, 2 * s[0, 1] * one * two])


def _interval(
    deviance: Deviance, estimate: float, bound: float, name: tuple[str, tuple[str, ...]]
) -> Interval:
    term, columns = name
    if len(columns) == 2:
        low = _end(deviance, estimate, -1.0, bound)
        return Interval(term, columns, estimate, low, _end(deviance, estimate, 1.0, bound))
    high = max(estimate, 1e-8) * 1.5
    if estimate == 0:
        high = _first_high(deviance, bound)
    while deviance(high) < bound:
        high *= 1.5
    floor = 0.0
    if not columns:
        floor = estimate / 1.5
        while deviance(floor) < bound:
            floor /= 1.5
    low = _end(deviance, estimate, floor, bound)
    return Interval(term, columns, estimate, low, _end(deviance, estimate, high, bound))


def _first_high(deviance: Deviance, bound: float) -> float:
    """A value above which to look, when the estimate is 0 and gives no scale."""
    high = 1.0
    while deviance(high) > bound:
        high /= 4
    return high


def _end(deviance: Deviance, estimate: float, end: float, bound: float) -> float:
    """Where the deviance crosses the bound between the estimate and an end; the end if it does not."""
    from scipy.optimize import brentq

    if deviance(end) <= bound:
        return end

    def gap(value: float) -> float:
        at = 0.0 if value == estimate else max(deviance(value), 0.0)
        return float(np.sqrt(at) - np.sqrt(bound))

    return float(brentq(gap, estimate, end, xtol=1e-9 * max(abs(estimate), abs(end)), rtol=1e-9))
