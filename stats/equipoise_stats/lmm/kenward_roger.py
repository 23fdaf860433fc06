"""Kenward and Roger's covariance of the coefficients and its degrees of freedom.

    Phi_A = Phi + 2 Phi {sum_ij W_ij (Q_ij - P_i Phi P_j)} Phi

with P_i = -X'V^-1 V_i V^-1 X, Q_ij = X'V^-1 V_i V^-1 V_j V^-1 X and W the inverse of the expected information; V is
linear in the components, so that their second derivatives vanish (Kenward & Roger 1997, *Biometrics* 53; Halekoh &
Hojsgaard 2014, *J. Stat. Softw.* 59(9)). Components at 0 are kept. Everything comes from q x p and q x q blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import linear
from equipoise_stats.lmm.fit import Solution
from equipoise_stats.lmm.likelihood import apply, effects, entries, spread
from equipoise_stats.lmm.model import FloatArray
from equipoise_stats.lmm.results import Fit
from equipoise_stats.lmm.satterthwaite import rows, solution


@dataclass(frozen=True)
class KenwardRoger:
    """The adjusted covariance and what degrees of freedom are made of.

    Attributes:
        fit: the fitted model.
        vcov: (p, p) Phi_A.
        slopes: (c, p, p) P_i.
        weights: (c, c) W.
    """

    fit: Fit
    vcov: FloatArray
    slopes: FloatArray
    weights: FloatArray

    def df(self, L: FloatArray) -> FloatArray:
        """(m,) degrees of freedom of each row of L alone."""
        return np.array([self.joint(row)[0] for row in rows(self.fit, L)])

    def joint(self, L: FloatArray) -> tuple[float, float]:
        """Denominator degrees of freedom of all rows of L together, and the factor of their F statistic."""
        contrasts = rows(self.fit, L)
        phi = self.fit.vcov
        q = int(np.linalg.matrix_rank(contrasts))
        middle = contrasts.T @ np.linalg.pinv(contrasts @ phi @ contrasts.T, hermitian=True) @ contrasts
        moved = (middle @ phi) @ self.slopes @ phi
        trace = np.einsum("cii->c", moved)
        a1 = float(trace @ self.weights @ trace)
        a2 = float(np.sum(self.weights * np.einsum("cij,dji->cd", moved, moved)))
        return _denominator(a1, a2, q)


def _denominator(a1: float, a2: float, q: int) -> tuple[float, float]:
    """M and lambda of Kenward & Roger's F (their equations 6 and 7, as modified for exact special cases)."""
    b = (a1 + 6 * a2) / (2 * q)
    g = ((q + 1) * a1 - (q + 4) * a2) / ((q + 2) * a2)
    below = 3 * q + 2 * (1 - g)
    c1, c2, c3 = g / below, (q - g) / below, (q + 2 - g) / below
    v0, v1, v2 = 1 + c1 * b, 1 - c2 * b, 1 - c3 * b
    v0 = 0.0 if abs(v0) < 1e-10 else v0
    left = 1 - a2 / q
    ratio = 1.0 if abs(left) < 1e-14 and abs(v1) < 1e-14 else left / v1
    rho = ratio**2 * v0 / v2 / q
    m = 4 + (q + 2) / (q * rho - 1)
    # lambda = m / (E (m - 2)) with E = 1 / (1 - A2 / q).
    return float(m), float(m * left / (m - 2)) if abs(m - 2) >= 1e-2 else 1.0


def adjust(fit: Fit) -> KenwardRoger:
    """Kenward and Roger's covariance of a REML fit.

    Raises:
        StatsError: a fit by ML.
    """
    solved = solution(fit)
    if not solved.reml:
        raise StatsError("Kenward-Roger: expected a REML fit, got ML; fit with reml=True")
    system, at = solved.system, solved.at
    inner_p, inner_q = _middle(solved)
    root = linear.solved(at.solved.fixed_root, linear.inverse(system.triangle).T) * system.scale
    root = root * np.sqrt(at.sigma2)
    weights = np.linalg.pinv(at_unit(solved.by_tau.expected), hermitian=True)
    scale = 1.0 / np.sqrt(np.diag(solved.by_tau.expected))
    weights = weights * np.outer(scale, scale)
    core = np.einsum("cd,cdij->ij", weights, inner_q - inner_p[:, None] @ inner_p[None])
    vcov = fit.vcov + 2 * root.T @ core @ root
    back = linear.inverse(root)
    slopes = back @ inner_p @ back.T
    return KenwardRoger(fit, (vcov + vcov.T) / 2, slopes, weights)


def at_unit(information: FloatArray) -> FloatArray:
    """The information with a diagonal of ones."""
    root = np.sqrt(np.diag(information))
    return np.asarray(information / np.outer(root, root), dtype=np.float64)


def _middle(solved: Solution) -> tuple[FloatArray, FloatArray]:
    """(c, p, p) P_i and (c, c, p, p) Q_ij between the roots of Phi, where Phi is the unit matrix."""
    system, at = solved.system, solved.at
    p, places = system.fixed, entries(system.layout)
    found = effects(at.solved)
    lead, dense = found.fixed1.transpose(1, 2, 0), found.fixed2.T
    flat = np.concatenate([lead.reshape(-1, p), dense])
    moved = [spread(system.layout, place, lead, dense) for place in places]
    sides = [np.concatenate([one.reshape(-1, p), two]) for one, two in moved]
    through = [apply(found, one, two) for one, two in moved]
    carried = [np.concatenate([one.reshape(-1, p), two]) for one, two in through]
    slopes = -np.array([flat.T @ side for side in sides]) / at.sigma2
    pairs = np.array([[side.T @ other for other in carried] for side in sides]) / at.sigma2**2
    values = np.array([at.blocks[t].matrix[a, b] for t, a, b in places])
    # sum_i tau_i V_i = V turns sum_i tau_i P_i into -1 (in these units) and sum_i tau_i Q_ij into -P_j.
    first = (-np.eye(p) - np.tensordot(values, slopes, axes=1)) / at.sigma2
    row = (-slopes - np.einsum("c,cdij->dij", values, pairs)) / at.sigma2
    corner = (-first - np.einsum("c,cij->ij", values, row)) / at.sigma2
    whole = np.empty((len(places) + 1, len(places) + 1, p, p))
    whole[0, 0], whole[0, 1:], whole[1:, 0], whole[1:, 1:] = corner, row, row.transpose(0, 2, 1), pairs
    return np.concatenate([first[None], slopes]), whole
