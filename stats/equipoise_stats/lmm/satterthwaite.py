"""Satterthwaite's degrees of freedom of linear combinations of coefficients.

df = 2 v^2 / (g' W g) with v = l'Phi l, g its derivative by the variance components and W the inverse of their
observed information (Satterthwaite 1946; Giesbrecht & Burns 1985; Fai & Cornelius 1996 for several rows). The
components move on the face of the cone where the optimum lies: a variance of 0 drops out, a matrix of rank one moves
as such. This is what lmerTest's derivatives by theta amount to (Kuznetsova et al. 2017, *J. Stat. Softw.* 82(13)),
as those by a theta of 0 vanish.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import linear
from equipoise_stats.lmm.fit import Solution
from equipoise_stats.lmm.likelihood import effects, entries, spread
from equipoise_stats.lmm.model import FloatArray
from equipoise_stats.lmm.newton import localise
from equipoise_stats.lmm.results import Fit


@dataclass(frozen=True)
class Gradient:
    """How the covariance of the coefficients moves with the components.

    Attributes:
        by_component: (c, p, p) derivative of Phi by each free coordinate.
        covariance: (c, c) inverse of the observed information.
    """

    by_component: FloatArray
    covariance: FloatArray

    def df(self, row: FloatArray, variance: float) -> float:
        """Degrees of freedom of one row with the variance row'Phi row."""
        moved = np.einsum("i,cij,j->c", row, self.by_component, row)
        return 2 * variance**2 / float(moved @ self.covariance @ moved)


def rows(fit: Fit, L: FloatArray) -> FloatArray:
    """L as (m, p) rows over the fit's coefficients.

    Raises:
        StatsError: another number of columns, or numbers that are not finite.
    """
    found = np.atleast_2d(np.asarray(L, dtype=np.float64))
    if found.ndim != 2 or found.shape[1] != fit.beta.size or not np.isfinite(found).all():
        raise StatsError(
            f"contrast: expected finite rows over the {fit.beta.size} coefficients {', '.join(fit.names)}, "
            f"got shape {found.shape}; aliased columns have no coefficient"
        )
    return found


def solution(fit: Fit) -> Solution:
    """What a fit was solved from.

    Raises:
        StatsError: a fit that was put together by hand.
    """
    if not isinstance(fit.solution, Solution):
        raise StatsError(
            "mixed model: expected a fit made by lmm.fit.fit, got one without its solution; fit again"
        )
    return fit.solution


def gradient(fit: Fit) -> Gradient:
    """The derivatives that all contrasts of a fit share."""
    solved = solution(fit)
    local = localise(solved.at, solved.by_tau)
    by_tau = covariance_slopes(solved)
    by_component = np.einsum("tc,tij->cij", local.jacobian, by_tau)
    return Gradient(by_component, linear.inverse(local.observed))


def covariance_slopes(solved: Solution) -> FloatArray:
    """(1 + entries, p, p) derivative of Phi by tau: Phi X'V^-1 V_i V^-1 X Phi, in units of X and y."""
    system, at = solved.system, solved.at
    found = effects(at.solved)
    # fixed1 and fixed2 hold root^-1 Q'Omega^-1 Z: sigma^2 cancels in the derivative by G.
    lead = found.fixed1.transpose(1, 2, 0)
    dense = found.fixed2.T
    flat = np.concatenate([lead.reshape(-1, system.fixed), dense])
    inner = []
    for entry in entries(system.layout):
        one, two = spread(system.layout, entry, lead, dense)
        inner.append(flat.T @ np.concatenate([one.reshape(-1, system.fixed), two]))
    slopes = np.array(inner).reshape(-1, system.fixed, system.fixed)
    values = np.array([at.blocks[t].matrix[a, b] for t, a, b in entries(system.layout)])
    residual = np.eye(system.fixed) - np.tensordot(values / at.sigma2, slopes, axes=1)
    whole = np.concatenate([residual[None], slopes])
    root = linear.solved(at.solved.fixed_root, linear.inverse(system.triangle).T) * system.scale
    return np.asarray(root.T @ whole @ root, dtype=np.float64)


def df(fit: Fit, L: FloatArray) -> FloatArray:
    """Satterthwaite's degrees of freedom of each row of L.

    Args:
        fit: a fitted model.
        L: (m, p) or (p,) coefficients of the linear combinations.

    Returns:
        (m,) degrees of freedom.
    """
    shared, contrasts = gradient(fit), rows(fit, L)
    variances = np.einsum("mi,ij,mj->m", contrasts, fit.vcov, contrasts)
    return np.array([shared.df(row, v) for row, v in zip(contrasts, variances, strict=True)])
