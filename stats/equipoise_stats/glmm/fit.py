"""The logit mixed model by maximum likelihood under the Laplace approximation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise_stats.errors import StatsError
from equipoise_stats.glmm import separation
from equipoise_stats.glmm.estimable import Basis, basis
from equipoise_stats.glmm.laplace import Laplace, expit
from equipoise_stats.glmm.model import Counts, FloatArray, check, partition
from equipoise_stats.glmm.outer import Certificate, Optimum, maximise
from equipoise_stats.glmm.separation import Separated
from equipoise_stats.glmm.table import Table, pool


@dataclass(frozen=True)
class Component:
    """One random intercept.

    Attributes:
        term: the factor.
        levels: how many groups it has.
        sd: on the logit scale; ``variance`` is its square.
        boundary: whether the estimate is 0. The term stays in the model.
        slope: at the boundary, the slope of -loglik in the variance (not negative at the optimum).
    """

    term: str
    levels: int
    sd: float
    variance: float
    boundary: bool
    slope: float | None


@dataclass(frozen=True)
class Fit:
    """A fitted model.

    Attributes:
        names: p coefficients. ``beta`` (p,) and ``vcov`` (p, p) hold NaN where a coefficient is not
            estimable: its column depends on others, or its log odds are infinite.
        components: the random intercepts, in the order given.
        loglik: Laplace log-likelihood, with the binomial coefficients.
        aic: -2 loglik + 2 (coefficients + SDs); ``bic`` with the log of the rows.
        rows: rows given; ``trials`` the episodes behind them.
        separated: design rows with infinite log odds; they are left out of the fit, which is exact.
        aliased: columns that depend on others.
        basis: the columns that were fitted, with ``kept_beta`` and ``joint``, the covariance of SDs and
            those coefficients (rows of SDs at 0 are 0).
        effects: by term the (levels,) modes of the random intercepts, on the logit scale.
        certificate: why this is the optimum.
    """

    names: tuple[str, ...]
    beta: FloatArray
    vcov: FloatArray
    components: tuple[Component, ...]
    loglik: float
    aic: float
    bic: float
    rows: int
    trials: int
    separated: tuple[Separated, ...]
    aliased: tuple[str, ...]
    basis: Basis
    kept_beta: FloatArray
    joint: FloatArray
    effects: dict[str, FloatArray]
    certificate: Certificate

    @property
    def singular(self) -> bool:
        """Whether some variance is at the boundary 0."""
        return any(c.boundary for c in self.components)

    @property
    def sds(self) -> FloatArray:
        """(T,) SDs in the order of ``components``."""
        return np.array([c.sd for c in self.components])


def fit(data: Counts) -> Fit:
    """Fit by maximum likelihood under the Laplace approximation.

    Args:
        data: counts, design and terms.

    Raises:
        StatsError: for data that cannot be fitted, an SD that grows without bound, or an optimum without
            certificate.
    """
    check(data)
    table = pool(data)
    stays, gone = separation.separated(table, data.names)
    table = separation.without(table, stays)
    _check_terms(table, data, gone)
    span = basis(table.design)
    reduced = _with_design(table, table.design[:, span.kept])
    laplace = Laplace(reduced)
    names = tuple(data.terms[t].name for t in table.order)
    optimum = maximise(laplace, _logistic(reduced), names)
    return _assembled(data, laplace, optimum, span, gone)


def _with_design(table: Table, design: FloatArray) -> Table:
    return Table(
        table.successes,
        table.trials,
        design,
        table.row,
        table.codes,
        table.sizes,
        table.order,
        table.constant,
    )


def _check_terms(table: Table, data: Counts, gone: tuple[Separated, ...]) -> None:
    """Setting separated cells aside may leave a term with a single group, or two terms with the same groups."""
    if not gone:
        return
    left = f"once separated cells are set aside ({'; '.join(g.sentence for g in gone)})"
    faults, seen = [], dict[bytes, str]()
    for t, codes in zip(table.order, table.codes, strict=True):
        name = data.terms[t].name
        if np.unique(codes).size < 2:
            faults.append(f"term '{name}' has 1 group left {left}")
        groups = partition(codes)
        if groups in seen:
            faults.append(f"terms '{seen[groups]}' and '{name}' have the same groups {left}")
        seen.setdefault(groups, name)
    if faults:
        raise StatsError(faults)


def _logistic(table: Table) -> FloatArray:
    """(p,) coefficients without random effects, by Fisher scoring on the distinct design rows."""
    size = len(table.design)
    s, k = np.bincount(table.row, table.successes, size), np.bincount(table.row, table.trials, size)
    X = table.design
    beta = np.zeros(X.shape[1])
    for _ in range(25):
        p = expit(X @ beta)
        information = (X * (k * p * (1 - p))[:, None]).T @ X
        step = np.linalg.solve(information, X.T @ (s - k * p))
        # long steps overshoot; this is a start, not a result
        beta = beta + step * min(1.0, 2.0 / max(float(np.abs(X @ step).max()), 1e-300))
        if float(np.abs(X @ step).max()) < 1e-8:
            break
    return beta


def _assembled(
    data: Counts, laplace: Laplace, optimum: Optimum, span: Basis, gone: tuple[Separated, ...]
) -> Fit:
    terms, order = laplace.terms, laplace.table.order
    back = np.argsort(order)
    kept_beta, joint = optimum.x[terms:], _joint(optimum, terms, back)
    p = len(data.names)
    known = np.array(span.estimable(np.eye(p)))
    spread = np.zeros((p, len(span.kept)))
    spread[span.kept, np.arange(len(span.kept))] = 1.0
    vcov = spread @ joint[terms:, terms:] @ spread.T
    vcov[~known, :] = vcov[:, ~known] = np.nan
    mode = laplace.mode(optimum.x[:terms], kept_beta)
    sd = optimum.x[:terms]
    effects = {data.terms[t].name: sd[i] * mode.effects[laplace.system.part(i)] for i, t in enumerate(order)}
    used = len(span.kept) + terms
    rows = len(data.successes)
    slopes = optimum.certificate.slopes
    components = tuple(
        Component(term.name, len(term.levels), v, v * v, v == 0.0, slopes.get(term.name))
        for term, v in zip(data.terms, sd[back].tolist(), strict=True)
    )
    return Fit(
        names=data.names,
        beta=np.where(known, spread @ kept_beta, np.nan),
        vcov=vcov,
        components=components,
        loglik=optimum.loglik,
        aic=-2 * optimum.loglik + 2 * used,
        bic=-2 * optimum.loglik + math.log(rows) * used,
        rows=rows,
        trials=int(data.trials.sum()),
        separated=gone,
        aliased=tuple(name for j, name in enumerate(data.names) if j not in set(span.kept.tolist())),
        basis=span,
        kept_beta=kept_beta,
        joint=joint,
        effects=effects,
        certificate=optimum.certificate,
    )


def _joint(optimum: Optimum, terms: int, back: npt.NDArray[np.intp]) -> FloatArray:
    """(T + r, T + r) covariance of the SDs, in the order given, and the fitted coefficients."""
    free = np.flatnonzero(optimum.interior)
    joint = np.zeros((optimum.x.size, optimum.x.size))
    joint[np.ix_(free, free)] = np.linalg.inv(optimum.hessian[np.ix_(free, free)])
    at = np.concatenate([back, np.arange(terms, optimum.x.size)])
    return np.asarray(joint[np.ix_(at, at)], dtype=np.float64)
