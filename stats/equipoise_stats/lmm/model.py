"""What a linear mixed model is fitted to: a response, a fixed design and random terms.

Model: y = X beta + sum_t Z_t b_t + e, with b_t ~ N(0, I kron G_t) over the levels of term t (G_t is k x k) and
e ~ N(0, sigma^2 W^-1). Notation of Bates, Maechler, Bolker & Walker (2015), *J. Stat. Softw.* 67(1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise_stats.errors import StatsError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RandomTerm:
    """One random term: a grouping of the rows and the columns that vary between its groups.

    Attributes:
        name: how the grouping is written, such as "seed" or "rule:task".
        codes: (n,) index into ``levels`` of each row.
        levels: one name for each group.
        design: (n, k) columns that vary by group: ones for an intercept, the covariate for a slope.
        columns: names of the k columns.
    """

    name: str
    codes: IntArray
    levels: tuple[str, ...]
    design: FloatArray
    columns: tuple[str, ...] = ("(Intercept)",)

    @property
    def width(self) -> int:
        """Number k of columns, correlated with each other within a level."""
        return int(self.design.shape[1])


@dataclass(frozen=True)
class Problem:
    """A response with its fixed and random design.

    Attributes:
        y: (n,) response.
        X: (n, p) fixed design; aliased columns are allowed and reported.
        names: names of the p columns.
        terms: the random terms, at least one.
        weights: (n,) prior weights, inverse to each row's residual variance; None for ones.
    """

    y: FloatArray
    X: FloatArray
    names: tuple[str, ...]
    terms: tuple[RandomTerm, ...]
    weights: FloatArray | None = None


def intercept(name: str, labels: npt.ArrayLike) -> RandomTerm:
    """A random intercept for every distinct label.

    Args:
        name: how the grouping is written.
        labels: (n,) the group of each row; numbers are labels too.
    """
    levels, codes = np.unique(np.asarray(labels), return_inverse=True)
    ones = np.ones((codes.size, 1))
    return RandomTerm(name, codes.astype(np.int64).ravel(), tuple(str(level) for level in levels), ones)


def check(problem: Problem) -> None:
    """Refuse a problem that no fit can answer.

    Raises:
        StatsError: every fault found in shapes, values, groupings and weights.
    """
    faults = [*_shape_faults(problem)]
    if not faults:
        faults = [*_value_faults(problem), *_term_faults(problem)]
    if faults:
        raise StatsError(faults)


def _shape_faults(problem: Problem) -> Iterator[str]:
    n = problem.y.shape[0] if problem.y.ndim else 0
    if problem.y.ndim != 1 or n == 0:
        yield f"mixed model: expected y as a vector of at least one row, got shape {problem.y.shape}"
        return
    if problem.X.shape != (n, len(problem.names)):
        yield f"mixed model: expected X of shape ({n}, {len(problem.names)}) as named, got {problem.X.shape}"
    if not problem.terms:
        yield "mixed model: expected at least one random term, got none; without one use least squares"
    if problem.weights is not None and problem.weights.shape != (n,):
        yield f"mixed model: expected one weight a row, shape ({n},), got {problem.weights.shape}"
    for term in problem.terms:
        if term.codes.shape != (n,) or term.design.shape != (n, len(term.columns)) or not term.columns:
            yield (
                f"random term {term.name}: expected codes ({n},) and design ({n}, {len(term.columns)}), "
                f"got {term.codes.shape} and {term.design.shape}"
            )


def _value_faults(problem: Problem) -> Iterator[str]:
    found = {"y": problem.y, **dict(zip(problem.names, problem.X.T, strict=True))}
    for term in problem.terms:
        for name, column in zip(term.columns, term.design.T, strict=True):
            found[f"{name} | {term.name}"] = column
    if problem.weights is not None:
        found["weights"] = problem.weights
    for name, values in found.items():
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            yield f"{name}: expected finite numbers, got {values[bad[0]]} in {bad.size} rows, the first is row {bad[0]}"
    if problem.weights is not None and (problem.weights <= 0).any():
        row = int(np.flatnonzero(problem.weights <= 0)[0])
        yield f"weights: expected > 0, got {problem.weights[row]} in row {row}; leave such rows out by name"


def _term_faults(problem: Problem) -> Iterator[str]:
    n = problem.y.shape[0]
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for term in problem.terms:
        key = (term.name, term.columns)
        if key in seen:
            yield f"random term {term.name}: expected once, got the same columns {term.columns} twice"
        seen.add(key)
        if term.codes.min() < 0 or term.codes.max() >= len(term.levels):
            yield f"random term {term.name}: expected codes in 0..{len(term.levels) - 1}, got {term.codes.max()}"
            continue
        used = int(np.unique(term.codes).size)
        if used < 2:
            yield f"random term {term.name}: expected at least 2 groups, got {used}; a variance needs more than one"
        if used * term.width >= n:
            yield (
                f"random term {term.name}: expected fewer random effects than rows, got {used} groups x "
                f"{term.width} columns for {n} rows; its variance cannot be told from the residual's"
            )
