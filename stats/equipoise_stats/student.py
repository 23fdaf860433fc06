"""Student's t: tests, intervals, power, and the largest of several correlated t."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc, gammaln, ndtr, ndtri, stdtr, stdtrit

FloatArray = npt.NDArray[np.float64]

_NODES, _FEW_NODES, _SMOOTH = 200, 64, 20
"""Nodes for the scale of an error; from so many degrees of freedom on its density is smooth and few suffice."""
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
def _legendre(count: int = _NODES) -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


@functools.cache
def _hermite() -> tuple[FloatArray, FloatArray]:
    """Nodes above zero of a rule that is symmetric, for functions that are too; the weights sum to one."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    return nodes[nodes > 0], 2.0 * weights[nodes > 0] / weights.sum()


@functools.lru_cache(maxsize=256)
def chi_scale(df: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights for the mean of a function of s = sqrt(chi-square_df / df).

    Gauss-Legendre over the range that holds all but about 1e-14 of the mass; weights sum to one.
    """
    spread = 9.0 / math.sqrt(2.0 * df)
    nodes, weights = _legendre(_NODES if df < _SMOOTH else _FEW_NODES)
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

    Contrasts against one baseline have correlations lambda_i lambda_j (all 1/2 when balanced): the integral then
    has two dimensions (Dunnett 1955, eq. 4) and is done by quadrature. Other correlations are integrated over
    directions by seeded quasi Monte Carlo.

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
    loadings = common_factor(correlation)
    if loadings is not None:
        return _product_max_t_p(t, loadings, df)
    return _general_max_t_p(t, correlation, df)


def common_factor(correlation: FloatArray) -> FloatArray | None:
    """(m,) |lambda| with |correlation_ij| = |lambda_i lambda_j| and consistent signs; None where there is none.

    Signs do not matter to the largest |T|, as long as flipping some members makes all correlations positive.
    """
    members = correlation.shape[0]
    if members == 2:
        single = math.sqrt(abs(float(correlation[0, 1])))
        return np.array([single, single]) if single < 1.0 - 1e-6 else None
    size = np.abs(correlation - np.diag(np.diag(correlation)))
    loadings = np.zeros(members)
    for i in range(members):
        rest = np.delete(np.delete(size, i, 0), i, 1)
        others = np.delete(np.arange(members), i)
        j, k = divmod(int(rest.argmax()), members - 1)
        if rest[j, k] <= 0.0:
            return None
        loadings[i] = math.sqrt(size[i, others[j]] * size[i, others[k]] / rest[j, k])
    sign = np.where(correlation[int(loadings.argmax())] < 0.0, -1.0, 1.0)
    signed = loadings * sign
    gap = np.abs(np.outer(signed, signed) - correlation)[~np.eye(members, dtype=bool)].max()
    return loadings if gap < 1e-9 and loadings.max() < 1.0 - 1e-6 else None


def _product_max_t_p(t: float, loadings: FloatArray, df: float) -> float:
    s, s_weights = chi_scale(df)
    nodes, weights = _legendre()
    z = 9.0 * nodes
    z_weights = weights * np.exp(-0.5 * np.square(z))
    z_weights = z_weights / z_weights.sum()
    log_inside = np.zeros((s.size, z.size))
    for loading in loadings.tolist():
        own = math.sqrt(1.0 - loading**2)
        outside = ndtr((loading * z - t * s[:, None]) / own) + ndtr((-loading * z - t * s[:, None]) / own)
        log_inside += np.log1p(-np.minimum(outside, 1.0 - 1e-16))
    return float(s_weights @ -np.expm1(log_inside) @ z_weights)


def studentized_range_p(q: float, means: float, df: float) -> float:
    """P(Q >= q) of the range of ``means`` independent normals over their common studentised scale.

    Tukey's distribution; a number of means that is not whole interpolates, as R's ptukey does. The distribution
    function given the scale is k times the integral of phi(z) (Phi(z) - Phi(z - w))^(k - 1).
    """
    if q <= 0.0:
        return 1.0
    s, s_weights = chi_scale(df)
    nodes, weights = _legendre()
    z = 9.0 * nodes
    density = 9.0 * weights * np.exp(-0.5 * np.square(z)) / math.sqrt(2.0 * math.pi)
    spread = ndtr(z)[None, :] - ndtr(z[None, :] - q * s[:, None])
    # The missing mass k phi (Phi^(k-1) - spread^(k-1)) is summed, not one minus the rest: small tails stay exact.
    missing = np.power(ndtr(z)[None, :], means - 1.0) - np.power(np.maximum(spread, 0.0), means - 1.0)
    return float(np.minimum(1.0, s_weights @ (means * missing @ density)))


def dunnettx_p(t: float, members: int, df: float) -> float:
    """The approximation of emmeans to the two-sided Dunnett p value: a blend of Tukey's and Sidak's.

    Weight (m - 1) / m on the range of (1 + sqrt(1 + 8 m)) / 2 means, the rest on m independent tests (emmeans 1.8,
    ``dunnettx``).
    """
    means = (1.0 + math.sqrt(1.0 + 8.0 * members)) / 2.0
    tukey = studentized_range_p(math.sqrt(2.0) * abs(t), means, df)
    single = float(two_sided_p(t, df))
    sidak = -math.expm1(members * math.log1p(-min(single, 1.0 - 1e-16)))
    weight = (members - 1.0) / members
    return weight * tukey + (1.0 - weight) * sidak


def _equicorrelated_max_t_p(t: float, rho: float, members: int, df: float) -> float:
    s, s_weights = chi_scale(df)
    z, z_weights = _hermite()
    common = math.sqrt(rho) * z[None, :]
    own = math.sqrt(1.0 - rho)
    bound = t * s[:, None]
    # 1 - inside^m without cancellation where inside is close to one
    outside = ndtr((common - bound) / own) + ndtr((-bound - common) / own)
    miss = np.where(
        outside < 0.5,
        -np.expm1(members * np.log1p(-np.minimum(outside, 0.5))),
        1.0 - np.maximum(1.0 - outside, 0.0) ** members,
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
    if correlation.shape[0] == 1:
        return critical(level, df)
    return _max_t_critical(level, correlation.tobytes(), correlation.shape[0], df)


@functools.lru_cache(maxsize=1024)
def _max_t_critical(level: float, correlation: bytes, members: int, df: float) -> float:
    matrix = np.frombuffer(correlation, dtype=np.float64).reshape(members, members)
    return family_critical(level, members, df, lambda c: max_t_p(c, matrix, df))


def family_critical(level: float, members: int, df: float, tail: Callable[[float], float]) -> float:
    """The c with tail(c) = level, for a tail that lies above one test's and mostly below Bonferroni's bound.

    Args:
        level: the family's error level.
        members: tests in the family.
        df: degrees of freedom.
        tail: decreasing in c.
    """
    from scipy.optimize import brentq

    low, high = critical(level, df), critical(level / members, df)
    while tail(high * 1.01) > level:
        high *= 1.5
    # The margins keep a bracket where a bound is reached.
    return float(brentq(lambda c: tail(c) - level, low * 0.99, high * 1.01, xtol=1e-10))
