"""Random designs and a dense likelihood that knows nothing of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from equipoise_stats.lmm.model import Problem, RandomTerm, intercept

Array = npt.NDArray[np.float64]
# Largest relative standard deviation that the optimisers may try.
MOST = 1e4


def slope(name: str, labels: npt.ArrayLike, x: Array, *, alone: bool = False) -> RandomTerm:
    """A random slope, correlated with its intercept or alone."""
    base = intercept(name, labels)
    if alone:
        return RandomTerm(name, base.codes, base.levels, x[:, None], ("x",))
    return RandomTerm(
        name, base.codes, base.levels, np.column_stack([np.ones(x.size), x]), ("(Intercept)", "x")
    )


def random_problem(seed: int, *, slopes: bool = True) -> Problem:
    """Ragged, unbalanced, often near-singular: 1-4 crossed or nested factors, 40 % of the variances 0."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(25, 90))
    rules = int(rng.integers(1, 5))
    x = rng.normal(size=n)
    rule = rng.integers(0, rules, n)
    columns = [np.ones(n), *(np.where(rule == r, 1.0, 0.0) for r in range(1, rules) if (rule == r).any())]
    if rng.random() < 0.5:
        columns.append(x)
    X = np.column_stack(columns)
    y = rng.normal(size=n) * float(rng.choice([0.3, 1.0]))
    terms: list[RandomTerm] = []
    before: npt.NDArray[np.int64] | None = None
    for f in range(int(rng.integers(1, 5))):
        weights = rng.dirichlet(np.full(int(rng.integers(3, 14)), float(rng.choice([0.7, 5.0]))))
        labels = rng.choice(weights.size, n, p=weights)
        if before is not None and rng.random() < 0.3:
            labels = before * 3 + rng.integers(0, 3, n)
        if np.unique(labels).size < 2:
            continue
        before = labels
        kind = float(rng.random())
        term = intercept(f"f{f}", labels)
        if slopes and kind < 0.3:
            term = slope(f"f{f}", labels, x, alone=kind < 0.06)
        if len(term.levels) * term.width >= n - 1:
            continue
        sd = 0.0 if rng.random() < 0.4 else float(rng.exponential(0.7))
        effects = rng.normal(size=(len(term.levels), term.width)) * sd
        if term.width == 2 and rng.random() < 0.5:
            effects[:, 1] = effects[:, 0] * float(rng.normal())
        y = y + np.sum(term.design * effects[term.codes], axis=1)
        terms.append(term)
    if not terms:
        terms = [intercept("f0", np.arange(n) % 5)]
    return Problem(y, X, tuple(f"x{j}" for j in range(X.shape[1])), tuple(terms))


@dataclass(frozen=True)
class Dense:
    """The profiled log-likelihood with V as an n x n matrix."""

    problem: Problem
    reml: bool = True

    def sizes(self) -> list[int]:
        """Entries of each lower triangle theta."""
        return [t.width * (t.width + 1) // 2 for t in self.problem.terms]

    def bounds(self) -> list[tuple[float, float]]:
        """Diagonals of the triangles are not negative."""
        found: list[tuple[float, float]] = []
        for term in self.problem.terms:
            found += [
                (0.0 if a == b else -MOST, MOST) for b in range(term.width) for a in range(b, term.width)
            ]
        return found

    def unit_start(self) -> Array:
        """Unit triangles."""
        return np.array([0.0 if low < 0 else 1.0 for low, _ in self.bounds()])

    def covariance(self, theta: Array) -> Array:
        """V / sigma^2."""
        weights = self.problem.weights
        v = np.eye(self.problem.y.size) if weights is None else np.diag(1.0 / weights)
        place = 0
        for term in self.problem.terms:
            lower = np.zeros((term.width, term.width))
            for b in range(term.width):
                for a in range(b, term.width):
                    lower[a, b] = theta[place]
                    place += 1
            half = term.design @ lower
            v += (half @ half.T) * (term.codes[:, None] == term.codes[None, :])
        return v

    def loglik(self, theta: Array) -> float:
        """Profiled over beta and sigma^2, with lme4's constants."""
        y, X = self.problem.y, self.problem.X
        root = np.linalg.cholesky(self.covariance(theta))
        white = np.linalg.solve(root, np.column_stack([X, y]))
        r = np.asarray(np.linalg.qr(white, mode="r"), dtype=np.float64)
        p = X.shape[1]
        freedom = y.size - (p if self.reml else 0)
        logs = 2 * float(np.log(np.diag(root)).sum())
        if self.reml:
            logs += 2 * float(np.log(np.abs(np.diag(r)[:p])).sum())
        square = float(r[p, p]) ** 2
        return -0.5 * (logs + freedom * (1 + float(np.log(2 * np.pi * square / freedom))))

    def best(self, seed: int, starts: int, calls: int = 15000) -> float:
        """The best of several starts of a general-purpose optimiser, of some calls each."""
        from scipy.optimize import minimize

        rng = np.random.default_rng(seed)
        best = -np.inf
        for number in range(starts):
            unit = self.unit_start()
            start = (
                unit
                if number == 0
                else unit * rng.exponential(1.0, unit.size) + 0.1 * rng.normal(size=unit.size)
            )
            bounds = self.bounds()
            start = np.array(
                [s if low < 0 else max(s, 0.0) for s, (low, _) in zip(start, bounds, strict=True)]
            )
            options = {"maxfun": calls, "maxiter": calls // 10}
            fall = cast("Any", lambda t: -self.loglik(t))
            found: Any = minimize(fall, start, method="L-BFGS-B", bounds=bounds, options=cast("Any", options))
            best = max(best, -float(found.fun))
        return best
