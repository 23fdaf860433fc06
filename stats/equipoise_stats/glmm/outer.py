"""The maximum over SDs and coefficients together, with a certificate.

Quasi-Newton steps with the exact gradient find the neighbourhood; Newton steps with a Hessian of central
differences of that gradient finish. The criterion is even in every SD, so that an SD of 0 is always a
stationary point: it is a maximum exactly if the curvature there is not negative. Half that curvature is the
slope in the variance, the multiplier of Karush, Kuhn and Tucker.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise_stats.errors import StatsError
from equipoise_stats.glmm.laplace import Laplace
from equipoise_stats.glmm.model import FloatArray

# On the logit scale an SD of 15 puts nearly every level at 0 or 1: it grows without bound.
LARGEST_SD = 15.0
START_SD = 0.7
# A smaller SD changes no figure's sixth digit; the curvature at 0 decides what it is.
SMALL_SD = 1e-3
MOST_RESTARTS = 6
MOST_NEWTON = 30
SETTLED = 1e-15
CERTIFIED = 1e-8


@dataclass(frozen=True)
class Certificate:
    """Why the optimum is one.

    Attributes:
        gradient: largest absolute gradient over coefficients (in standard errors) and interior SDs.
        decrement: Newton's decrement g'H^-1 g, twice the log-likelihood still to be gained.
        min_eigenvalue: smallest eigenvalue of the Hessian of the interior, scaled to unit diagonal.
        slopes: by term at the boundary, the slope of -loglik in the variance; not negative at an optimum.
        evaluations: how often the criterion was evaluated.
        kkt: whether all conditions hold.
    """

    gradient: float
    decrement: float
    min_eigenvalue: float
    slopes: dict[str, float]
    evaluations: int
    kkt: bool


@dataclass(frozen=True)
class Optimum:
    """SDs (T,) and coefficients (p,) in one (T + p,) vector, the Hessian there, and what is interior."""

    x: FloatArray
    loglik: float
    hessian: FloatArray
    interior: FloatArray
    certificate: Certificate


def maximise(laplace: Laplace, beta: FloatArray, names: tuple[str, ...]) -> Optimum:
    """The optimum.

    Args:
        laplace: the criterion.
        beta: (p,) coefficients of the logistic regression without random effects, to start from.
        names: the T terms, in the criterion's order.

    Raises:
        StatsError: where an SD grows without bound, or the optimum has no certificate.
    """
    x = np.concatenate([np.full(laplace.terms, START_SD), beta])
    scale = _scale(laplace, x)
    for _ in range(MOST_RESTARTS):
        x = _quasi_newton(laplace, x, scale)
        runaway = [name for name, sd in zip(names, x, strict=False) if abs(sd) > 0.999 * LARGEST_SD]
        if runaway:
            raise StatsError([_runaway(name) for name in runaway])
        x, hessian, leaves = _newton(laplace, x, scale)
        if not leaves.any():
            return _certified(laplace, x, hessian, names)
        x = x.copy()
        x[np.flatnonzero(leaves)] = 0.3
    message = f"no optimum after {MOST_RESTARTS} starts: the SDs {x[: laplace.terms].tolist()} keep leaving 0"
    raise StatsError(message)


def _runaway(name: str) -> str:
    return (
        f"the likelihood keeps rising as the SD of '{name}' passes {LARGEST_SD:g} on the logit scale: too many of "
        "its levels have only successes or only failures; compare success rates instead of log odds"
    )


def _scale(laplace: Laplace, x: FloatArray) -> FloatArray:
    """(T + p, T + p) map from coordinates in which the criterion is nearly round."""
    terms = laplace.terms
    information = laplace.information(x[:terms], x[terms:])
    scale = np.eye(x.size)
    lower = np.linalg.cholesky(information)
    scale[terms:, terms:] = np.linalg.inv(lower).T
    # an SD is known to about 1 / sqrt(2 levels) of itself
    scale[np.arange(terms), np.arange(terms)] = [START_SD / np.sqrt(2.0 * n) for n in laplace.system.sizes]
    return scale


def _quasi_newton(laplace: Laplace, x: FloatArray, scale: FloatArray) -> FloatArray:
    from scipy.optimize import minimize

    origin = x.copy()
    origin[: laplace.terms] = 0.0

    def criterion(z: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = laplace.value_and_gradient(origin + scale @ z)
        return value, scale.T @ gradient

    widths = np.diag(scale)[: laplace.terms].tolist()
    start = np.concatenate([x[: laplace.terms] / widths, np.zeros(x.size - laplace.terms)])
    # no bound at 0: the criterion is even there, and a projected step would be caught at that saddle
    bounds: list[tuple[float | None, float | None]] = [(-LARGEST_SD / w, LARGEST_SD / w) for w in widths]
    bounds += [(None, None)] * (x.size - laplace.terms)
    found = minimize(
        criterion,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 500, "maxcor": 20, "ftol": 1e-14, "gtol": 1e-5},
    )
    return np.asarray(origin + scale @ found.x, dtype=np.float64)


def hessian_at(laplace: Laplace, x: FloatArray, scale: FloatArray) -> FloatArray:
    """(T + p, T + p) Hessian of -loglik by central differences of the exact gradient.

    Coefficients move by a thousandth of their standard error, SDs by 1e-4: the error is about 1e-6 of an entry.
    """
    columns = []
    terms = laplace.terms
    for j in range(x.size):
        width = np.zeros(x.size)
        width[j] = 1e-4 if j < terms else 1e-3
        move = width if j < terms else scale @ width
        up, down = laplace.value_and_gradient(x + move)[1], laplace.value_and_gradient(x - move)[1]
        columns.append((up - down) / (2.0 * width[j]))
    along = np.column_stack(columns)
    # columns of coefficients are derivatives along the scaled axes
    back = np.eye(x.size)
    back[terms:, terms:] = np.linalg.inv(scale[terms:, terms:])
    hessian = along @ back
    return np.asarray((hessian + hessian.T) / 2.0, dtype=np.float64)


def _newton(laplace: Laplace, x: FloatArray, scale: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Newton steps in the interior; returns the point, the Hessian, and which SDs must leave 0."""
    terms = laplace.terms
    x = x.copy()
    x[:terms][np.abs(x[:terms]) < SMALL_SD] = 0.0
    value, gradient = laplace.value_and_gradient(x)
    hessian, moved = hessian_at(laplace, x, scale), 0.0
    for _ in range(MOST_NEWTON):
        leaves = np.concatenate([(x[:terms] == 0) & (np.diag(hessian)[:terms] < -CERTIFIED), []])
        if leaves.any():
            return x, hessian, leaves
        free = np.concatenate([x[:terms] != 0, np.ones(x.size - terms, dtype=bool)])
        step = np.zeros_like(x)
        step[free] = -_solve(hessian[np.ix_(free, free)], gradient[free])
        decrement = float(-gradient @ step)
        if decrement < SETTLED and moved < 1e-6:
            return x, hessian, np.zeros(terms, dtype=bool)
        if decrement < SETTLED or moved > 1e-4:
            hessian, moved = hessian_at(laplace, x, scale), 0.0
            continue
        x, value, gradient = _descend(laplace, x, step, value, checked=decrement > 1e-9)
        moved += decrement
    return x, hessian, np.zeros(terms, dtype=bool)


def _solve(hessian: FloatArray, gradient: FloatArray) -> FloatArray:
    """Newton's step; eigenvalues that are not positive are turned, so that the step descends."""
    values, vectors = np.linalg.eigh(hessian)
    floor = 1e-10 * max(float(np.abs(values).max()), 1e-300)
    turned = np.maximum(np.abs(values), floor)
    return np.asarray(vectors @ ((vectors.T @ gradient) / turned), dtype=np.float64)


def _descend(
    laplace: Laplace, x: FloatArray, step: FloatArray, value: float, *, checked: bool
) -> tuple[FloatArray, float, FloatArray]:
    length = 1.0
    while True:
        reached, gradient = laplace.value_and_gradient(x + length * step)
        if not checked or reached <= value or length < 1e-6:
            return x + length * step, reached, gradient
        length /= 2.0


def _certified(laplace: Laplace, x: FloatArray, hessian: FloatArray, names: tuple[str, ...]) -> Optimum:
    terms = laplace.terms
    x = x.copy()
    x[:terms] = np.abs(x[:terms])
    value, gradient = laplace.value_and_gradient(x)
    free = np.concatenate([x[:terms] != 0, np.ones(x.size - terms, dtype=bool)])
    inner = hessian[np.ix_(free, free)]
    size = np.sqrt(np.abs(np.diag(inner)))
    smallest = float(np.linalg.eigvalsh(inner / np.outer(size, size)).min()) if np.all(size > 0) else 0.0
    decrement = float(gradient[free] @ _solve(inner, gradient[free]))
    slopes = {name: float(hessian[t, t] / 2) for t, name in enumerate(names) if x[t] == 0}
    kkt = decrement < CERTIFIED and smallest > CERTIFIED and all(s >= -CERTIFIED for s in slopes.values())
    largest = float(np.max(np.abs(gradient[free]) / np.maximum(size, 1e-300)))
    certificate = Certificate(largest, decrement, smallest, slopes, laplace.evaluations, kkt)
    if not kkt:
        message = (
            f"the optimum has no certificate: Newton decrement {decrement:.1e} (expected below {CERTIFIED:g}), "
            f"smallest scaled eigenvalue {smallest:.1e} (expected above {CERTIFIED:g}), slopes at 0 {slopes}"
        )
        raise StatsError(message)
    return Optimum(x, -value, hessian, free, certificate)
