"""Covariance matrices as points of the cone of positive semidefinite matrices, with charts of its faces.

A face is the set of G of one rank. Around G = U diag(d) U' with rank r of k its points are

    [U U_] [[A, B'], [B, B A^-1 B']] [U U_]'        A (r, r) positive definite, B (k - r, r)

(the Schur complement of A vanishes), so that the chart is linear inside the cone and bends on its boundary by
B A^-1 B' alone. Rank 0 has no coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise_stats.lmm import linear
from equipoise_stats.lmm.model import FloatArray

# Eigenvalues below this share of the largest are rounding errors of a projection.
NEGLIGIBLE = 1e-13


@dataclass(frozen=True)
class Block:
    """G = vectors diag(values) vectors'.

    Attributes:
        vectors: (k, r) orthonormal.
        values: (r,) positive.
    """

    vectors: FloatArray
    values: FloatArray

    @property
    def rank(self) -> int:
        """Rank r."""
        return self.values.size

    @property
    def size(self) -> int:
        """Order k."""
        return int(self.vectors.shape[0])

    @property
    def matrix(self) -> FloatArray:
        """G, (k, k)."""
        return (self.vectors * self.values) @ self.vectors.T

    def factor(self, sigma2: float) -> FloatArray:
        """(k, r) with factor @ factor.T = G / sigma2."""
        return np.asarray(self.vectors * np.sqrt(self.values / sigma2), dtype=np.float64)

    def scaled(self, by: float) -> Block:
        """G times a positive number."""
        return Block(self.vectors, self.values * by)

    def without(self, below: float) -> Block:
        """G without the eigenvalues below a bound."""
        keep = self.values >= below
        return Block(self.vectors[:, keep], self.values[keep])

    @property
    def normal(self) -> FloatArray:
        """(k, k - r) orthonormal basis of the null space."""
        if self.rank == 0:
            return np.eye(self.size)
        if self.rank == self.size:
            return np.empty((self.size, 0))
        full = np.linalg.qr(self.vectors, mode="complete")[0]
        return np.asarray(full[:, self.rank :], dtype=np.float64)


def block(matrix: FloatArray) -> Block:
    """The nearest point of the cone (Higham 1988): negative eigenvalues become 0."""
    if len(matrix) == 1:
        value = matrix[0]
        return Block(np.ones((1, 1)), value) if value[0] > 0 else Block(np.empty((1, 0)), np.empty(0))
    values, vectors = np.linalg.eigh(matrix)
    keep = values > NEGLIGIBLE * max(float(values[-1]), 0.0)
    keep &= values > 0
    return Block(vectors[:, keep], values[keep])


@dataclass(frozen=True)
class Chart:
    """Coordinates of one face around a point.

    Attributes:
        base: the point.
        directions: (c, k, k) derivative of G by each coordinate: the entries of A, then those of B.
    """

    base: Block
    directions: FloatArray

    def jacobian(self) -> FloatArray:
        """(k (k + 1) / 2, c) derivative of the entries (a <= b, by columns) of G."""
        k = self.base.size
        pairs = [(a, b) for b in range(k) for a in range(b + 1)]
        rows = [self.directions[:, a, b] for a, b in pairs]
        return np.array(rows).reshape(len(pairs), len(self.directions))

    def bend(self, gradient: FloatArray) -> FloatArray:
        """(c, c) second derivative of tr(S G) along the chart, for the (k, k) gradient S."""
        r, rest = self.base.rank, self.base.size - self.base.rank
        found = np.zeros((len(self.directions), len(self.directions)))
        start = r * (r + 1) // 2
        if not (r and rest):
            return found
        normal = self.base.normal
        pressed = normal.T @ gradient @ normal
        for i in range(rest):
            for h in range(rest):
                for j in range(r):
                    found[start + i * r + j, start + h * r + j] = 2 * pressed[i, h] / self.base.values[j]
        return found

    def move(self, step: FloatArray) -> tuple[Block, bool]:
        """The point at some coordinates, and whether it was cut off at the boundary of the face."""
        r = self.base.rank
        if r == 0:
            return self.base, False
        if self.base.size == 1:
            moved = self.base.values + step
            return block(moved[None]), bool(moved[0] <= NEGLIGIBLE * self.base.values[0])
        u, normal = self.base.vectors, self.base.normal
        tangent = np.tensordot(step, self.directions, axes=1)
        inner = np.diag(self.base.values) + u.T @ tangent @ u
        if np.linalg.eigvalsh(inner)[0] <= NEGLIGIBLE * np.abs(inner).max():
            return block(self.base.matrix + tangent), True
        outer = normal.T @ tangent @ u
        lifted = u + normal @ linear.solved(inner.T, outer.T).T
        basis, triangle = np.linalg.qr(lifted)
        values, vectors = np.linalg.eigh(triangle @ inner @ triangle.T)
        return Block(basis @ vectors, values), False


def chart(base: Block) -> Chart:
    """The chart of the face on which a point lies."""
    if base.size == 1:
        return Chart(base, np.ones((base.rank, 1, 1)))
    u, normal, r = base.vectors, base.normal, base.rank
    found = []
    for j in range(r):
        for i in range(j + 1):
            outer = np.outer(u[:, i], u[:, j])
            found.append(outer if i == j else outer + outer.T)
    for i in range(base.size - r):
        for j in range(r):
            outer = np.outer(normal[:, i], u[:, j])
            found.append(outer + outer.T)
    return Chart(base, np.array(found).reshape(-1, base.size, base.size))


def gradient_matrix(score: FloatArray, size: int) -> FloatArray:
    """The symmetric S with tr(S dG) = sum over a <= b of score_ab dG_ab."""
    found = np.zeros((size, size))
    pairs = [(a, b) for b in range(size) for a in range(b + 1)]
    for (a, b), value in zip(pairs, score, strict=True):
        found[a, b] = found[b, a] = value if a == b else value / 2
    return found


def direction_entries(direction: FloatArray) -> FloatArray:
    """The entries a <= b, by columns, of a symmetric direction."""
    size = len(direction)
    return np.array([direction[a, b] for b in range(size) for a in range(b + 1)])
