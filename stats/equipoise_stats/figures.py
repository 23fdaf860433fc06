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


def of_differences(differences: FloatArray, alpha: float) -> Estimate:
    """The t test that (S,) differences have mean zero, S >= 2."""
    blocks = differences.shape[0]
    se = float(differences.std(ddof=1)) / math.sqrt(blocks)
    return figures(float(differences.mean()), se, blocks - 1, alpha)
