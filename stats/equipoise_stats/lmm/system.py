"""The sums brought to a common scale: orthonormal fixed effects, unit residuals, white random columns.

With X = Q R, e = (y - X b) / s for the least-squares b, and Z_t = Z~_t R_t, the model keeps its form: its optimum does
not depend on the units of y, the scales and offsets of covariates or how slopes are centred.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import linear
from equipoise_stats.lmm.crossproducts import CrossProducts, Layout
from equipoise_stats.lmm.model import FloatArray, Problem

# A column is aliased when less than this share of its length is left beside those before it (as in R's lm and lme4).
ALIASED = 1e-7
# Residuals below this share of the response are its rounding error.
ROUNDING = 1e-13
# Squared share of a random column that its fellows in the term must leave.
COLLINEAR = 1e-12


@dataclass(frozen=True)
class System:
    """Standardised sums, and what leads back from them.

    Attributes:
        layout: where the random effects stand.
        rows: n.
        fixed: p, estimated coefficients.
        log_weights: sum of the logarithms of the weights.
        lead, cross, dense: Z'Z as in CrossProducts.
        lead_fixed: (K, L, p + 1) Z1'[Q e].
        dense_fixed: (q2, p + 1) Z2'[Q e].
        square: e'e, which is n - p.
        triangle: (p, p) R.
        start: (p,) least-squares coefficients b.
        scale: s in units of y.
        white: R_t of each term, (k, k) upper triangular.
        kept: columns of X that are estimated.
        aliased: the others.
        alias: (p, len(aliased)) the aliased columns as combinations of the kept ones.
    """

    layout: Layout
    rows: int
    fixed: int
    log_weights: float
    lead: FloatArray
    cross: FloatArray
    dense: FloatArray
    lead_fixed: FloatArray
    dense_fixed: FloatArray
    square: float
    triangle: FloatArray
    start: FloatArray
    scale: float
    white: tuple[FloatArray, ...]
    kept: tuple[int, ...]
    aliased: tuple[int, ...]
    alias: FloatArray


def orthogonal(problem: Problem) -> tuple[Problem, tuple[FloatArray, ...]]:
    """The problem with the columns of each wide random term made orthonormal over the rows.

    Sums of squares lose twice the digits that an offset (a year, a timestamp) costs a covariate; rows lose them once.

    Returns:
        The problem, and for each term the (k, k) matrix R with old columns = new columns @ R.
    """
    turned = tuple(_turn(term.design) for term in problem.terms)
    terms = tuple(
        replace(term, design=term.design @ linear.inverse(r)) if term.width > 1 else term
        for term, r in zip(problem.terms, turned, strict=True)
    )
    return replace(problem, terms=terms), turned


def _turn(design: FloatArray) -> FloatArray:
    """R of a term's columns; the unit matrix for one column and for columns that determine each other."""
    unit = np.eye(design.shape[1])
    if len(unit) == 1:
        return unit
    r = linear.triangle(design) / np.sqrt(len(design))
    # Such columns are refused when the sums are standardised.
    dependent = np.abs(np.diag(r)) <= 1e-3 * ALIASED * np.linalg.norm(r, axis=0)
    return unit if dependent.any() else r


def standardise(sums: CrossProducts, turned: tuple[FloatArray, ...] | None = None) -> System:
    """Bring the sums to the common scale.

    Args:
        sums: cross-products of all rows.
        turned: what ``orthogonal`` returned, if the rows went through it.

    Raises:
        StatsError: no residual degrees of freedom, a response that X explains to rounding error, or columns of one
            random term that determine each other.
    """
    kept, aliased = _independent(sums.triangle[:-1, :-1])
    reduced = linear.triangle(sums.triangle[:, [*kept, len(sums.triangle) - 1]])
    p = len(kept)
    if sums.rows <= p:
        raise StatsError(
            f"mixed model: expected more rows than coefficients, got {sums.rows} rows and {p} coefficients"
        )
    triangle, target, rest = reduced[:p, :p], reduced[:p, p], abs(float(reduced[p, p]))
    if rest <= ROUNDING * float(np.linalg.norm(reduced[:, p])) or rest == 0.0:
        raise StatsError(
            "mixed model: expected residual variation, got a response that the fixed effects explain to rounding "
            "error (a perfect fit): there is nothing to estimate a variance from; look for y among the columns of X"
        )
    scale = rest / np.sqrt(sums.rows - p)
    start = linear.solved(triangle, target)
    alias = linear.solved(triangle, _projected(sums.triangle, kept, aliased))
    white = tuple(_white(sums, t) for t in range(len(sums.layout.widths)))
    inverse = [linear.inverse(r) for r in white]
    lead, cross, lead_fixed = _white_lead(sums, inverse)
    dense_fixed = _white_rows(sums.dense_fixed, sums.layout, inverse)
    dense = _white_rows(_white_rows(sums.dense, sums.layout, inverse).T, sums.layout, inverse)
    cross = _white_rows(
        cross.reshape(len(cross), cross.shape[1] * cross.shape[2]), sums.layout, inverse
    ).reshape(cross.shape)
    whole = white if turned is None else tuple(w @ r for w, r in zip(white, turned, strict=True))
    back = np.zeros((sums.triangle.shape[0], p + 1))
    back[list(kept), :p] = linear.inverse(triangle)
    back[list(kept), p] = -start / scale
    back[-1, p] = 1.0 / scale
    return System(
        sums.layout, sums.rows, p, sums.log_weights, lead, cross, dense, lead_fixed @ back, dense_fixed @ back,
        float(sums.rows - p), triangle, start, float(scale), whole, kept, aliased, alias,
    )  # fmt: skip


def _independent(triangle: FloatArray) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Columns that those before them do not determine, and the rest (Gram and Schmidt, twice for accuracy)."""
    basis: list[FloatArray] = []
    kept: list[int] = []
    aliased: list[int] = []
    for index, column in enumerate(triangle.T):
        rest = column.copy()
        for _ in range(2):
            for direction in basis:
                rest = rest - direction * float(direction @ rest)
        length = float(np.linalg.norm(rest))
        if length <= ALIASED * float(np.linalg.norm(column)):
            aliased.append(index)
        else:
            basis.append(rest / length)
            kept.append(index)
    return tuple(kept), tuple(aliased)


def _projected(triangle: FloatArray, kept: tuple[int, ...], aliased: tuple[int, ...]) -> FloatArray:
    """(p, len(aliased)) coordinates Q'x of the aliased columns, in the basis of the kept ones."""
    return np.asarray(
        linear.triangle(triangle[:, [*kept, *aliased]])[: len(kept), len(kept) :], dtype=np.float64
    )


def _white(sums: CrossProducts, term: int) -> FloatArray:
    """Upper triangle R_t with R_t'R_t the mean over rows of the term's squared columns."""
    layout = sums.layout
    k = layout.widths[term]
    gram = np.empty((k, k))
    for a in range(k):
        for b in range(k):
            if term in layout.lead:
                gram[a, b] = sums.lead[layout.offsets[term] + a, layout.offsets[term] + b].sum()
            else:
                gram[a, b] = np.trace(sums.dense[layout.part(term, a), layout.part(term, b)])
    gram /= sums.rows
    diagonal = np.sqrt(np.diag(gram))
    if (diagonal == 0).any() or np.linalg.eigvalsh(gram / np.outer(diagonal, diagonal))[0] < COLLINEAR:
        raise StatsError(
            f"random term {term + 1}: expected columns that vary, got columns that are 0 or determine each other; "
            f"leave out the slope whose covariate is constant"
        )
    return np.asarray(linear.cholesky(gram).T, dtype=np.float64)


def _white_lead(sums: CrossProducts, inverse: list[FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
    layout = sums.layout
    mix = np.zeros((layout.lead_width, layout.lead_width))
    for t in layout.lead:
        own = slice(layout.offsets[t], layout.offsets[t] + layout.widths[t])
        mix[own, own] = inverse[t]
    if len(mix) == 1:
        factor = mix[0, 0]
        return sums.lead * factor**2, sums.cross * factor, sums.lead_fixed * factor
    lead = np.einsum("ia,ijl,jb->abl", mix, sums.lead, mix)
    return lead, np.einsum("qil,ia->qal", sums.cross, mix), np.einsum("ilc,ia->alc", sums.lead_fixed, mix)


def _white_rows(rows: FloatArray, layout: Layout, inverse: list[FloatArray]) -> FloatArray:
    found = np.empty_like(rows)
    for t in layout.dense:
        k = layout.widths[t]
        for a in range(k):
            parts = (rows[layout.part(t, i)] * inverse[t][i, a] for i in range(a + 1))
            found[layout.part(t, a)] = sum(parts, start=np.zeros((layout.levels[t], rows.shape[1])))
    return found
