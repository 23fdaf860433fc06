"""One error level for a family of contrasts: Holm's steps and the step-down largest t."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from equipoise_stats import student

FloatArray = npt.NDArray[np.float64]


def holm(p: FloatArray) -> FloatArray:
    """Holm's step-down adjusted p values along the last axis (Holm 1979).

    Args:
        p: (..., m) raw p values; leading axes are a batch of families.
    """
    members = p.shape[-1]
    order = np.argsort(p, axis=-1, kind="stable")
    steps = np.take_along_axis(p, order, axis=-1) * np.arange(members, 0, -1)
    steps = np.minimum(np.maximum.accumulate(steps, axis=-1), 1.0)
    adjusted = np.empty_like(steps)
    np.put_along_axis(adjusted, order, steps, axis=-1)
    return adjusted


def step_down_max_t(t: FloatArray, correlation: FloatArray, df: npt.ArrayLike) -> FloatArray:
    """Step-down max-t adjusted p values of one family (closed testing; Hothorn, Bretz & Westfall 2008, 3.1).

    Args:
        t: (m,) statistics with one common denominator.
        correlation: (m, m) of the numerators, any positive semidefinite.
        df: degrees of freedom of the denominator, or (m,) where each statistic has its own; the level is then
            approximate.
    """
    freedom = np.broadcast_to(np.asarray(df, dtype=np.float64), t.shape)
    order = np.argsort(-np.abs(t), kind="stable")
    adjusted = np.empty_like(t)
    reached = 0.0
    for step, index in enumerate(order):
        rest = order[step:]
        p = student.max_t_p(abs(float(t[index])), correlation[np.ix_(rest, rest)], float(freedom[index]))
        reached = max(reached, p)
        adjusted[index] = min(1.0, reached)
    return adjusted
