"""Wald z figures of coefficients and contrasts on the logit scale, alone or as one family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equipoise_stats import multiplicity
from equipoise_stats.errors import StatsError
from equipoise_stats.glmm.fit import Fit
from equipoise_stats.glmm.model import FloatArray

ADJUSTMENTS = ("none", "holm", "dunnettx")


@dataclass(frozen=True)
class Wald:
    """One figure with its z test; no number where it is not estimable, and then ``reason`` says why.

    Attributes:
        label: what it is of.
        scale: ``log odds``, ``rate (marginal)``, ``rate (conditional)`` and so on.
        p: two-sided. ``p_adjusted`` within the family it was asked with.
        ci: of this figure alone.
    """

    label: str
    scale: str
    estimate: float | None = None
    se: float | None = None
    z: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    ci: tuple[float, float] | None = None
    reason: str = ""


def coefficients(fit: Fit, *, level: float = 0.95) -> tuple[Wald, ...]:
    """The coefficient table, as glmer's summary prints it.

    Args:
        fit: the model.
        level: coverage of the intervals.
    """
    return contrasts(fit, np.eye(len(fit.names)), fit.names, level=level)


def contrasts(
    fit: Fit, vectors: FloatArray, labels: Sequence[str], *, level: float = 0.95, adjust: str = "none"
) -> tuple[Wald, ...]:
    """Combinations c'beta on the logit scale.

    Args:
        fit: the model.
        vectors: (m, p) one row a contrast (or a cell, for its mean log odds).
        labels: m names.
        level: coverage of the intervals, one contrast at a time.
        adjust: ``none``, ``holm``, or ``dunnettx`` (emmeans' approximation for comparisons with one control);
            all m estimable rows are the family.

    Raises:
        StatsError: for vectors of the wrong shape or an unknown adjustment.
    """
    check_vectors(vectors, labels, len(fit.names))
    known = fit.basis.estimable(vectors)
    kept = vectors[:, fit.basis.kept]
    terms = len(fit.components)
    covariance = kept @ fit.joint[terms:, terms:] @ kept.T
    reasons = [why_not(fit, v) if not k else "" for v, k in zip(vectors, known, strict=True)]
    return rows(labels, "log odds", kept @ fit.kept_beta, covariance, reasons, level=level, adjust=adjust)


def check_vectors(vectors: FloatArray, labels: Sequence[str], columns: int) -> None:
    """Refuse vectors that do not fit the labels and the columns they weigh.

    Raises:
        StatsError: with the shapes.
    """
    if vectors.shape != (len(labels), columns):
        message = f"vectors: expected ({len(labels)}, {columns}) as labelled, got {vectors.shape}"
        raise StatsError(message)


def why_not(fit: Fit, vector: FloatArray) -> str:
    """Why a combination of coefficients is not estimable, in words."""
    touched = [s.sentence for s in fit.separated if float(np.dot(s.design, vector)) != 0.0]
    if touched:
        return f"not estimable: {'; '.join(touched)}"
    if fit.aliased:
        return f"not estimable: no row tells {', '.join(fit.aliased)} apart from the other columns"
    return "not estimable: it goes beyond the rows that were observed"


def rows(
    labels: Sequence[str],
    scale: str,
    estimates: FloatArray,
    covariance: FloatArray,
    reasons: Sequence[str],
    *,
    level: float,
    adjust: str = "none",
) -> tuple[Wald, ...]:
    """The z figures from estimates (m,) and their covariance (m, m); a reason takes the place of figures.

    Raises:
        StatsError: for an unknown adjustment.
    """
    from scipy.special import ndtr, ndtri

    if adjust not in ADJUSTMENTS:
        message = f"adjust: expected one of {', '.join(ADJUSTMENTS)}, got '{adjust}'"
        raise StatsError(message)
    good = np.array([not reason for reason in reasons], dtype=bool)
    se = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    z = np.full(len(labels), np.nan)
    z[good] = estimates[good] / se[good]
    p = 2.0 * ndtr(-np.abs(z))
    adjusted = p.copy()
    adjusted[good] = _adjusted(p[good], z[good], adjust)
    half = float(ndtri(0.5 + level / 2.0)) * se
    table = []
    for i, (label, reason) in enumerate(zip(labels, reasons, strict=True)):
        if reason:
            table.append(Wald(label, scale, reason=reason))
            continue
        value, error, q, raw, own = (float(v[i]) for v in (estimates, se, z, p, adjusted))
        ci = (value - float(half[i]), value + float(half[i]))
        table.append(Wald(label, scale, value, error, q, raw, own, ci))
    return tuple(table)


def _adjusted(p: FloatArray, z: FloatArray, adjust: str) -> FloatArray:
    if adjust == "none" or p.size == 0:
        return p
    return multiplicity.holm(p) if adjust == "holm" else dunnettx(z)


def dunnettx(z: FloatArray) -> FloatArray:
    """Approximate p of the largest |z| of m comparisons with one control, for each of (m,) z values.

    A mixture of Tukey's and Sidak's with weights (m - 1)/m and 1/m, Tukey's for as many means as have m pairs
    (the approximation documented by emmeans 1.8, ``summary.emmGrid``).
    """
    from scipy.special import ndtr
    from scipy.stats import studentized_range

    m = z.size
    means = (1.0 + np.sqrt(1.0 + 8.0 * m)) / 2.0
    tukey = studentized_range.sf(np.sqrt(2.0) * np.abs(z), means, np.inf)
    # 1 - (1 - p)^m without the loss of small p
    sidak = -np.expm1(m * np.log1p(-2.0 * ndtr(-np.abs(z))))
    mixed = (m - 1) / m * np.asarray(tukey) + sidak / m
    return np.asarray(np.clip(mixed, 0.0, 1.0), dtype=np.float64)
