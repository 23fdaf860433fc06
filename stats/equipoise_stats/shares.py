"""The share of a rule's gain that is due to volume: a ratio, and given only where its denominator is sure."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from equipoise_stats import student
from equipoise_stats.decomposition import TOTAL, VOLUME
from equipoise_stats.results import Contrast, Interval, VolumeShare

FloatArray = npt.NDArray[np.float64]


def fieller(estimates: FloatArray, covariance: FloatArray, critical: float) -> Interval | None:
    """The confidence set of a ratio of two means (Fieller 1954).

    Args:
        estimates: (2,) numerator and denominator.
        covariance: (2, 2) of them.
        critical: the |t| of the level.

    Returns:
        The interval; None where the denominator is not away from 0 at the level, so that the set is unbounded.
    """
    top, bottom = float(estimates[0]), float(estimates[1])
    square = critical * critical
    a = bottom * bottom - square * float(covariance[1, 1])
    b = top * bottom - square * float(covariance[0, 1])
    c = top * top - square * float(covariance[0, 0])
    if a <= 0.0:
        return None
    half = math.sqrt(max(0.0, b * b - a * c))
    return (b - half) / a, (b + half) / a


def volume_share(
    condition: str,
    contrasts: Mapping[tuple[str, str], Contrast],
    covariance: FloatArray | None,
    alpha: float,
) -> VolumeShare | None:
    """VOLUME as a share of TOTAL, with its sign; None where either has no figure.

    Args:
        condition: the rule.
        contrasts: judged.
        covariance: (2, 2) of the estimates of VOLUME and TOTAL.
        alpha: two-sided level of the interval.
    """
    volume, total = contrasts.get((condition, VOLUME)), contrasts.get((condition, TOTAL))
    if volume is None or total is None or covariance is None:
        return None
    if volume.estimate is None or total.estimate is None or total.df is None:
        return None
    estimates = np.array([volume.estimate, total.estimate])
    ends = fieller(estimates, covariance, student.critical(alpha, total.df))
    if ends is None or total.p is None:
        said = (
            f"no share of {condition}'s gain is due to volume or not: its total is not shown to differ from 0"
        )
        return VolumeShare(condition, None, None, said)
    share = volume.estimate / total.estimate
    said = f"the share of {condition}'s total that is due to volume is {share:.2f} [{ends[0]:.2f}, {ends[1]:.2f}]"
    return VolumeShare(condition, share, ends, said)
