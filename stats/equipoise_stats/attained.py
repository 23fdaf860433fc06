"""What the suite that was run could have detected."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from equipoise_stats import power
from equipoise_stats.contrasts import STRATUM, Engine
from equipoise_stats.decomposition import CONTENT, contrast, correlation, family
from equipoise_stats.layout import Layout
from equipoise_stats.records import Question
from equipoise_stats.results import Contrast, Detectable
from equipoise_stats.stratum import NO_VARIATION, Stratum
from equipoise_stats.wording import signed


def detectable(
    layout: Layout, stratum: Stratum | None, contrasts: Sequence[Contrast], question: Question, engine: Engine
) -> Detectable:
    """The smallest CONTENT and VOLUME found with the registered power, from the attained error SD.

    Args:
        layout: the balanced table.
        stratum: its analysis of variance.
        contrasts: all contrasts, for the paired SD.
        question: level, power and family.
        engine: the primary analysis.
    """
    members = len(family(CONTENT, question))
    sd = _attained_sd(stratum, contrasts, engine)
    if sd is None or sd * sd < NO_VARIATION or members == 0 or len(layout.blocks) < 2:
        said = "No detectable effect can be given: nothing varies, or no contrast can be estimated."
        return Detectable(sd, len(layout.blocks), members, question.power, None, None, said)
    vectors = [contrast(c, CONTENT, question) for c in family(CONTENT, question)]
    shared = correlation(vectors)
    rho = float(shared[0, 1]) if engine.max_t and members > 1 else None
    cells = len(layout.cells) if engine.name == STRATUM else 2
    content, volume = (
        power.planned_mde(
            sd, len(layout.blocks), members, question.alpha,
            cells=cells, size=size, correlation=rho, power=question.power,
        )
        for size in (2.0, 4.0)
    )  # fmt: skip
    said = (
        f"With {len(layout.blocks)} blocks and an error SD of {sd:.4f}, "
        f"a content of {signed(content)} is detected with {question.power:.0%} power among {members} rules."
    )
    return Detectable(sd, len(layout.blocks), members, question.power, content, volume, said)


def _attained_sd(stratum: Stratum | None, contrasts: Sequence[Contrast], engine: Engine) -> float | None:
    if engine.name == STRATUM:
        return None if stratum is None else math.sqrt(float(stratum.ms_error))
    # paired: the SD of a run that gives the mean squared SE of the CONTENT contrasts
    squares = [c.m1h.se**2 * (c.m1h.df + 1) / 2 for c in contrasts if c.kind == CONTENT and c.m1h is not None]
    return float(np.sqrt(np.mean(squares))) if squares else None
