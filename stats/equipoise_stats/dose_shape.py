"""The shape of a dose-response curve: what a straight line in the logarithm of the dose leaves unsaid.

Three nested models of ``y ~ 0 + condition.role + curve + (1 | block)``, by REML, each tested against the next by an F
test of the columns that the next one adds:

    x                                straight line, one for all
    ns(x, 2)                         natural cubic spline, one for all
    ns(x, 2) + condition:x           spline, conditions differ in slope
    one mean a cell                  no curve at all
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise_stats.lmm import ftest
from equipoise_stats.lmm.fit import fit
from equipoise_stats.lmm.model import Problem, intercept
from equipoise_stats.lmm.results import Fit
from equipoise_stats.lmm.splines import natural_basis

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CurveTest:
    """An F test of what a richer curve adds; ``df`` of numerator and denominator."""

    f: float
    df: tuple[float, float]
    p: float


@dataclass(frozen=True)
class Layer:
    """Columns of a model, in its order; ``names`` are letters and numbers, unique in the model."""

    names: tuple[str, ...]
    columns: FloatArray

    def __add__(self, other: Layer) -> Layer:
        """Both side by side."""
        return Layer(self.names + other.names, np.column_stack([self.columns, other.columns]))


def indicators(codes: IntArray, prefix: str) -> Layer:
    """One column a group."""
    groups = range(int(codes.max()) + 1)
    return Layer(
        tuple(f"{prefix}{i:03d}" for i in groups), np.array([[float(c == i) for i in groups] for c in codes])
    )


def spline(x: FloatArray) -> Layer:
    """(n, 2) a natural cubic spline whose middle knot is the median of the distinct doses.

    Quantiles of rows would put it on a boundary knot where most runs have the smallest or largest dose, as matched
    runs and twins of a suite may.
    """
    doses = np.unique(np.round(x, 9))
    knots = np.array([doses[0], np.median(doses), doses[-1]])
    return Layer(("ns1", "ns2"), natural_basis(x, knots))


def fitted(y: FloatArray, layer: Layer, blocks: IntArray, *, reml: bool = True) -> Fit:
    """``y ~ 0 + columns + (1 | block)``; columns that others span are left out."""
    return fit(Problem(y, layer.columns, layer.names, (intercept("block", blocks),)), reml=reml)


def added(y: FloatArray, smaller: Layer, more: Layer, blocks: IntArray) -> CurveTest | None:
    """The F test of columns beyond others; None where they add nothing."""
    model = fitted(y, smaller + more, blocks)
    kept = [i for i, name in enumerate(model.names) if name in more.names]
    if not kept:
        return None
    found = ftest.f_test(model, np.eye(len(model.names))[kept])
    return CurveTest(found.statistic, (float(found.numerator), found.denominator), found.p)
