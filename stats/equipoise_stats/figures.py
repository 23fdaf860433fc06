"""A contrast under one analysis: the exact stratum (M0) and the paired differences (M1h)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from equipoise_stats import student
from equipoise_stats.results import Estimate
from equipoise_stats.stratum import NO_VARIATION, Stratum

FloatArray = npt.NDArray[np.float64]


def figures(estimate: float, se: float, df: float, alpha: float) -> Estimate:
    """Test and 1 - alpha interval; t and p are None where the standard error is zero."""
    df = float(df)  # counts of degrees of freedom are whole, and written like the others
    if se * se < NO_VARIATION:
        return Estimate(estimate, 0.0, df, None, None, (estimate, estimate))
    t = estimate / se
    half = student.critical(alpha, df) * se
    return Estimate(
        estimate, se, df, t, float(student.two_sided_p(t, df)), (estimate - half, estimate + half)
    )


def in_stratum(stratum: Stratum, coefficients: FloatArray, alpha: float) -> Estimate:
    """The contrast of (C,) coefficients with the pooled error of the layout, df = (C - 1)(S - 1)."""
    estimate = float(stratum.estimate(coefficients)[0])
    return figures(estimate, float(stratum.standard_error(coefficients)[0]), stratum.df_error, alpha)


def paired(y: FloatArray, coefficients: FloatArray, alpha: float) -> Estimate:
    """The contrast as a t test of its S within-block values, df = S - 1.

    Free of the assumption that all cells vary alike; in balanced layouts the estimate is that of M0.

    Args:
        y: (C, S) success rates.
        coefficients: (C,).
        alpha: two-sided level of the interval.
    """
    return of_differences(coefficients @ y, alpha)


def available(ragged: FloatArray, coefficients: FloatArray, alpha: float) -> Estimate | None:
    """The same over the blocks that have every cell of the contrast; None where fewer than two have.

    Args:
        ragged: (C, blocks) success rates, NaN where a block lacks the cell.
        coefficients: (C,).
        alpha: two-sided level of the interval.
    """
    used = coefficients != 0
    scores = ragged[used][:, np.isfinite(ragged[used]).all(axis=0)]
    return None if scores.shape[1] < 2 else of_differences(coefficients[used] @ scores, alpha)


def of_differences(differences: FloatArray, alpha: float) -> Estimate:
    """The t test that (S,) differences have mean zero, S >= 2."""
    blocks = differences.shape[0]
    se = float(differences.std(ddof=1)) / math.sqrt(blocks)
    return figures(float(differences.mean()), se, blocks - 1, alpha)


def run_variances(y: FloatArray) -> FloatArray | None:
    """(C,) variances of runs by cell, blocks and cells taken out (Grubbs 1948); None with two cells or fewer.

    Unbiased whatever the others are, and so below zero now and then where a cell hardly varies.

    Args:
        y: (C, S) success rates, S >= 2.
    """
    cells, blocks = y.shape
    if cells < 3:
        return None
    residuals = y - y.mean(axis=1, keepdims=True) - y.mean(axis=0, keepdims=True) + y.mean()
    own = np.square(residuals).sum(axis=1) / (blocks - 1)
    pooled = float(own.sum()) / (cells - 1)
    return np.asarray((own - pooled / cells) * cells / (cells - 2), dtype=np.float64)


def spread_ratio(y: FloatArray, coefficients: FloatArray) -> float | None:
    """The SD of the runs in a contrast over that of all other runs; None where one cannot be told."""
    variances = run_variances(y)
    inside = coefficients != 0
    if variances is None or bool(inside.all()):
        return None
    own, others = float(variances[inside].mean()), float(variances[~inside].mean())
    return math.sqrt(own / others) if min(own, others) > NO_VARIATION else None


def joint_covariance(y: FloatArray, vectors: FloatArray, stratum: Stratum | None) -> FloatArray:
    """(m, m) covariance of m contrasts: from the pooled error where a stratum is given, else from their blocks.

    Args:
        y: (C, S) success rates.
        vectors: (m, C) coefficients.
        stratum: of ``y``; None for the paired analysis.
    """
    blocks = y.shape[1]
    if stratum is not None:
        return np.asarray(float(stratum.ms_error) * (vectors @ vectors.T) / blocks, dtype=np.float64)
    return np.asarray(np.atleast_2d(np.cov(vectors @ y)) / blocks, dtype=np.float64)
