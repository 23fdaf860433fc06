"""The crossed models of runs and task scores: fitted by the own engine, held against statsmodels where that holds.

M1 ``y ~ 0 + cell + (1 | block)`` of runs; M2 ``proportion ~ 0 + cell + (1 | block) + (1 | task) + (1 | run)`` for
the fixed suite of tasks; M3 with ``(1 | cell:task)`` besides, for the population that the tasks come from. In a
balanced layout contrasts of M1 and M2 equal those of the exact stratum. No term is dropped where its variance is 0.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from equipoise_stats.crosscheck import said
from equipoise_stats.decomposition import cell_name, contrast
from equipoise_stats.mixed import CellMeans
from equipoise_stats.records import Question
from equipoise_stats.results import CellLevel, CellLevelContrast, Contrast, ModelCertificate

MOST_ROWS = 2_000
"""Beyond it the second engine is slow and stops short of the optimum."""
LOGLIK_TOLERANCE = 1e-3
COEFFICIENT_TOLERANCE = 1e-3  # in standard errors

FORMULAS: Mapping[str, tuple[str, str]] = {
    "M1": ("y ~ 0 + cell + (1 | block)", "fixed suite"),
    "M2": ("proportion ~ 0 + cell + (1 | block) + (1 | task) + (1 | run)", "fixed suite"),
    "M3": (
        "proportion ~ 0 + cell + (1 | block) + (1 | task) + (1 | run) + (1 | cell:task)",
        "task population",
    ),
}


def describe(
    model: str, means: CellMeans | str, rows: int, contrasts: Sequence[Contrast], question: Question
) -> CellLevel:
    """A fitted model as a record, with every contrast that it can estimate.

    Args:
        model: ``M1``, ``M2`` or ``M3``.
        means: the fit, or the reason why there is none.
        rows: offered to it.
        contrasts: drafted or judged; those that may not be estimated are left out.
        question: the registered question.
    """
    formula, about = FORMULAS[model]
    if isinstance(means, str):
        return CellLevel(model, formula, about, "refused", means, rows)
    fit, certificate = means.fit, means.fit.certificate
    pressure = None if math.isnan(certificate.pressure) else certificate.pressure
    return CellLevel(
        model,
        formula,
        about,
        "fitted",
        "REML by the own engine, Satterthwaite's degrees of freedom, Kenward and Roger's beside them",
        fit.nobs,
        fit.loglik,
        {c.term.lower() if c.term == "Residual" else c.term: c.value for c in fit.components},
        tuple(c.term for c in fit.components if c.boundary),
        ModelCertificate(
            certificate.decrement,
            certificate.min_eigenvalue,
            pressure,
            certificate.active,
            certificate.steps,
            certificate.kkt,
        ),
        tuple(cell_name(cell) for cell in means.cells),
        tuple(float(v) for v in fit.beta),
        tuple(tuple(float(v) for v in row) for row in fit.vcov),
        _contrasts(means, contrasts, question),
        *_second_engine(model, means),
    )


def _contrasts(
    means: CellMeans, contrasts: Sequence[Contrast], question: Question
) -> tuple[CellLevelContrast, ...]:
    asked = [
        (c, vector)
        for c in contrasts
        if c.estimable and means.has(vector := contrast(c.condition, c.kind, question))
    ]
    if not asked:
        return ()
    rows = [vector for _, vector in asked]
    plain = means.satterthwaite(rows, question.alpha)
    adjusted = means.kenward_roger(rows, question.alpha)
    return tuple(
        CellLevelContrast(c.condition, c.kind, s.estimate, s.se, s.df, s.p, k.se, k.df, k.p)
        for (c, _), s, k in zip(asked, plain, adjusted, strict=True)
    )


def _second_engine(model: str, means: CellMeans) -> tuple[str, tuple[str, ...]]:
    """Log-likelihood and cell means by MixedLM; its standard errors mean nothing near a boundary."""
    if model != "M2":
        return "", ()
    problem, fit = means.problem, means.fit
    if fit.nobs > MOST_ROWS:
        return (
            f"statsmodels was not asked: {fit.nobs} rows, it stops short of the optimum beyond {MOST_ROWS}",
            (),
        )
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

    names = sorted(term.name for term in problem.terms)
    by_name = {term.name: term for term in problem.terms}
    matrices = [np.eye(len(by_name[name].levels))[by_name[name].codes] for name in names]
    spec = VCSpec(names, [[list(by_name[name].levels)] for name in names], [[matrix] for matrix in matrices])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            groups = np.zeros(fit.nobs, dtype=np.int64)
            peer = MixedLM(problem.y, problem.X, groups=groups, exog_vc=spec).fit(reml=True, method="powell")
        except (np.linalg.LinAlgError, ValueError) as error:
            return f"statsmodels raised {type(error).__name__}: {error}", said(caught)
    loglik = float(peer.llf) - fit.loglik
    gap = float(np.max(np.abs(np.asarray(peer.fe_params) - fit.beta) / np.sqrt(np.diag(fit.vcov))))
    agree = abs(loglik) < LOGLIK_TOLERANCE and gap < COEFFICIENT_TOLERANCE
    word = "agrees" if agree else "falls short of" if loglik < 0 else "disagrees with"
    with_it = " with the own engine" if agree else " the own engine"
    return (
        f"statsmodels {word}{with_it}: log-likelihood {loglik:+.2g}, cell means within {gap:.2g} standard errors",
        said(caught),
    )
