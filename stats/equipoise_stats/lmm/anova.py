"""The type III table of a mixed model: each term's effects with all others averaged over evenly."""

from __future__ import annotations

from equipoise_stats.lmm import fixed, ftest
from equipoise_stats.lmm.emm import Model
from equipoise_stats.lmm.ftest import FTest


def type_three(model: Model) -> dict[str, FTest]:
    """One F test for each term but the intercept, under the model's degrees of freedom.

    Raises:
        StatsError: empty cells, where type III has no meaning.
    """
    design = model.reading.design
    coded = fixed.sum_coded(design)
    columns = {term.name: term.columns for term in coded.terms if term.name != "(Intercept)"}
    if not columns:
        return {}
    rows = ftest.type_three(model.reading.X, coded.matrix, columns)
    return ftest.table(model.fit, rows, model.method)
