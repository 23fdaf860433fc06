"""What the suite that was run could have detected."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from equipoise_stats import power
from equipoise_stats.decomposition import CONTENT, VOLUME, contrast, correlation, family
from equipoise_stats.drafts import STRATUM, Engine
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
        contrasts: all contrasts; only kinds with a figure get a detectable effect.
        question: level, power and families.
        engine: the primary analysis.
    """
    sd = _attained_sd(stratum, contrasts, engine)
    blocks, members = len(layout.blocks), len(family(CONTENT, question))
    if sd is None or sd * sd < NO_VARIATION or blocks < 2:
        said = "No detectable effect can be given: nothing varies, or nothing can be estimated."
        return Detectable(sd, blocks, members, question.power, None, None, said)
    found = {c.kind for c in contrasts if c.m0 is not None and c.in_family}
    content, volume = (
        _detectable_kind(kind, sd, layout, question, engine) if kind in found else None
        for kind in (CONTENT, VOLUME)
    )
    if content is None:
        said = "No detectable content can be given: no rule besides baseline and controls has a content to claim."
    else:
        said = (
            f"With {blocks} blocks and an error SD of {sd:.4f}, a content of {signed(content)} is detected "
            f"with {question.power:.0%} power among {members} rules."
        )
    return Detectable(sd, blocks, members, question.power, content, volume, said)


def _detectable_kind(kind: str, sd: float, layout: Layout, question: Question, engine: Engine) -> float:
    vectors = [contrast(condition, kind, question) for condition in family(kind, question)]
    shared = correlation(vectors)
    return power.planned_mde(
        sd,
        len(layout.blocks),
        len(vectors),
        question.alpha,
        cells=len(layout.cells) if engine.name == STRATUM else 2,
        size=float(sum(weight * weight for weight in vectors[0].values())),
        correlation=float(shared[0, 1]) if engine.max_t and len(vectors) > 1 else None,
        power=question.power,
    )


def _attained_sd(stratum: Stratum | None, contrasts: Sequence[Contrast], engine: Engine) -> float | None:
    if engine.name == STRATUM:
        return None if stratum is None else math.sqrt(float(stratum.ms_error))
    # paired: the SD of a run that gives the mean squared SE of the CONTENT contrasts
    squares = [c.m1h.se**2 * (c.m1h.df + 1) / 2 for c in contrasts if c.kind == CONTENT and c.m1h is not None]
    return float(np.sqrt(np.mean(squares))) if squares else None
