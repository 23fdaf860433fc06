"""Success rates and risk differences, marginal over the random effects or at random effects of zero.

A logit mixed model speaks of a task of average difficulty in an average run: at u = 0 its risk differences
are larger than those of the population of tasks. The marginal rate of a cell with log odds m is
E[expit(m + s z)], z ~ N(0, 1), with s^2 the sum of the random variances (independent intercepts add up to one
normal). It is integrated by Gauss-Hermite quadrature; standard errors are by the delta method over
coefficients and SDs jointly. (Zeger, Liang & Albert 1988, *Biometrics* 44.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from equipoise_stats.glmm.fit import Fit
from equipoise_stats.glmm.laplace import expit
from equipoise_stats.glmm.model import FloatArray
from equipoise_stats.glmm.wald import Wald, check_vectors, rows, why_not

# Errors of 2e-8 at an SD of 5 and 2e-5 at 8 on the logit scale; weights of more nodes underflow.
NODES = 300


@dataclass(frozen=True)
class Rates:
    """Success rates of cells.

    Attributes:
        labels: m cells.
        marginal: over the random effects, or at random effects of zero.
        values: (m,) rates in (0, 1); NaN where not estimable.
        covariance: (m, m) by the delta method; 0 in rows and columns without a rate.
        reasons: why a rate is missing; empty where it is not.
    """

    labels: tuple[str, ...]
    marginal: bool
    values: FloatArray
    covariance: FloatArray
    reasons: tuple[str, ...]

    @property
    def scale(self) -> str:
        """What kind of rate it is, in words."""
        return "marginal" if self.marginal else "conditional on random effects of 0"


def rates(fit: Fit, cells: FloatArray, labels: Sequence[str], *, marginal: bool = True) -> Rates:
    """The success rates of (m, p) design rows.

    Args:
        fit: the model.
        cells: one design row a cell.
        labels: m names.
        marginal: over the random effects; False for the rates at random effects of zero (what emmeans calls
            the response scale).

    Raises:
        StatsError: where cells and labels do not fit the model's columns.
    """
    check_vectors(cells, labels, len(fit.names))
    known = np.array(fit.basis.estimable(cells), dtype=bool)
    kept = cells[:, fit.basis.kept]
    sds = fit.sds if marginal else np.zeros(len(fit.components))
    mean, slope, bend = _moments(kept @ fit.kept_beta, float(np.sqrt(np.sum(np.square(sds)))))
    jacobian = np.hstack([bend[:, None] * sds, slope[:, None] * kept])
    jacobian[~known] = 0.0
    reasons = tuple("" if k else why_not(fit, c) for k, c in zip(known, cells, strict=True))
    covariance = np.asarray(jacobian @ fit.joint @ jacobian.T, dtype=np.float64)
    return Rates(tuple(labels), marginal, np.where(known, mean, np.nan), covariance, reasons)


def _moments(log_odds: FloatArray, spread: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """E f, E f', E f'' of f = expit at N(log odds, spread^2): dE f/dm = E f', dE f/ds = s E f''."""
    nodes, weights = _hermite()
    p = expit(log_odds[:, None] + spread * nodes)
    slope = p * (1.0 - p)
    return p @ weights, slope @ weights, (slope * (1.0 - 2.0 * p)) @ weights


@cache
def _hermite() -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return nodes, weights / weights.sum()


def rate_table(found: Rates, *, level: float = 0.95) -> tuple[Wald, ...]:
    """Rates with intervals that are symmetric in log odds; z and p are against a rate of one half."""
    from scipy.special import ndtri

    values = np.where(np.isnan(found.values), 0.5, found.values)
    link = np.log(values) - np.log1p(-values)
    stretch = 1.0 / (values * (1.0 - values))
    on_link = rows(
        found.labels, "", link, found.covariance * np.outer(stretch, stretch), found.reasons, level=level
    )
    half = float(ndtri(0.5 + level / 2.0))
    table = []
    for i, row in enumerate(on_link):
        if row.reason or row.se is None:
            table.append(Wald(row.label, f"rate ({found.scale})", reason=row.reason))
            continue
        low, high = expit(np.array([link[i] - half * row.se, link[i] + half * row.se])).tolist()
        se = float(np.sqrt(found.covariance[i, i]))
        scale = f"rate ({found.scale})"
        table.append(Wald(row.label, scale, float(values[i]), se, row.z, row.p, row.p, (low, high)))
    return tuple(table)


def risk_differences(
    found: Rates, vectors: FloatArray, labels: Sequence[str], *, level: float = 0.95, adjust: str = "none"
) -> tuple[Wald, ...]:
    """Contrasts of rates, such as one cell minus another.

    Args:
        found: the rates of m cells.
        vectors: (c, m) one row a contrast.
        labels: c names.
        level: coverage of the intervals.
        adjust: as in ``wald.contrasts``.

    Raises:
        StatsError: for vectors of the wrong shape or an unknown adjustment.
    """
    check_vectors(vectors, labels, len(found.labels))
    reasons = [
        "; ".join(dict.fromkeys(r for r, weight in zip(found.reasons, vector, strict=True) if r and weight))
        for vector in vectors
    ]
    estimates = vectors @ np.where(np.isnan(found.values), 0.0, found.values)
    covariance = vectors @ found.covariance @ vectors.T
    scale = f"risk difference ({found.scale})"
    return rows(labels, scale, estimates, covariance, reasons, level=level, adjust=adjust)
