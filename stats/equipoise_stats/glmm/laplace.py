"""The Laplace approximation of the log-likelihood and its exact gradient in SDs and coefficients.

With u ~ N(0, I) and logit p = X beta + Z L u, u is replaced by its mode, found by penalised iteratively
reweighted least squares, and the integral by that of the normal density with the curvature there
(Breslow & Clayton 1993, *JASA* 88; Bates et al. 2015). The gradient goes through the mode by one adjoint
solve (the implicit function theorem; as in Kristensen et al. 2016, *J. Stat. Softw.* 70(5)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise_stats.errors import StatsError
from equipoise_stats.glmm.model import FloatArray
from equipoise_stats.glmm.system import Factor, System
from equipoise_stats.glmm.table import Table

MOST_STEPS = 200
# The root of the decrement is the mode's error, which enters log |M| at first order: 1e-12 of it here.
MODE_FOUND = 1e-24
# Rounding may keep the decrement of large tables above that; this is still far below any figure's last digit.
MODE_ENOUGH = 1e-14
# Below this decrement the gain is lost in the rounding of the log-likelihood, and the full step is safe.
QUADRATIC = 1e-6


@dataclass(frozen=True)
class Mode:
    """The mode of the random effects and the curvature there.

    Attributes:
        effects: (q,) standardised effects u.
        probability: (m,) fitted success rate of the rows.
        weights: (m,) trials p (1 - p).
        factor: the factorised penalised information.
        loglik: Laplace log-likelihood, with the binomial coefficients.
    """

    effects: FloatArray
    probability: FloatArray
    weights: FloatArray
    factor: Factor
    loglik: float


class Laplace:
    """The criterion -loglik of one table as a function of (sd, beta)."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.system = System(table)
        self.terms = len(table.sizes)
        self.evaluations = 0
        self._start = np.zeros(self.system.q)

    def mode(self, sd: FloatArray, beta: FloatArray) -> Mode:
        """The mode at given SDs (T,) and coefficients (p,).

        Raises:
            StatsError: where the iteration does not settle.
        """
        self.evaluations += 1
        table, system = self.table, self.system
        fixed = (table.design @ beta)[table.row]
        u, last = self._start, np.inf
        value, eta = self._penalised(u, fixed, sd)
        for _ in range(MOST_STEPS):
            p = expit(eta)
            weights = table.trials * p * (1.0 - p)
            factor = system.factorise(weights, sd)
            gradient = system.scatter(table.successes - table.trials * p, sd) - u
            step = factor.solve(gradient)
            decrement = float(gradient @ step)
            if decrement <= MODE_FOUND or (decrement <= MODE_ENOUGH and decrement >= 0.25 * last):
                self._start = u
                loglik = table.constant + value - 0.5 * factor.logdet
                return Mode(u, p, weights, factor, loglik)
            u, value, eta = self._climb(u, step, fixed, sd, value, checked=decrement > QUADRATIC)
            last = decrement
        message = (
            f"the random effects' mode did not settle in {MOST_STEPS} steps at SDs {sd.tolist()}: "
            f"Newton decrement {last:.1e}, expected {MODE_FOUND:.0e}"
        )
        raise StatsError(message)

    def _climb(
        self,
        u: FloatArray,
        step: FloatArray,
        fixed: FloatArray,
        sd: FloatArray,
        value: float,
        *,
        checked: bool,
    ) -> tuple[FloatArray, float, FloatArray]:
        length = 1.0
        while True:
            reached, eta = self._penalised(u + length * step, fixed, sd)
            if not checked or reached > value or length < 1e-8:
                return u + length * step, reached, eta
            length /= 2.0

    def _penalised(self, u: FloatArray, fixed: FloatArray, sd: FloatArray) -> tuple[float, FloatArray]:
        eta = fixed + self.system.gather(u, sd)
        own = self.table.successes @ eta - self.table.trials @ np.logaddexp(0.0, eta)
        return float(own - 0.5 * (u @ u)), eta

    def value_and_gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """-loglik and its gradient at x = (SDs, coefficients); SDs of either sign mean the same."""
        sd, beta = x[: self.terms], x[self.terms :]
        mode = self.mode(sd, beta)
        table, system = self.table, self.system
        levers = system.leverage(mode.factor, sd)
        leverage = sum((sd[t] * lever for t, lever in enumerate(levers)), np.zeros(table.row.size))
        # half the derivative of log |M| along each row's linear predictor
        through = 0.5 * mode.weights * (1.0 - 2.0 * mode.probability) * leverage
        adjoint = mode.factor.solve(system.scatter(through, sd))
        residual = table.successes - table.trials * mode.probability
        pull = through - residual - mode.weights * system.gather(adjoint, sd)
        gradient = [self._of_sd(t, mode, pull, residual, levers[t], adjoint) for t in range(self.terms)]
        by_row = np.bincount(table.row, pull, table.design.shape[0])
        return -mode.loglik, np.concatenate([gradient, by_row @ table.design])

    def _of_sd(
        self,
        term: int,
        mode: Mode,
        pull: FloatArray,
        residual: FloatArray,
        lever: FloatArray,
        adjoint: FloatArray,
    ) -> float:
        part, codes = self.system.part(term), self.table.codes[term]
        own = mode.effects[part][codes] @ pull + mode.weights @ lever
        return float(own + adjoint[part][codes] @ residual)

    def information(self, sd: FloatArray, beta: FloatArray) -> FloatArray:
        """(p, p) information of the coefficients with the curvature of log |M| left out: a good first scale."""
        mode = self.mode(sd, beta)
        table, system = self.table, self.system
        X = table.design[table.row]
        cross = np.column_stack([system.scatter(mode.weights * column, sd) for column in X.T])
        full = (X * mode.weights[:, None]).T @ X - cross.T @ mode.factor.solve(cross)
        return np.asarray((full + full.T) / 2.0, dtype=np.float64)


def expit(eta: FloatArray) -> FloatArray:
    """1 / (1 + exp(-eta)) without overflow."""
    e = np.exp(-np.abs(eta))
    return np.asarray(np.where(eta >= 0, 1.0, e) / (1.0 + e), dtype=np.float64)
