"""Sufficient statistics of a mixed model: cross-products of Z, X and y, summed over the rows in chunks.

Nothing of n x n and nothing dense of n x q is ever made: Z'Z, Z'X and Z'y are counts and sums by group. Terms of the
grouping with most random effects form the lead, whose Z'Z is block diagonal and is eliminated first (Bates et al.
2015, section 5: the ordering of a sparse Cholesky factor, here by blocks).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import linear
from equipoise_stats.lmm.model import FloatArray, IntArray, Problem, RandomTerm


@dataclass(frozen=True)
class Layout:
    """Where the random effects stand.

    Attributes:
        widths: columns k of each term.
        levels: groups of each term.
        lead: indices of the terms that share the lead grouping.
        dense: indices of the other terms.
        offsets: first column of each term in its part: counted in columns in the lead, in effects elsewhere.
        size: effects of the dense part.
    """

    widths: tuple[int, ...]
    levels: tuple[int, ...]
    lead: tuple[int, ...]
    dense: tuple[int, ...]
    offsets: tuple[int, ...]
    size: int

    @property
    def lead_width(self) -> int:
        """Columns K of the lead."""
        return sum(self.widths[t] for t in self.lead)

    @property
    def lead_levels(self) -> int:
        """Groups L of the lead."""
        return self.levels[self.lead[0]]

    def part(self, term: int, column: int) -> slice:
        """The effects of one column of a dense term."""
        start = self.offsets[term] + column * self.levels[term]
        return slice(start, start + self.levels[term])


@dataclass(frozen=True)
class CrossProducts:
    """Sums over rows, each row multiplied by the root of its weight.

    Attributes:
        layout: where the random effects stand.
        rows: n.
        log_weights: sum of the logarithms of the weights.
        triangle: (p + 1, p + 1) R with R'R = [X y]'[X y].
        lead: (K, K, L) Z1'Z1 of each lead group.
        cross: (q2, K, L) Z2'Z1.
        dense: (q2, q2) Z2'Z2.
        lead_fixed: (K, L, p + 1) Z1'[X y].
        dense_fixed: (q2, p + 1) Z2'[X y].
    """

    layout: Layout
    rows: int
    log_weights: float
    triangle: FloatArray
    lead: FloatArray
    cross: FloatArray
    dense: FloatArray
    lead_fixed: FloatArray
    dense_fixed: FloatArray


def lay_out(terms: tuple[RandomTerm, ...], codes: Iterable[IntArray] | None = None) -> Layout:
    """Choose the lead and place the effects.

    Args:
        terms: random terms; two terms share a grouping when their rows are split alike.
        codes: codes that decide which terms share a grouping; by default the terms' own.
    """
    splits = [term.codes for term in terms] if codes is None else list(codes)
    levels = tuple(len(term.levels) for term in terms)
    widths = tuple(term.width for term in terms)
    groups: list[list[int]] = []
    for index, split in enumerate(splits):
        same = (g for g in groups if levels[g[0]] == levels[index] and np.array_equal(splits[g[0]], split))
        found = next(same, None)
        if found is None:
            groups.append([index])
        else:
            found.append(index)
    lead = max(groups, key=lambda group: levels[group[0]] * sum(widths[t] for t in group))
    dense = tuple(t for t in range(len(terms)) if t not in lead)
    offsets = [0] * len(terms)
    place = 0
    for t in lead:
        offsets[t] = place
        place += widths[t]
    size = 0
    for t in dense:
        offsets[t] = size
        size += widths[t] * levels[t]
    return Layout(widths, levels, tuple(lead), dense, tuple(offsets), size)


def sum_rows(problem: Problem, layout: Layout) -> CrossProducts:
    """The sums of one chunk of rows.

    Args:
        problem: the rows; codes refer to the levels of the layout.
        layout: where the effects stand.
    """
    rows = _Rows(problem, layout)
    log_weights = 0.0 if problem.weights is None else float(np.log(problem.weights).sum())
    lead, cross = rows.lead()
    lead_fixed, dense_fixed = rows.fixed_sums()
    return CrossProducts(
        layout,
        problem.y.size,
        log_weights,
        _triangle(rows.fixed),
        lead,
        cross,
        rows.dense(),
        lead_fixed,
        dense_fixed,
    )


class _Rows:
    """One chunk of rows, multiplied by the roots of their weights, and its sums."""

    def __init__(self, problem: Problem, layout: Layout) -> None:
        root = 1.0 if problem.weights is None else np.sqrt(problem.weights)[:, None]
        self.layout = layout
        self.fixed = np.column_stack([problem.X, problem.y]) * root
        self.designs = [term.design * root for term in problem.terms]
        self.codes = [term.codes for term in problem.terms]
        self.lead_columns = [(t, a) for t in layout.lead for a in range(layout.widths[t])]
        self.dense_columns = [(t, a) for t in layout.dense for a in range(layout.widths[t])]

    def _summed(self, one: tuple[int, int], other: tuple[int, int]) -> FloatArray:
        """(levels, levels) sums of the product of two columns over the rows of each pair of groups."""
        (t, a), (u, b) = one, other
        levels = self.layout.levels
        pair = self.codes[t] * levels[u] + self.codes[u]
        sums = np.bincount(pair, self.designs[t][:, a] * self.designs[u][:, b], levels[t] * levels[u])
        return np.asarray(sums.reshape(levels[t], levels[u]), dtype=np.float64)

    def lead(self) -> tuple[FloatArray, FloatArray]:
        """(K, K, L) Z1'Z1 by groups and (q2, K, L) Z2'Z1."""
        layout, width = self.layout, len(self.lead_columns)
        own = np.empty((width, width, layout.lead_levels))
        cross = np.empty((layout.size, width, layout.lead_levels))
        codes = self.codes[layout.lead[0]]
        for i, (t, a) in enumerate(self.lead_columns):
            for j, (u, b) in enumerate(self.lead_columns[: i + 1]):
                product = self.designs[t][:, a] * self.designs[u][:, b]
                own[i, j] = own[j, i] = np.bincount(codes, product, layout.lead_levels)
            for v, c in self.dense_columns:
                cross[layout.part(v, c), i] = self._summed((v, c), (t, a))
        return own, cross

    def dense(self) -> FloatArray:
        """(q2, q2) Z2'Z2."""
        found = np.empty((self.layout.size, self.layout.size))
        for i, one in enumerate(self.dense_columns):
            for other in self.dense_columns[: i + 1]:
                sums = self._summed(one, other)
                found[self.layout.part(*one), self.layout.part(*other)] = sums
                found[self.layout.part(*other), self.layout.part(*one)] = sums.T
        return found

    def fixed_sums(self) -> tuple[FloatArray, FloatArray]:
        """(K, L, p + 1) Z1'[X y] and (q2, p + 1) Z2'[X y]."""
        layout, columns = self.layout, self.fixed.shape[1]
        lead = np.empty((len(self.lead_columns), layout.lead_levels, columns))
        dense = np.empty((layout.size, columns))
        for j, column in enumerate(self.fixed.T):
            for i, (t, a) in enumerate(self.lead_columns):
                lead[i, :, j] = np.bincount(self.codes[t], self.designs[t][:, a] * column, layout.lead_levels)
            for t, a in self.dense_columns:
                sums = np.bincount(self.codes[t], self.designs[t][:, a] * column, layout.levels[t])
                dense[layout.part(t, a), j] = sums
        return lead, dense


def _triangle(rows: FloatArray) -> FloatArray:
    """R of the QR decomposition, padded to a square when there are few rows."""
    found = linear.triangle(rows)
    square = np.zeros((rows.shape[1], rows.shape[1]))
    square[: found.shape[0]] = found
    return square


def merge(chunks: Iterable[CrossProducts]) -> CrossProducts:
    """The sums over all chunks.

    Raises:
        StatsError: no chunk, or chunks of different layouts.
    """
    total: CrossProducts | None = None
    for chunk in chunks:
        total = chunk if total is None else _added(total, chunk)
    if total is None:
        raise StatsError("mixed model: expected at least one chunk of rows, got none")
    return total


def _added(one: CrossProducts, other: CrossProducts) -> CrossProducts:
    if one.layout != other.layout or one.triangle.shape != other.triangle.shape:
        raise StatsError(
            "mixed model: expected chunks of one layout, got different terms, levels or columns; "
            "number the levels once for all chunks"
        )
    return CrossProducts(
        one.layout,
        one.rows + other.rows,
        one.log_weights + other.log_weights,
        _triangle(np.vstack([one.triangle, other.triangle])),
        one.lead + other.lead,
        one.cross + other.cross,
        one.dense + other.dense,
        one.lead_fixed + other.lead_fixed,
        one.dense_fixed + other.dense_fixed,
    )
