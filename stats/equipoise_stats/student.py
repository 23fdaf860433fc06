"""Student's t: tests, intervals, power, and the largest of several correlated t."""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc, gammaln, ndtr, ndtri, stdtr, stdtrit

FloatArray = npt.NDArray[np.float64]

_NODES = 200
# Seeds the quasi Monte Carlo integration of correlations that no single common factor produces.
_MAX_T_SEED = 20_240_607


def two_sided_p(t: npt.ArrayLike, df: npt.ArrayLike) -> FloatArray:
    """P(|T| >= |t|) with df degrees of freedom, elementwise."""
    return np.asarray(2.0 * stdtr(np.asarray(df, dtype=np.float64), -np.abs(t)), dtype=np.float64)


def upper_p(t: npt.ArrayLike, df: npt.ArrayLike) -> FloatArray:
    """P(T >= t) with df degrees of freedom, elementwise."""
    freedom, value = np.asarray(df, dtype=np.float64), np.asarray(t, dtype=np.float64)
    return np.asarray(stdtr(freedom, -value), dtype=np.float64)


def critical(level: float, df: float) -> float:
    """The c with P(|T| > c) = level."""
    return -float(stdtrit(df, level / 2.0))


@functools.cache
def _legendre() -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


@functools.lru_cache(maxsize=256)
def chi_scale(df: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights for the mean of a function of s = sqrt(chi-square_df / df).

    Gauss-Legendre over the range that holds all but about 1e-14 of the mass; weights sum to one.
    """
    spread = 9.0 / math.sqrt(2.0 * df)
    nodes, weights = _legendre()
    low, high = max(0.0, 1.0 - spread), 1.0 + spread
    s = 0.5 * (high - low) * nodes + 0.5 * (high + low)
    log_density = (
        math.log(2.0)
        + 0.5 * df * math.log(0.5 * df)
        - float(gammaln(0.5 * df))
        + (df - 1.0) * np.log(s)
        - 0.5 * df * np.square(s)
    )
    mass = weights * np.exp(log_density)
    return s, np.asarray(mass / mass.sum(), dtype=np.float64)


def power(noncentrality: float, df: float, critical_value: float) -> float:
    """P(|T| > c) of a noncentral t, as a mixture of normals over the chi distribution of its scale.

    T = (Z + noncentrality) / s with s = sqrt(chi-square_df / df); conditional on s the tails are normal.
    The mixture stays finite where library routines for the noncentral t return NaN (scipy issue 25470).
    """
    s, weights = chi_scale(df)
    tails = ndtr(noncentrality - critical_value * s) + ndtr(-noncentrality - critical_value * s)
    return float(weights @ tails)


def max_t_p(t: float, correlation: FloatArray, df: float) -> float:
    """P(max_i |T_i| >= t) of m multivariate t variables with one common denominator.

    Contrasts here share either nothing but the denominator (rho = 0) or one baseline cell (rho = 1/2):
    all correlations are equal, and the integral has two dimensions (Dunnett 1955, eq. 4), done by
    quadrature. Other correlations are integrated over directions by seeded quasi Monte Carlo.

    Args:
        t: the observed |t|, at least 0.
        correlation: (m, m).
        df: degrees of freedom of the common denominator.
    """
    members = correlation.shape[0]
    if members == 1:
        return float(two_sided_p(t, df))
    rho = float(correlation[0, 1])
    off_diagonal = correlation[~np.eye(members, dtype=bool)]
    if rho >= 0.0 and bool(np.allclose(off_diagonal, rho, rtol=0.0, atol=1e-12)) and rho < 1.0:
        return _equicorrelated_max_t_p(t, rho, members, df)
    return _general_max_t_p(t, correlation, df)


def _equicorrelated_max_t_p(t: float, rho: float, members: int, df: float) -> float:
    s, s_weights = chi_scale(df)
    z, z_weights = np.polynomial.hermite_e.hermegauss(64)
    z_weights = z_weights / z_weights.sum()
    common = math.sqrt(rho) * z[None, :]
    own = math.sqrt(1.0 - rho)
    bound = t * s[:, None]
    inside = ndtr((bound - common) / own) - ndtr((-bound - common) / own)
    # 1 - inside^m without cancellation where inside is close to one
    outside = ndtr((common - bound) / own) + ndtr((-bound - common) / own)
    miss = np.where(
        outside < 0.5, -np.expm1(members * np.log1p(-np.minimum(outside, 0.5))), 1.0 - inside**members
    )
    return float(s_weights @ miss @ z_weights)


def _general_max_t_p(t: float, correlation: FloatArray, df: float) -> float:
    """Average of F tails over directions: with Z = A R u, u on the sphere, max |T| >= t where R is large.

    R^2 / r over the squared common scale has an F distribution with r (the rank) and df degrees of freedom
    (Somerville 1998). Holds for singular correlations, where library routines for the multivariate t do not.
    """
    values, vectors = np.linalg.eigh(correlation)
    kept = values > 1e-10
    rank = int(kept.sum())
    root = vectors[:, kept] * np.sqrt(values[kept])
    reach = np.abs(_directions(rank) @ root.T).max(axis=1)
    return float(np.mean(fdtrc(rank, df, np.square(t / reach) / rank)))


@functools.cache
def _directions(dimensions: int) -> FloatArray:
    from scipy.stats import qmc

    points = qmc.Sobol(dimensions, rng=np.random.default_rng(_MAX_T_SEED)).random_base2(14)
    normal = ndtri(np.clip(points, 1e-12, 1 - 1e-12))
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True), dtype=np.float64)


def max_t_critical(level: float, correlation: FloatArray, df: float) -> float:
    """The c with P(max_i |T_i| > c) = level, for simultaneous intervals."""
    from scipy.optimize import brentq

    low = critical(level, df)
    high = critical(level / correlation.shape[0], df)
    if correlation.shape[0] == 1:
        return low
    # Bonferroni bounds the root from above; the margin keeps a bracket where both coincide.
    return float(brentq(lambda c: max_t_p(c, correlation, df) - level, low, high * 1.01, xtol=1e-10))
