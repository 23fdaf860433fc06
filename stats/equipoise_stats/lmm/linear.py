"""Dense linear algebra in double precision, typed."""

from __future__ import annotations

import numpy as np

from equipoise_stats.lmm.model import FloatArray


def inverse(matrix: FloatArray) -> FloatArray:
    """Inverse of one matrix or of a stack."""
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def solved(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """matrix^-1 right."""
    return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)


def cholesky(matrix: FloatArray) -> FloatArray:
    """Lower triangle L with L L' = matrix."""
    return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)


def triangle(rows: FloatArray) -> FloatArray:
    """R of the QR decomposition."""
    return np.asarray(np.linalg.qr(rows, mode="r"), dtype=np.float64)
