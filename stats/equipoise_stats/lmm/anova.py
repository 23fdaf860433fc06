"""The type III table of a mixed model: each term's effects with all others averaged over evenly."""

from __future__ import annotations

import numpy as np

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
    if len(columns) > 1 and any(column.ordered for column in design.columns):
        # lmerTest makes its rows under treatment coding; degrees of freedom of several rows depend on that.
        plain = fixed.treatment_coded(design).matrix
        back = np.linalg.lstsq(plain, model.reading.X, rcond=None)[0]
        found = ftest.type_three(plain, coded.matrix, columns)
        rows = {name: L @ back for name, L in found.items()}
    else:
        rows = ftest.type_three(model.reading.X, coded.matrix, columns)
    return ftest.table(model.fit, rows, model.method)
