"""Predicted random effects (BLUPs) with their conditional covariance.

b = Gamma Z'Ptilde y, and Var(b | y) = G - G Z'V^-1 Z G at the estimated components, as lme4's ranef gives them
(Henderson 1975, *Biometrics* 31; the uncertainty of the components is not in it).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import linear
from equipoise_stats.lmm.likelihood import Effects, effects
from equipoise_stats.lmm.model import FloatArray
from equipoise_stats.lmm.results import Fit
from equipoise_stats.lmm.satterthwaite import solution


@dataclass(frozen=True)
class RandomEffects:
    """Predictions of one random term.

    Attributes:
        levels: names of the groups.
        columns: names of the k columns.
        values: (levels, k) predictions in units of y per unit of the column.
        covariances: (levels, k, k) conditional covariance of each group's effects.
    """

    levels: tuple[str, ...]
    columns: tuple[str, ...]
    values: FloatArray
    covariances: FloatArray


def blup(fit: Fit, term: str, columns: tuple[str, ...] | None = None) -> RandomEffects:
    """Predict the effects of one random term.

    Args:
        fit: a fitted model.
        term: the term's name.
        columns: its columns, where two terms share a name.

    Raises:
        StatsError: no such term, or several.
    """
    solved = solution(fit)
    terms = solved.problem.terms
    index = [i for i, t in enumerate(terms) if t.name == term and columns in (None, t.columns)]
    if len(index) != 1:
        known = ", ".join(f"{t.name} {t.columns}" for t in terms)
        raise StatsError(f"random effects: expected one of the terms {known}, got {len(index)} for {term!r}")
    own, system = index[0], solved.system
    found = effects(solved.at.solved)
    score, information = _term(found, own)
    sigma2 = solved.at.sigma2
    gamma = solved.at.blocks[own].matrix / sigma2
    back = linear.inverse(system.white[own]) * system.scale
    values = score @ gamma @ back.T
    spread = sigma2 * (gamma - np.einsum("ab,lbc,cd->lad", gamma, information, gamma))
    covariances = np.einsum("ab,lbc,dc->lad", back, spread, back)
    order = np.argsort(np.array(terms[own].levels), kind="stable")
    levels = tuple(terms[own].levels[i] for i in order)
    return RandomEffects(levels, terms[own].columns, values[order], covariances[order])


def _term(found: Effects, term: int) -> tuple[FloatArray, FloatArray]:
    """(L, k) Z'Ptilde e and (L, k, k) Z'Omega^-1 Z of each group of a term."""
    layout = found.solved.system.layout
    k = layout.widths[term]
    if term in layout.lead:
        own = slice(layout.offsets[term], layout.offsets[term] + k)
        low = found.low[:, own]
        inner = found.diagonal[own, own] - np.einsum("ral,rbl->abl", low, low)
        return found.v1[own].T, inner.transpose(2, 0, 1)
    parts = [layout.part(term, a) for a in range(k)]
    rows = np.array([[np.diag(found.n22[one, other]) for other in parts] for one in parts])
    return np.array([found.v2[part] for part in parts]).T, rows.transpose(2, 0, 1)
