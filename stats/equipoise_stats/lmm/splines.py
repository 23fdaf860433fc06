"""Natural cubic splines in the basis of R's ``splines::ns``, so that coefficients can be compared with it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm.model import FloatArray


def natural_knots(x: FloatArray, df: int) -> FloatArray:
    """(df + 1,) knots: the range of x at the ends, quantiles of x between them.

    Raises:
        StatsError: fewer than ``df`` + 1 distinct values, or df below 1.
    """
    distinct = np.unique(x).size
    if df < 1 or distinct <= df:
        raise StatsError(
            f"ns(): expected between 1 and {distinct - 1} degrees of freedom for {distinct} distinct values, got {df}"
        )
    return np.asarray(np.quantile(x, np.linspace(0.0, 1.0, df + 1)), dtype=np.float64)


def natural_basis(x: FloatArray, knots: FloatArray) -> FloatArray:
    """(n, len(knots) - 1) natural cubic splines without intercept; straight lines outside the knots.

    Cubic B-splines, projected onto the functions whose second derivative is zero at both ends (de Boor 2001,
    *A Practical Guide to Splines*, ch. XI; Hastie 1992 in *Statistical Models in S*, 7.4).
    """
    from scipy.interpolate import BSpline

    low, high = float(knots[0]), float(knots[-1])
    padded = np.concatenate([[low] * 3, knots, [high] * 3])
    spline = BSpline(padded, np.eye(padded.size - 4), 3, extrapolate=True)
    inside = np.clip(x, low, high)
    ends = spline(np.array([low, high]), nu=2)[:, 1:]
    values = spline(inside)[:, 1:] + spline(inside, nu=1)[:, 1:] * (x - inside)[:, None]
    q, _ = np.linalg.qr(ends.T, mode="complete")
    return np.asarray(values @ q[:, 2:], dtype=np.float64)


def ns(
    x: npt.ArrayLike, df: int = 1, *, _state: dict[str, FloatArray] | None = None
) -> dict[int, FloatArray]:
    """The transform that a formula calls: columns 1 to df; knots are remembered for new values."""
    values = np.asarray(x, dtype=np.float64)
    state = {} if _state is None else _state
    if "knots" not in state:
        state["knots"] = natural_knots(values, int(df))
    return dict(enumerate(natural_basis(values, state["knots"]).T, start=1))
