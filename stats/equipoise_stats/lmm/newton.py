"""Maximise the likelihood over the residual variance and the cones of covariance matrices.

Two Fisher steps (the first lands on the optimum of a balanced design), then Newton steps in the chart of the current
face, halved until the likelihood rises. A step that leaves the cone is cut at its boundary and the face is kept
(an active set); a face is left along the direction in which the score presses most into the cone. After each step
sigma^2 is put at its optimum for the Gamma reached.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import linear
from equipoise_stats.lmm.cone import Block, Chart, chart, direction_entries, gradient_matrix
from equipoise_stats.lmm.likelihood import Derivatives, Solved, derivatives, solve
from equipoise_stats.lmm.model import FloatArray, IntArray
from equipoise_stats.lmm.system import System

FISHER_STEPS = 2
MOST_STEPS = 200
HALVINGS = 40
# In standard errors: further steps would only follow rounding errors.
CONVERGED = 1e-9
# A standardised score that presses into the cone by less than this is none.
RELEASE = 1e-7
# Eigenvalues below this share of the residual variance are tried at 0.
SMALL = 1e-3
# Share of the variation that the residual must keep; below, the random effects reproduce y.
PERFECT = 1e-11


class FlatError(StatsError):
    """The information is singular at a point: there the rows do not tell the components apart."""


@dataclass(frozen=True)
class Point:
    """A residual variance and a covariance matrix for each term, with what was solved there.

    Attributes:
        sigma2: residual variance, standardised.
        blocks: G of each term.
        solved: the elimination at G / sigma2.
        loglik: the likelihood there.
    """

    sigma2: float
    blocks: tuple[Block, ...]
    solved: Solved
    loglik: float


@dataclass(frozen=True)
class Local:
    """Score and information in the coordinates of the current faces.

    Attributes:
        charts: the chart of each term.
        slices: coordinates of each term; the residual is coordinate 0.
        jacobian: (1 + entries, c).
        score: (c,).
        observed: (c, c).
        expected: (c, c).
    """

    charts: tuple[Chart, ...]
    slices: tuple[slice, ...]
    jacobian: FloatArray
    score: FloatArray
    observed: FloatArray
    expected: FloatArray


@dataclass(frozen=True)
class Held:
    """What a profile holds fixed: the residual variance, or terms of one column."""

    residual: bool = False
    terms: frozenset[int] = frozenset()


NOTHING = Held()


def point(
    system: System, sigma2: float, blocks: tuple[Block, ...], reml: bool, held: Held = NOTHING
) -> Point:
    """Solve at sigma^2 and G, and bring the common scale to its optimum unless something is held."""
    solved = solve(system, tuple(b.factor(sigma2) for b in blocks))
    if not held.residual and not held.terms:
        best = solved.best_sigma2(reml)
        blocks = tuple(b.scaled(best / sigma2) for b in blocks)
        sigma2 = best
    return Point(sigma2, blocks, solved, solved.loglik(sigma2, reml))


def localise(at: Point, by_tau: Derivatives) -> Local:
    """Bring derivatives by tau into the charts of the current faces."""
    charts = tuple(chart(b) for b in at.blocks)
    counts = [len(c.directions) for c in charts]
    sizes = [b.size * (b.size + 1) // 2 for b in at.blocks]
    jacobian = np.zeros((1 + sum(sizes), 1 + sum(counts)))
    bend = np.zeros((1 + sum(counts), 1 + sum(counts)))
    jacobian[0, 0] = 1.0
    row, column, slices = 1, 1, []
    for own, size, count in zip(charts, sizes, counts, strict=True):
        rows, columns = slice(row, row + size), slice(column, column + count)
        jacobian[rows, columns] = own.jacobian()
        bend[columns, columns] = own.bend(gradient_matrix(by_tau.score[rows], own.base.size))
        slices.append(columns)
        row, column = row + size, column + count
    observed = jacobian.T @ by_tau.observed @ jacobian - bend
    expected = jacobian.T @ by_tau.expected @ jacobian
    return Local(charts, tuple(slices), jacobian, jacobian.T @ by_tau.score, observed, expected)


def free_coordinates(local: Local, held: Held) -> IntArray:
    """Indices of the coordinates that are not held."""
    out = {0} if held.residual else set()
    for t in held.terms:
        out |= set(range(local.slices[t].start, local.slices[t].stop))
    return np.array([i for i in range(local.score.size) if i not in out], dtype=np.int64)


@dataclass(frozen=True)
class Step:
    """A direction in coordinates and its squared length in standard errors."""

    direction: FloatArray
    decrement: float
    newton: bool


def direction(local: Local, held: Held, fisher: bool) -> Step:
    """The Fisher or Newton direction; Fisher's where the observed information is not positive definite.

    Raises:
        FlatError: if the expected information is not either.
    """
    free = free_coordinates(local, held)
    found = np.zeros(local.score.size)
    if not free.size:
        return Step(found, 0.0, newton=True)
    for observed in (False,) if fisher else (True, False):
        matrix = (local.observed if observed else local.expected)[np.ix_(free, free)]
        step = _solved(matrix, local.score[free])
        if step is not None:
            found[free] = step
            return Step(found, max(float(local.score[free] @ step), 0.0) ** 0.5, observed)
    raise FlatError(
        "mixed model: expected variance components that the rows tell apart, got a singular information matrix; "
        "two random terms explain the same variation: leave one out"
    )


def _solved(matrix: FloatArray, right: FloatArray) -> FloatArray | None:
    scale = np.sqrt(np.abs(np.diag(matrix)))
    if (np.diag(matrix) <= 0).any():
        return None
    try:
        root = linear.cholesky(matrix / np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return None
    if np.diag(root).min() < 1e-7:
        return None
    return np.asarray(linear.solved(root.T, linear.solved(root, right / scale)) / scale, dtype=np.float64)


@dataclass(frozen=True)
class Pressure:
    """The strongest score off the boundary into the cone: the term, the direction and its size in standard errors."""

    term: int
    vector: FloatArray
    score: float
    information: float

    @property
    def size(self) -> float:
        """Standardised score; positive when the likelihood rises into the cone."""
        return self.score / float(np.sqrt(self.information))


def pressure(at: Point, by_tau: Derivatives, held: Held = NOTHING) -> Pressure | None:
    """The strongest pressure off the boundary, None when every term is inside or held."""
    row, best = 1, None
    for index, own in enumerate(at.blocks):
        size = own.size * (own.size + 1) // 2
        rows = slice(row, row + size)
        row += size
        if own.rank == own.size or index in held.terms:
            continue
        normal = own.normal
        values, vectors = np.linalg.eigh(normal.T @ gradient_matrix(by_tau.score[rows], own.size) @ normal)
        vector = normal @ vectors[:, -1]
        entries = direction_entries(np.outer(vector, vector))
        information = float(entries @ by_tau.expected[rows, rows] @ entries)
        found = Pressure(index, vector, float(values[-1]), max(information, np.finfo(float).tiny))
        if best is None or found.size > best.size:
            best = found
    return best


@dataclass(frozen=True)
class Ascent:
    """Where the steps ended."""

    at: Point
    by_tau: Derivatives
    steps: int
    concave: bool


def ascend(at: Point, reml: bool, held: Held = NOTHING) -> Ascent:
    """Climb from a point until neither a step nor leaving a face helps.

    Raises:
        StatsError: components that cannot be told apart, a perfect fit, or no convergence.
    """
    concave = True
    last = np.inf
    for number in range(MOST_STEPS):
        by_tau = derivatives(at.solved, at.sigma2, reml)
        local = localise(at, by_tau)
        step = direction(local, held, number < FISHER_STEPS)
        concave = concave and (step.newton or number < FISHER_STEPS)
        push = pressure(at, by_tau, held)
        if push is not None and push.size > max(RELEASE, step.decrement):
            better = _released(at, push, reml, held)
        elif step.decrement > CONVERGED and (step.decrement < last / 2 or step.decrement**2 > _noise(at)):
            better = _moved(at, local, step, reml, held)
        else:
            return Ascent(at, by_tau, number, concave)
        if better is None:
            return Ascent(at, by_tau, number, concave)
        at, last = _snapped(better, reml, held), step.decrement
        _check_residual(at)
    raise StatsError(
        f"mixed model: expected convergence within {MOST_STEPS} steps, got none; simplify the random terms"
    )


def _noise(at: Point) -> float:
    """Rounding error of the likelihood, generously."""
    return 1e-12 * (abs(at.loglik) + at.solved.system.rows)


def _check_residual(at: Point) -> None:
    total = at.sigma2 + sum(float(b.values.sum()) for b in at.blocks)
    if at.sigma2 < PERFECT * total:
        raise StatsError(
            "mixed model: expected residual variation within groups, got a perfect fit: the random effects reproduce "
            "the response; average the repeated rows or leave out the term with one value a group"
        )


def _moved(at: Point, local: Local, step: Step, reml: bool, held: Held) -> Point | None:
    """The first of the halved steps that raises the likelihood; None when rounding hides any rise."""
    size = 1.0
    for _ in range(HALVINGS):
        change = size * step.direction
        sigma2 = at.sigma2 + change[0]
        if sigma2 > 0.01 * at.sigma2:
            moves = [own.move(change[part]) for own, part in zip(local.charts, local.slices, strict=True)]
            blocks = tuple(move[0] for move in moves)
            there = point(at.solved.system, sigma2, blocks, reml, held)
            cut = any(move[1] for move in moves)
            gain = 0.0 if cut else 1e-4 * size * step.decrement**2
            if there.loglik - at.loglik > gain:
                return there
            # So near the top the rise drowns in rounding; Newton's full step is right there.
            if not cut and step.newton and step.decrement**2 < _noise(at) and size == 1.0:
                return there
        size /= 2
    return None


def _snapped(at: Point, reml: bool, held: Held) -> Point:
    """Put a vanishing eigenvalue at 0 where the likelihood does not object: a face reached only in the limit."""
    blocks = tuple(
        own if index in held.terms else own.without(SMALL * at.sigma2) for index, own in enumerate(at.blocks)
    )
    if all(new.rank == old.rank for new, old in zip(blocks, at.blocks, strict=True)):
        return at
    there = point(at.solved.system, at.sigma2, blocks, reml, held)
    return there if there.loglik >= at.loglik else at


def _released(at: Point, push: Pressure, reml: bool, held: Held) -> Point | None:
    """Leave the face along the pressing direction by a step of its own."""
    length = push.score / push.information
    for _ in range(HALVINGS):
        own = at.blocks[push.term]
        grown = Block(np.column_stack([own.vectors, push.vector]), np.append(own.values, length))
        blocks = tuple(grown if i == push.term else b for i, b in enumerate(at.blocks))
        there = point(at.solved.system, at.sigma2, blocks, reml, held)
        if there.loglik > at.loglik:
            return there
        length /= 2
    return None
