"""The penalised information M = I + L Z'WZ L of the random effects, its largest diagonal block eliminated.

L is the diagonal matrix of the terms' SDs. Levels of one factor share no row, so that its block of Z'WZ is
diagonal; what is left is a small dense Schur complement. (The elimination of Bates et al. 2015, *J. Stat.
Softw.* 67(1), with the fill-in confined to one dense block.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise_stats.glmm.model import FloatArray, IntArray
from equipoise_stats.glmm.table import Table


@dataclass(frozen=True)
class Factor:
    """M factorised.

    Attributes:
        diagonal: (q0,) block of the eliminated factor.
        link: (q0, r) M's block between it and the others, divided by ``diagonal``.
        lower: (r, r) Cholesky factor of the Schur complement.
    """

    diagonal: FloatArray
    link: FloatArray
    lower: FloatArray

    @property
    def logdet(self) -> float:
        """The log determinant of M."""
        return float(np.log(self.diagonal).sum() + 2.0 * np.log(np.diag(self.lower)).sum())

    def solve(self, right: FloatArray) -> FloatArray:
        """M^-1 times a (q,) vector or a (q, m) matrix, the eliminated factor's levels first."""
        from scipy.linalg import cho_solve

        top, rest = right[: self.diagonal.size], right[self.diagonal.size :]
        rest = rest - self.link.T @ top
        if rest.size:
            rest = np.asarray(cho_solve((self.lower, True), rest, check_finite=False), dtype=np.float64)
        top = (top.T / self.diagonal).T - self.link @ rest
        return np.concatenate([top, rest])

    def inverse(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of M^-1: the (q0,) diagonal of the eliminated block, the (q0, r) block beside it, the (r, r) block."""
        size = self.lower.shape[0]
        rest = np.zeros((size, size))
        if size:
            from scipy.linalg import cho_solve

            rest = np.asarray(cho_solve((self.lower, True), np.eye(size), check_finite=False))
        beside = -self.link @ rest
        return 1.0 / self.diagonal - np.einsum("ij,ij->i", beside, self.link), beside, rest


class System:
    """Sums over the rows of one table by the levels of its factors."""

    def __init__(self, table: Table) -> None:
        self.codes, self.sizes = table.codes, table.sizes
        self.edges = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self.q = int(self.edges[-1])
        # combined code of every pair of factors, computed once
        self._pairs: dict[tuple[int, int], IntArray] = {
            (a, b): self.codes[a] * self.sizes[b] + self.codes[b]
            for a in range(len(self.sizes))
            for b in range(a + 1, len(self.sizes))
        }

    def part(self, term: int) -> slice:
        """Where the levels of a factor stand in a (q,) vector."""
        return slice(int(self.edges[term]), int(self.edges[term + 1]))

    def sums(self, term: int, values: FloatArray) -> FloatArray:
        """(levels,) sums of (m,) values by the levels of one factor."""
        return _sums(self.codes[term], values, self.sizes[term])

    def gather(self, effects: FloatArray, sd: FloatArray) -> FloatArray:
        """(m,) rows of Z L u for (q,) standardised effects u."""
        total = np.zeros(self.codes[0].size)
        for term, codes in enumerate(self.codes):
            total += sd[term] * effects[self.part(term)][codes]
        return total

    def scatter(self, values: FloatArray, sd: FloatArray) -> FloatArray:
        """(q,) vector L Z' v for (m,) values v."""
        return np.concatenate([sd[t] * self.sums(t, values) for t in range(len(self.sizes))])

    def factorise(self, weights: FloatArray, sd: FloatArray) -> Factor:
        """M at (m,) working weights and (T,) SDs."""
        terms = range(1, len(self.sizes))
        diagonal = 1.0 + sd[0] ** 2 * self.sums(0, weights)
        rest = self.q - self.sizes[0]
        if rest == 0:
            return Factor(diagonal, np.zeros((diagonal.size, 0)), np.zeros((0, 0)))
        block = np.hstack([sd[0] * sd[t] * self._cross(0, t, weights) for t in terms])
        own = np.zeros((rest, rest))
        shift = self.sizes[0]
        for a in terms:
            at = slice(int(self.edges[a]) - shift, int(self.edges[a + 1]) - shift)
            own[at, at] = np.diag(1.0 + sd[a] ** 2 * self.sums(a, weights))
            for b in range(a + 1, len(self.sizes)):
                beside = slice(int(self.edges[b]) - shift, int(self.edges[b + 1]) - shift)
                own[at, beside] = sd[a] * sd[b] * self._cross(a, b, weights)
                own[beside, at] = own[at, beside].T
        link = block / diagonal[:, None]
        return Factor(diagonal, link, np.linalg.cholesky(own - block.T @ link))

    def _cross(self, a: int, b: int, weights: FloatArray) -> FloatArray:
        sizes = (self.sizes[a], self.sizes[b])
        return _sums(self._pairs[a, b], weights, sizes[0] * sizes[1]).reshape(sizes)

    def leverage(self, factor: Factor, sd: FloatArray) -> tuple[FloatArray, ...]:
        """For each factor t the (m,) rows of sum_s sd_s M^-1[level of s, level of t].

        Times ``sd`` and summed over the factors they are the leverages diag(Z L M^-1 L Z').
        """
        diagonal, beside, rest = factor.inverse()
        shift = self.sizes[0]
        rows = [sd[t] * self._own(t, diagonal, rest)[self.codes[t]] for t in range(len(self.sizes))]
        for a, b in self._pairs:
            columns = self.codes[b] + int(self.edges[b]) - shift
            if a == 0:
                entry = beside[self.codes[0], columns]
            else:
                entry = rest[self.codes[a] + int(self.edges[a]) - shift, columns]
            rows[a], rows[b] = rows[a] + sd[b] * entry, rows[b] + sd[a] * entry
        return tuple(rows)

    def _own(self, term: int, diagonal: FloatArray, rest: FloatArray) -> FloatArray:
        if term == 0:
            return diagonal
        shift = self.sizes[0]
        return np.diag(rest)[int(self.edges[term]) - shift : int(self.edges[term + 1]) - shift]


def _sums(codes: IntArray, values: FloatArray, size: int) -> FloatArray:
    return np.asarray(np.bincount(codes, values, size), dtype=np.float64)
