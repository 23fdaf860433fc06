"""F tests of several linear combinations at once, with Satterthwaite's or Kenward and Roger's degrees of freedom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import linear
from equipoise_stats.lmm.kenward_roger import adjust
from equipoise_stats.lmm.model import FloatArray
from equipoise_stats.lmm.results import Fit
from equipoise_stats.lmm.satterthwaite import gradient, rows

Method = Literal["satterthwaite", "kenward-roger"]
# Directions whose variance is below this share of the largest carry no information (lmerTest's tolerance).
DEGENERATE = 1.5e-8


@dataclass(frozen=True)
class FTest:
    """One F test.

    Attributes:
        statistic: F, scaled under Kenward-Roger.
        numerator: degrees of freedom of the hypothesis.
        denominator: degrees of freedom of the error.
        p: upper tail probability.
        sum_of_squares: numerator x unscaled F x sigma^2, in squared units of y.
    """

    statistic: float
    numerator: int
    denominator: float
    p: float
    sum_of_squares: float


def f_test(fit: Fit, L: FloatArray, method: Method = "satterthwaite") -> FTest:
    """Test that all rows of L beta are 0.

    Args:
        fit: a fitted model; by REML for Kenward-Roger.
        L: (m, p) rows over the fit's coefficients.
        method: how the denominator's degrees of freedom are found.

    Raises:
        StatsError: rows that do not fit or are all 0.
    """
    contrasts = rows(fit, L)
    if not np.linalg.matrix_rank(contrasts):
        raise StatsError("F test: expected at least one row that is not 0, got none; nothing is tested")
    if method == "kenward-roger":
        return _kenward_roger(fit, contrasts)
    return _satterthwaite(fit, contrasts)


def _satterthwaite(fit: Fit, contrasts: FloatArray) -> FTest:
    values, vectors = np.linalg.eigh(contrasts @ fit.vcov @ contrasts.T)
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = values > DEGENERATE * values[0]
    turned = vectors[:, keep].T @ contrasts
    statistic = float(np.mean((turned @ fit.beta) ** 2 / values[keep]))
    shared = gradient(fit)
    each = [shared.df(row, float(v)) for row, v in zip(turned, values[keep], strict=True)]
    return _tested(fit, statistic, statistic, int(keep.sum()), pooled_df(np.array(each)))


def pooled_df(each: FloatArray) -> float:
    """Degrees of freedom of a mean of squared t statistics with their own (Fai & Cornelius 1996).

    F's mean m / (m - 2) is matched to the mean of the squared t's.
    """
    if np.all(np.abs(np.diff(each)) < 1e-8):
        return float(each.mean())
    if (each <= 2).any():
        return 2.0
    total = float(np.sum(each / (each - 2)))
    return 2 * total / (total - each.size)


def _kenward_roger(fit: Fit, contrasts: FloatArray) -> FTest:
    adjusted = adjust(fit)
    rank = int(np.linalg.matrix_rank(contrasts))
    estimate = contrasts @ fit.beta
    inverse = np.linalg.pinv(contrasts @ adjusted.vcov @ contrasts.T, hermitian=True)
    statistic = float(estimate @ inverse @ estimate) / rank
    denominator, factor = adjusted.joint(contrasts)
    return _tested(fit, statistic * factor, statistic, rank, denominator)


def _tested(fit: Fit, statistic: float, plain: float, numerator: int, denominator: float) -> FTest:
    from scipy.stats import f as f_distribution

    p = float(f_distribution.sf(statistic, numerator, denominator))
    return FTest(statistic, numerator, denominator, p, numerator * plain * fit.sigma2)


def table(fit: Fit, terms: Mapping[str, FloatArray], method: Method = "satterthwaite") -> dict[str, FTest]:
    """One F test for each named set of rows, such as those of ``type_three``."""
    return {name: f_test(fit, L, method) for name, L in terms.items()}


def type_one(X: FloatArray, columns: Mapping[str, tuple[int, ...]]) -> dict[str, FloatArray]:
    """Rows for sequential tests (type I): each term beside those before it. For one term this is type III as well.

    The rows are those of the triangle of X with a unit diagonal (Goodnight 1980, SAS R-106: Doolittle's method).
    With several rows the denominator's degrees of freedom depend on the rows chosen, not only on their span; these are
    lmerTest's for a model of one term.

    Args:
        X: (n, p) the fitted design, of full column rank.
        columns: for each term its columns of X.
    """
    triangle = linear.triangle(X)
    unit = triangle / np.diag(triangle)[:, None]
    return {name: unit[list(index)] for name, index in columns.items()}


def type_three(
    X: FloatArray, coded: FloatArray, columns: Mapping[str, tuple[int, ...]]
) -> dict[str, FloatArray]:
    """Rows for the tests of type III: each term's effects when the other factors' levels count evenly.

    A term's rows are brought to the unit matrix on its own columns of X, which under treatment coding gives lmerTest's
    rows and with them its denominator degrees of freedom. A single term is tested as by ``type_one``, as there.

    Args:
        X: (n, p) the fitted design, of full column rank.
        coded: (n, p) the same columns' space with factors coded by columns that sum to zero over their levels.
        columns: for each term but the intercept its columns, the same in X and ``coded``.

    Raises:
        StatsError: designs that do not span the same space, as with empty cells: type III has no meaning there.
    """
    solution, _, rank, _ = np.linalg.lstsq(coded, X, rcond=None)
    turned = np.asarray(solution, dtype=np.float64)
    gap = float(np.abs(coded @ turned - X).max())
    if rank < X.shape[1] or coded.shape[1] != X.shape[1] or gap > 1e-8 * float(np.abs(X).max()):
        raise StatsError(
            f"type III: expected two codings of one space of {X.shape[1]} columns, got {coded.shape[1]} columns of "
            f"rank {rank} that miss X by {gap:.1e}; with empty cells contrasts must be named one by one"
        )
    if len(columns) == 1:
        return type_one(X, columns)
    return {name: _unit_on(turned[list(index)], index) for name, index in columns.items()}


def _unit_on(rows_: FloatArray, own: tuple[int, ...]) -> FloatArray:
    """The same row space with the unit matrix on some columns, where those allow it."""
    block = rows_[:, list(own)]
    if np.linalg.cond(block) > 1e8:
        return rows_
    found = linear.solved(block, rows_)
    # Rounding errors would make terms look related that are not.
    return np.where(np.abs(found) < 1e-12, 0.0, found)
