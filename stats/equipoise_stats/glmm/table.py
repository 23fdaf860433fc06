"""Equal rows pooled: the likelihood only sees successes and trials by design row and groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise_stats.glmm.model import Counts, FloatArray, IntArray


@dataclass(frozen=True)
class Table:
    """Pooled counts.

    Attributes:
        successes: (m,) and ``trials`` (m,) of the pooled rows.
        design: (C, p) distinct rows of the fixed design; ``row`` (m,) says which one applies.
        codes: T arrays (m,), largest factor first, because that one is eliminated.
        sizes: levels of each factor in that order.
        order: for each factor its place among the terms that were given.
        constant: sum of log binomial coefficients of the rows as given, part of the log-likelihood.
    """

    successes: FloatArray
    trials: FloatArray
    design: FloatArray
    row: IntArray
    codes: tuple[IntArray, ...]
    sizes: tuple[int, ...]
    order: tuple[int, ...]
    constant: float


def pool(data: Counts) -> Table:
    """Sum the counts of rows with the same design and the same groups.

    Args:
        data: checked data.
    """
    design, row = distinct_rows(data.X)
    order = sorted(range(len(data.terms)), key=lambda t: -len(data.terms[t].levels))
    keys = np.column_stack([row, *(data.terms[t].codes for t in order)]).astype(np.int64)
    distinct, inverse = distinct_rows(keys)
    size = len(distinct)
    return Table(
        np.asarray(np.bincount(inverse, data.successes, size), dtype=np.float64),
        np.asarray(np.bincount(inverse, data.trials, size), dtype=np.float64),
        design,
        np.ascontiguousarray(distinct[:, 0]),
        tuple(np.ascontiguousarray(distinct[:, 1 + t]) for t in range(len(order))),
        tuple(len(data.terms[t].levels) for t in order),
        tuple(order),
        _log_binomials(data.successes, data.trials),
    )


def distinct_rows(matrix: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], IntArray]:
    """The distinct rows of an (n, c) matrix, and (n,) which of them each row is; in order of their bytes."""
    tidy = np.ascontiguousarray(np.where(matrix == 0, matrix.dtype.type(0), matrix))  # -0.0 is 0.0
    if tidy.shape[1] == 0:
        return tidy[:1], np.zeros(len(tidy), dtype=np.int64)
    packed = tidy.view(np.dtype((np.void, tidy.dtype.itemsize * tidy.shape[1]))).reshape(-1)
    _, first, inverse = np.unique(packed, return_index=True, return_inverse=True)
    return tidy[first], inverse.astype(np.int64)


def _log_binomials(successes: FloatArray, trials: FloatArray) -> float:
    pairs, which = distinct_rows(np.column_stack([successes, trials]))
    return math.fsum(
        int(n) * (math.lgamma(k + 1) - math.lgamma(s + 1) - math.lgamma(k - s + 1))
        for (s, k), n in zip(pairs.tolist(), np.bincount(which), strict=True)
    )
