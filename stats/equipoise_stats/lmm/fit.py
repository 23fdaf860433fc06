"""Fit a mixed model by REML or ML, with a certificate or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import linear
from equipoise_stats.lmm.canonical import canonical
from equipoise_stats.lmm.certificate import certify
from equipoise_stats.lmm.cone import Block
from equipoise_stats.lmm.crossproducts import CrossProducts, lay_out, merge, sum_rows
from equipoise_stats.lmm.likelihood import Derivatives, entries
from equipoise_stats.lmm.model import FloatArray, Problem, check
from equipoise_stats.lmm.newton import Ascent, FlatError, Point, ascend, point
from equipoise_stats.lmm.results import Certificate, Component, Fit
from equipoise_stats.lmm.system import System, orthogonal, standardise

# Ratios of random to residual variance from which the steps start.
FIRST_START = 1.0
# Tried besides when the first ascent ended at the boundary or crossed ground where the likelihood is not concave.
MORE_STARTS = (0.01, 30.0)
FEW_ROWS = 500
# A later start must do better than this to be taken.
BETTER = 1e-8


@dataclass(frozen=True)
class Solution:
    """What the modules on inference read.

    Attributes:
        problem: names of terms, levels and columns; its levels are in the order of the sums.
        at: the optimum in standardised units.
        by_tau: score and information there.
        reml: which likelihood.
    """

    problem: Problem
    at: Point
    by_tau: Derivatives
    reml: bool

    @property
    def system(self) -> System:
        """The standardised sums."""
        return self.at.solved.system


def fit(problem: Problem, *, reml: bool = True) -> Fit:
    """Fit a mixed model.

    The result does not depend on the order of the rows or the names and order of the levels.

    Args:
        problem: response and designs.
        reml: maximise the restricted likelihood; False for the likelihood.

    Raises:
        StatsError: a faulty problem, components that the rows cannot tell apart, a perfect fit, or no certificate.
    """
    check(problem)
    ordered = canonical(problem)
    rows, turned = orthogonal(ordered)
    return _fitted(standardise(sum_rows(rows, lay_out(rows.terms)), turned), ordered, reml)


def fit_summaries(
    sums: CrossProducts | Iterable[CrossProducts], problem: Problem, *, reml: bool = True
) -> Fit:
    """Fit from sums over rows, which may have been taken in chunks.

    Args:
        sums: cross-products of all rows, or of chunks of one layout.
        problem: gives the names; its rows are not read.
        reml: maximise the restricted likelihood; False for the likelihood.

    Raises:
        StatsError: as in ``fit``.
    """
    whole = sums if isinstance(sums, CrossProducts) else merge(sums)
    return _fitted(standardise(whole), problem, reml)


def _fitted(system: System, problem: Problem, reml: bool) -> Fit:
    best, starts = _best(system, reml)
    certificate = certify(best, problem, starts)
    if not certificate.kkt:
        raise StatsError(
            f"mixed model: expected an optimum, got a point that Karush, Kuhn and Tucker's conditions do not certify "
            f"(decrement {certificate.decrement:.1e}, pressure {certificate.pressure:.1e}, smallest eigenvalue "
            f"{certificate.min_eigenvalue:.1e}); the random terms ask too much of these rows: simplify them"
        )
    return _described(Solution(problem, best.at, best.by_tau, reml), certificate)


def fit_standardised(system: System, *, reml: bool) -> Ascent:
    """The optimum in standardised units, from as many starts as the surface asks for."""
    return _best(system, reml)[0]


def _best(system: System, reml: bool) -> tuple[Ascent, int]:
    best = ascend(_start(system, FIRST_START, reml), reml)
    starts = 1
    if best.concave and all(b.rank == b.size for b in best.at.blocks):
        return best, starts
    for start in _more_starts(system, reml):
        starts += 1
        try:
            other = ascend(start, reml)
        except FlatError:
            # far from the optimum found already the likelihood may be flat, which says nothing against it
            continue
        if other.at.loglik > best.at.loglik + BETTER:
            best = other
    return best, starts


def _more_starts(system: System, reml: bool) -> Iterator[Point]:
    """All terms small or large; with few rows, where optima are several, also all large but one."""
    for ratio in MORE_STARTS:
        yield _start(system, ratio, reml)
    widths = system.layout.widths
    if len(widths) < 2 or system.rows > FEW_ROWS:
        return
    small, large = MORE_STARTS
    for t in range(len(widths)):
        blocks = [Block(np.eye(k), np.full(k, small if i == t else large)) for i, k in enumerate(widths)]
        yield point(system, 1.0, tuple(blocks), reml)


def _start(system: System, ratio: float, reml: bool) -> Point:
    blocks = tuple(Block(np.eye(k), np.full(k, ratio)) for k in system.layout.widths)
    return point(system, 1.0, blocks, reml)


def _described(solution: Solution, certificate: Certificate) -> Fit:
    system, at = solution.system, solution.at
    back = linear.inverse(system.triangle) * system.scale
    inner = linear.inverse(at.solved.fixed_root)
    beta = system.start + back @ (inner.T @ at.solved.half_target)
    vcov = at.sigma2 * back @ inner.T @ inner @ back.T
    problem = solution.problem
    components = _components(solution)
    count = system.fixed + len(components)
    loglik = (
        at.loglik - at.solved.freedom(solution.reml) * float(np.log(system.scale)) + system.log_weights / 2
    )
    if solution.reml:
        loglik -= float(np.log(np.abs(np.diag(system.triangle))).sum())
    return Fit(
        names=tuple(problem.names[i] for i in system.kept),
        beta=beta,
        vcov=(vcov + vcov.T) / 2,
        components=components,
        sigma2=at.sigma2 * system.scale**2,
        loglik=loglik,
        AIC=-2 * loglik + 2 * count,
        BIC=-2 * loglik + count * float(np.log(system.rows)),
        nobs=system.rows,
        reml=solution.reml,
        theta=_theta(solution),
        aliased=tuple(problem.names[i] for i in system.aliased),
        alias=system.alias,
        singular=any(b.rank < b.size for b in at.blocks),
        certificate=certificate,
        solution=solution,
    )


def covariances(solution: Solution) -> tuple[FloatArray, ...]:
    """G of each term in the units of y and the term's columns."""
    found = []
    for block, white in zip(solution.at.blocks, solution.system.white, strict=True):
        factor = linear.solved(white, block.factor(1.0)) * solution.system.scale
        found.append(factor @ factor.T)
    return tuple(found)


def _components(solution: Solution) -> tuple[Component, ...]:
    matrices = covariances(solution)
    found = []
    for t, a, b in entries(solution.system.layout):
        term, block = solution.problem.terms[t], solution.at.blocks[t]
        columns = (term.columns[a],) if a == b else (term.columns[a], term.columns[b])
        found.append(Component(term.name, columns, float(matrices[t][a, b]), block.rank < block.size))
    sigma2 = solution.at.sigma2 * solution.system.scale**2
    return (*found, Component("Residual", (), sigma2, boundary=False))


def _theta(solution: Solution) -> dict[str, float]:
    sigma = np.sqrt(solution.at.sigma2) * solution.system.scale
    found: dict[str, float] = {}
    for term, white, block in zip(
        solution.problem.terms, solution.system.white, solution.at.blocks, strict=True
    ):
        factor = linear.solved(white, block.factor(1.0)) * solution.system.scale / sigma
        lower = _lower(factor)
        for b, column in enumerate(term.columns):
            for a in range(b, term.width):
                name = f"{term.name}.{column}" if a == b else f"{term.name}.{term.columns[a]}.{column}"
                found[name] = float(lower[a, b])
    return found


def _lower(factor: FloatArray) -> FloatArray:
    """The lower triangle with the same lower @ lower.T as a (k, r) factor, its diagonal not negative."""
    k = len(factor)
    padded = np.zeros((k, k))
    padded[:, : factor.shape[1]] = factor
    lower = linear.triangle(padded.T).T
    signs = np.where(np.diag(lower) < 0, -1.0, 1.0)
    return np.asarray(lower * signs, dtype=np.float64)
