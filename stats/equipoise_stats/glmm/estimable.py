"""Which coefficients and contrasts the rows determine at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise_stats.glmm.model import FloatArray, IntArray

DEPENDENT = 1e-9


@dataclass(frozen=True)
class Basis:
    """Independent columns of a design.

    Attributes:
        kept: indices of the first columns, left to right, that span the design (as R's ``lm`` keeps them).
        rows: (r, p) orthonormal basis of the design's row space.
    """

    kept: IntArray
    rows: FloatArray

    def estimable(self, vectors: FloatArray) -> list[bool]:
        """Whether each (m, p) vector lies in the row space, the condition for c'beta to be determined."""
        outside = vectors - vectors @ self.rows.T @ self.rows
        size = np.maximum(np.linalg.norm(vectors, axis=1), 1e-300)
        return [bool(far) for far in np.linalg.norm(outside, axis=1) <= 1e-7 * size]


def basis(design: FloatArray) -> Basis:
    """Columns that span an (m, p) design, and its row space."""
    kept: list[int] = []
    span = np.zeros((design.shape[0], 0))
    for j, column in enumerate(design.T):
        rest = column - span @ (span.T @ column)
        rest -= span @ (span.T @ rest)  # twice is enough (Kahan)
        size = float(np.linalg.norm(rest))
        if size > DEPENDENT * float(np.linalg.norm(column)):
            kept.append(j)
            span = np.column_stack([span, rest / size])
    scale = np.maximum(np.abs(design).max(axis=0), 1e-300)
    _, singular, right = np.linalg.svd(design / scale, full_matrices=False)
    rank = len(kept)
    rows, _ = np.linalg.qr((right[:rank] * scale).T)
    assert singular.size >= rank
    return Basis(np.array(kept, dtype=np.int64), np.asarray(rows.T, dtype=np.float64))
