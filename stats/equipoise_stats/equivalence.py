"""Is a contrast smaller than the smallest effect that matters: on both sides, or at least on the lower one?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from equipoise_stats import student

FloatArray = npt.NDArray[np.float64]


def tost_p(estimate: npt.ArrayLike, se: npt.ArrayLike, df: npt.ArrayLike, margin: float) -> FloatArray:
    """The larger of the p values against -margin and +margin (Schuirmann 1987), elementwise.

    Args:
        estimate: differences in success rate.
        se: their standard errors, above 0.
        df: degrees of freedom.
        margin: the smallest effect, in the unit of the estimate.
    """
    t = (margin - np.abs(np.asarray(estimate, dtype=np.float64))) / np.asarray(se, dtype=np.float64)
    return student.upper_p(t, df)


def noninferior_p(estimate: npt.ArrayLike, se: npt.ArrayLike, df: npt.ArrayLike, margin: float) -> FloatArray:
    """The p value of the null that the contrast is -margin or less, elementwise; arguments as above."""
    t = (np.asarray(estimate, dtype=np.float64) + margin) / np.asarray(se, dtype=np.float64)
    return student.upper_p(t, df)
