"""The likelihood of a mixed model from its sums, with exact score, observed and expected information.

V = sigma^2 Omega with Omega = I + Z Gamma Z'. The lead is eliminated group by group, the rest by one Cholesky
factor of K = I + L'T L, where Gamma_2 = L L' and T = Z2'Omega_1^-1 Z2; K >= I, so that it never fails. V is linear in
tau = (sigma^2, entries of G = sigma^2 Gamma), which gives (Searle, Casella & McCulloch 1992, *Variance Components*,
ch. 6; Gilmour, Thompson & Cullis 1995, *Biometrics* 51)

    score_i    = (y'P V_i P y - tr P V_i) / 2
    expected_ij = tr(P V_i P V_j) / 2
    observed_ij = y'P V_i P V_j P y - tr(P V_i P V_j) / 2

with V^-1 in place of P in the traces for ML. Rows of the residual follow from P V P = P and sum_i tau_i V_i = V.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise_stats.lmm import linear
from equipoise_stats.lmm.crossproducts import Layout
from equipoise_stats.lmm.model import FloatArray
from equipoise_stats.lmm.system import System


@dataclass(frozen=True)
class Solved:
    """What is known at one Gamma before any derivative.

    Attributes:
        system: the standardised sums.
        factors: (k, r) of each term with Gamma_t = factor @ factor.T.
        weigh: (K, K, L) of the lead's groups, M^-1 with M = I + Gamma_1 A.
        dense: (q2, q2) T.
        dense_fixed: (q2, p + 1) Z2'Omega_1^-1 [Q e].
        root: Cholesky factor of K, (r2, r2).
        half: (r2, p + 1) root^-1 L' Z2'Omega_1^-1 [Q e].
        fixed_root: (p, p) Cholesky factor of Q'Omega^-1 Q.
        half_target: (p,) fixed_root^-1 Q'Omega^-1 e.
        log_omega: log det Omega.
        log_fixed: log det Q'Omega^-1 Q.
        square: e'Ptilde e.
    """

    system: System
    factors: tuple[FloatArray, ...]
    weigh: FloatArray
    dense: FloatArray
    dense_fixed: FloatArray
    root: FloatArray
    half: FloatArray
    fixed_root: FloatArray
    half_target: FloatArray
    log_omega: float
    log_fixed: float
    square: float

    def freedom(self, reml: bool) -> int:
        """Rows less coefficients under REML, rows under ML."""
        return self.system.rows - (self.system.fixed if reml else 0)

    def loglik(self, sigma2: float, reml: bool) -> float:
        """Log-likelihood at sigma^2, in standardised units and without the constants of the scales."""
        logs = self.freedom(reml) * np.log(2 * np.pi * sigma2) + self.log_omega
        return -0.5 * float(logs + (self.log_fixed if reml else 0.0) + self.square / sigma2)

    def best_sigma2(self, reml: bool) -> float:
        """The sigma^2 that maximises the likelihood at this Gamma."""
        return self.square / self.freedom(reml)


def _flat(array: FloatArray) -> FloatArray:
    """(r, K, L) as (r, K L); r may be 0."""
    return array.reshape(array.shape[0], array.shape[1] * array.shape[2])


def solve(system: System, factors: tuple[FloatArray, ...]) -> Solved:
    """Eliminate the random effects at one relative covariance.

    Args:
        system: standardised sums.
        factors: (k, r) of each term with Gamma_t = factor @ factor.T; r = 0 for a variance of 0.
    """
    layout = system.layout
    weigh, shrink, log_lead = _lead_weights(system, factors)
    width = system.fixed + 1
    shrunk = _flat(np.einsum("qal,abl->qbl", system.cross, shrink))
    flat = _flat(system.cross)
    lead_fixed = system.lead_fixed.reshape(-1, width)
    dense = system.dense - shrunk @ flat.T
    dense_fixed = system.dense_fixed - shrunk @ lead_fixed
    held = np.einsum("abl,blc->alc", shrink, system.lead_fixed).reshape(-1, width)
    whole = np.eye(width)
    whole[-1, -1] = system.square
    whole -= lead_fixed.T @ held
    inner = _left(factors, layout, _left(factors, layout, dense).T)
    root = linear.cholesky((inner + inner.T) / 2 + np.eye(len(inner)))
    half = _forward(root, _left(factors, layout, dense_fixed))
    whole -= half.T @ half
    fixed_root = linear.cholesky(whole[:-1, :-1])
    half_target = _forward(fixed_root, whole[:-1, -1:])[:, 0]
    return Solved(
        system, factors, weigh, dense, dense_fixed, root, half, fixed_root, half_target,
        log_lead + 2 * float(np.log(np.diag(root)).sum()),
        2 * float(np.log(np.diag(fixed_root)).sum()),
        float(whole[-1, -1] - half_target @ half_target),
    )  # fmt: skip


def _lead_weights(system: System, factors: tuple[FloatArray, ...]) -> tuple[FloatArray, FloatArray, float]:
    """M^-1 and E = M^-1 Gamma_1 of every lead group, (K, K, L), and sum log det M, with M = I + Gamma_1 A."""
    layout = system.layout
    gamma = np.zeros((layout.lead_width, layout.lead_width))
    for t in layout.lead:
        own = slice(layout.offsets[t], layout.offsets[t] + layout.widths[t])
        gamma[own, own] = factors[t] @ factors[t].T
    if len(gamma) == 1:
        m = 1.0 + gamma[0, 0] * system.lead
        return 1.0 / m, gamma[0, 0] / m, float(np.log(m).sum())
    m = np.eye(len(gamma)) + np.einsum("ab,bcl->lac", gamma, system.lead)
    inverse = linear.inverse(m)
    shrink = np.einsum("lab,bc->acl", inverse, gamma)
    shrink = (shrink + shrink.transpose(1, 0, 2)) / 2
    return np.ascontiguousarray(inverse.transpose(1, 2, 0)), shrink, float(np.linalg.slogdet(m)[1].sum())


def _left(factors: tuple[FloatArray, ...], layout: Layout, rows: FloatArray) -> FloatArray:
    """L' @ rows for the block-diagonal L of the dense terms; terms at 0 give no rows."""
    parts = [np.empty((0, rows.shape[1]))]
    for t in layout.dense:
        for column in factors[t].T:
            mixed = (rows[layout.part(t, a)] * column[a] for a in range(layout.widths[t]))
            parts.append(sum(mixed, start=np.zeros((layout.levels[t], rows.shape[1]))))
    return np.concatenate(parts)


def _forward(root: FloatArray, rows: FloatArray) -> FloatArray:
    """root^-1 @ rows for a lower triangle."""
    if root.size == 0 or rows.size == 0:
        return np.zeros((root.shape[0], rows.shape[1]))
    from scipy.linalg import solve_triangular

    return np.asarray(solve_triangular(root, rows, lower=True, check_finite=False), dtype=np.float64)


@dataclass(frozen=True)
class Effects:
    """Z'Omega^-1 Z and its relatives at one Gamma, by parts: 1 is the lead (its columns by groups), 2 the rest.

    Attributes:
        solved: the point.
        diagonal: (K, K, L) the lead's own part of Z1'Omega^-1 Z1, before the low rank is taken off.
        low: (r2, K, L) with Z1'Omega^-1 Z1 = diagonal - low'low.
        n21: (q2, K, L) Z2'Omega^-1 Z1.
        n22: (q2, q2) Z2'Omega^-1 Z2.
        fixed1: (p, K, L) fixed_root^-1 Q'Omega^-1 Z1.
        fixed2: (p, q2) the same for Z2.
        v1: (K, L) Z1'Ptilde e.
        v2: (q2,) Z2'Ptilde e.
    """

    solved: Solved
    diagonal: FloatArray
    low: FloatArray
    n21: FloatArray
    n22: FloatArray
    fixed1: FloatArray
    fixed2: FloatArray
    v1: FloatArray
    v2: FloatArray


def effects(solved: Solved) -> Effects:
    """Z'Omega^-1 Z, Z'Omega^-1 Q and Z'Ptilde e at a point."""
    system, layout = solved.system, solved.system.layout
    p, k, count = system.fixed, layout.lead_width, layout.lead_levels
    t21 = np.einsum("qal,abl->qbl", system.cross, solved.weigh)
    diagonal = np.einsum("abl,bcl->acl", system.lead, solved.weigh)
    r1 = np.einsum("bal,blc->alc", solved.weigh, system.lead_fixed)
    both = np.hstack([solved.dense, _flat(t21)])
    w = _forward(solved.root, _left(solved.factors, layout, both))
    w2, low = w[:, : layout.size], w[:, layout.size :]
    n22 = solved.dense - w2.T @ w2
    n21 = t21 - (w2.T @ low).reshape(t21.shape)
    f2 = solved.dense_fixed - w2.T @ solved.half
    f1 = r1.reshape(-1, p + 1) - low.T @ solved.half
    fixed2 = _forward(solved.fixed_root, f2[:, :p].T)
    fixed1 = _forward(solved.fixed_root, f1[:, :p].T)
    v2 = f2[:, p] - fixed2.T @ solved.half_target
    v1 = (f1[:, p] - fixed1.T @ solved.half_target).reshape(k, count)
    return Effects(
        solved,
        diagonal,
        low.reshape(len(low), k, count),
        n21,
        n22,
        fixed1.reshape(p, k, count),
        fixed2,
        v1,
        v2,
    )


def without_fixed(found: Effects) -> Effects:
    """The same with Ptilde in place of Omega^-1: what the fixed effects take is taken off."""
    flat = _flat(found.fixed1)
    n21 = found.n21 - (found.fixed2.T @ flat).reshape(found.n21.shape)
    n22 = found.n22 - found.fixed2.T @ found.fixed2
    low = np.concatenate([found.low, found.fixed1])
    return Effects(
        found.solved, found.diagonal, low, n21, n22, found.fixed1, found.fixed2, found.v1, found.v2
    )


Entry = tuple[int, int, int]


def entries(layout: Layout) -> tuple[Entry, ...]:
    """(term, a, b), a <= b, of every entry of every G, in the order of the components."""
    return tuple(
        (t, a, b) for t, width in enumerate(layout.widths) for b in range(width) for a in range(b + 1)
    )


def apply(found: Effects, rows1: FloatArray, rows2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """N @ (rows1, rows2) for rows1 (K, L, c) and rows2 (q2, c), by parts, without making the lead's N."""
    columns = rows2.shape[1]
    flat1, low = rows1.reshape(-1, columns), _flat(found.low)
    n21 = _flat(found.n21)
    own = np.einsum("abl,blc->alc", found.diagonal, rows1).reshape(-1, columns)
    top = own - low.T @ (low @ flat1) + n21.T @ rows2
    return top.reshape(rows1.shape), n21 @ flat1 + found.n22 @ rows2


def spread(
    layout: Layout, entry: Entry, rows1: FloatArray, rows2: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """E_i @ (rows1, rows2), where V_i = Z E_i Z' is the derivative of V by the entry."""
    t, a, b = entry
    out1, out2 = np.zeros_like(rows1), np.zeros_like(rows2)
    for c, d in {(a, b), (b, a)}:
        if t in layout.lead:
            out1[layout.offsets[t] + c] += rows1[layout.offsets[t] + d]
        else:
            out2[layout.part(t, c)] += rows2[layout.part(t, d)]
    return out1, out2


def traces(found: Effects) -> FloatArray:
    """(entries,) tr(N E_i)."""
    layout = found.solved.system.layout
    out = []
    for t, a, b in entries(layout):
        if t in layout.lead:
            c, d = layout.offsets[t] + a, layout.offsets[t] + b
            value = found.diagonal[c, d].sum() - np.sum(found.low[:, c] * found.low[:, d])
        else:
            value = np.trace(found.n22[layout.part(t, a), layout.part(t, b)])
        out.append(float(value) * (1 if a == b else 2))
    return np.array(out)


def pair_traces(found: Effects) -> FloatArray:
    """(entries, entries) tr(N E_i N E_j)."""
    layout = found.solved.system.layout
    places = entries(layout)
    gram = _lead_gram(found)
    out = np.empty((len(places), len(places)))
    for i, (t, a, b) in enumerate(places):
        for j, (u, c, d) in enumerate(places[: i + 1]):
            # E_ab is e_a e_b' + e_b e_a' (or one of them): its trace sums N_da N_bc over the orders.
            total = 0.0
            for e, f in {(a, b), (b, a)}:
                for g, h in {(c, d), (d, c)}:
                    total += _product(found, gram, (t, e, f), (u, g, h))
            out[i, j] = out[j, i] = total
    return out


def _product(found: Effects, gram: FloatArray, one: Entry, other: Entry) -> float:
    """Sum over groups of N_(a l, d j) N_(b l, c j) for (t, a, b) and (u, c, d)."""
    layout = found.solved.system.layout
    (t, a, b), (u, c, d) = one, other
    if t in layout.lead and u in layout.lead:
        a, b, c, d = (*(layout.offsets[t] + x for x in (a, b)), *(layout.offsets[u] + x for x in (c, d)))
        own, low = found.diagonal, found.low
        both = float(own[a, d] @ own[b, c])
        both -= float(own[a, d] @ np.sum(low[:, b] * low[:, c], axis=0))
        both -= float(own[b, c] @ np.sum(low[:, a] * low[:, d], axis=0))
        return both + float(np.sum(gram[a, b] * gram[d, c]))
    if t in layout.lead:
        return _product(found, gram, other, one)
    if u in layout.lead:
        n, m = (found.n21[layout.part(t, x), layout.offsets[u] + y] for x, y in ((a, d), (b, c)))
    else:
        n, m = (found.n22[layout.part(t, x), layout.part(u, y)] for x, y in ((a, d), (b, c)))
    return float(np.vdot(n, m))


def _lead_gram(found: Effects) -> FloatArray:
    """(K, K, r, r) low_a low_b' of the lead's columns."""
    k = found.low.shape[1]
    parts = [np.ascontiguousarray(found.low[:, a]) for a in range(k)]
    return np.array([[one @ other.T for other in parts] for one in parts])


@dataclass(frozen=True)
class Derivatives:
    """Score and information by tau = (sigma^2, entries of G), in standardised units.

    Attributes:
        score: (1 + entries,).
        observed: (1 + entries, 1 + entries) minus the Hessian.
        expected: the same size, Fisher's.
    """

    score: FloatArray
    observed: FloatArray
    expected: FloatArray


def derivatives(solved: Solved, sigma2: float, reml: bool) -> Derivatives:
    """Exact first and second derivatives at (sigma^2, G = sigma^2 Gamma)."""
    layout = solved.system.layout
    plain = effects(solved)
    projected = without_fixed(plain)
    inner = projected if reml else plain
    places = entries(layout)
    trace = traces(inner) / sigma2
    pairs = pair_traces(inner) / sigma2**2
    spreads = [spread(layout, place, plain.v1[:, :, None], plain.v2[:, None]) for place in places]
    lead = np.concatenate([s[0] for s in spreads], axis=2)
    dense = np.concatenate([s[1] for s in spreads], axis=1)
    flat = np.concatenate([lead.reshape(-1, len(places)), dense])
    moved = apply(projected, lead, dense)
    curved = flat.T @ np.concatenate([moved[0].reshape(-1, len(places)), moved[1]]) / sigma2**3
    quadratic = np.concatenate([plain.v1.ravel(), plain.v2]) @ flat / sigma2**2
    g = sigma2 * _entry_values(solved)
    freedom, square = solved.freedom(reml), solved.square / sigma2
    trace = _with_residual(trace, freedom, g, sigma2)
    quadratic = _with_residual(quadratic, square, g, sigma2)
    pairs = _with_residual_rows(pairs, trace, g, sigma2)
    curved = _with_residual_rows(curved, quadratic, g, sigma2)
    return Derivatives((quadratic - trace) / 2, curved - pairs / 2, pairs / 2)


def _entry_values(solved: Solved) -> FloatArray:
    gammas = [factor @ factor.T for factor in solved.factors]
    return np.array([gammas[t][a, b] for t, a, b in entries(solved.system.layout)])


def _with_residual(values: FloatArray, whole: float, g: FloatArray, sigma2: float) -> FloatArray:
    """Put the residual's value first: sum_i tau_i value_i is the whole."""
    return np.concatenate([[(whole - g @ values) / sigma2], values])


def _with_residual_rows(block: FloatArray, whole: FloatArray, g: FloatArray, sigma2: float) -> FloatArray:
    """Put the residual's row and column first: sum_i tau_i block_ij is whole_j."""
    first = (whole[1:] - g @ block) / sigma2
    corner = (whole[0] - g @ first) / sigma2
    return np.block([[np.array([[corner]]), first[None, :]], [first[:, None], block]])
