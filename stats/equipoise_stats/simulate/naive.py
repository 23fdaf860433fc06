"""What a native-only comparison claims in simulated suites: the analysis that the platform exists to avoid."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from equipoise_stats import student
from equipoise_stats.multiplicity import holm
from equipoise_stats.simulate.plan import Plan

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def native_claims(plan: Plan, y: FloatArray, *, adjusted: bool = False) -> BoolArray:
    """(N, m) rules claimed better than the baseline by Welch's t on native runs, blocks ignored.

    Args:
        plan: with a native arm.
        y: (N, C, S) scores.
        adjusted: by Holm over the rules.
    """
    native = [y[:, plan.cells.index((c, "native"))] for c in plan.question.claimants]
    rules, baseline = np.stack(native, axis=1), y[:, plan.cells.index((plan.question.baseline, "native"))]
    estimate, p = _welch(rules, baseline[:, None])
    return np.asarray((estimate > 0) & ((holm(p) if adjusted else p) <= plan.question.alpha), dtype=np.bool_)


def _welch(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Differences of means over the last axis, and Welch's two-sided p (Welch 1947)."""
    n = a.shape[-1]
    va, vb = a.var(axis=-1, ddof=1) / n, b.var(axis=-1, ddof=1) / n
    estimate = a.mean(axis=-1) - b.mean(axis=-1)
    df = (va + vb) ** 2 / ((va**2 + vb**2) / (n - 1))
    return estimate, student.two_sided_p(estimate / np.sqrt(va + vb), df)
