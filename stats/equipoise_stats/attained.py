"""What the suite that was run could have detected."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from equipoise_stats import power
from equipoise_stats.decomposition import CONTENT, VOLUME, contrast, correlation, family
from equipoise_stats.drafts import BOTH, PAIRED, STRATUM, Engine
from equipoise_stats.judging import agreement_factor
from equipoise_stats.layout import Layout
from equipoise_stats.records import Question
from equipoise_stats.results import Contrast, Detectable
from equipoise_stats.stratum import NO_VARIATION, Stratum
from equipoise_stats.wording import signed

FloatArray = npt.NDArray[np.float64]


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
    pairs = [c.m1h for c in contrasts if c.kind == CONTENT and c.m1h is not None]
    blocks, members = len(layout.blocks), len(family(CONTENT, question))
    if engine.name == STRATUM:
        sd = None if stratum is None else math.sqrt(float(stratum.ms_error))
    else:  # the SD of a run that gives the mean squared SE of the CONTENT contrasts
        blocks = min((round(f.df) + 1 for f in pairs), default=0)
        sd = float(np.sqrt(np.mean([f.se**2 * (f.df + 1) / 2 for f in pairs]))) if pairs else None
    if sd is None or sd * sd < NO_VARIATION or blocks < 2:
        said = "No detectable effect can be given: nothing varies, or nothing can be estimated."
        return Detectable(sd, blocks, members, question.power, None, None, said)
    found = {c.kind for c in contrasts if c.se is not None and c.in_family}
    content, volume = (
        _detectable_kind(kind, sd, blocks, layout, question, engine) if kind in found else None
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


def _detectable_kind(
    kind: str, sd: float, blocks: int, layout: Layout, question: Question, engine: Engine
) -> float:
    vectors = [contrast(condition, kind, question) for condition in family(kind, question)]
    shared = correlation(vectors)
    if engine.name == BOTH:
        members = len(vectors)
        design = power.Design(
            sd,
            blocks,
            float(sum(weight * weight for weight in vectors[0].values())),
            len(layout.cells),
            pooled=question.alpha / members,
            paired=question.alpha / agreement_factor(members),
            pooled_critical=_largest_t(shared, blocks, layout, question) if engine.max_t else None,
        )
        return power.mde(design, question.power)
    return power.planned_mde(
        sd,
        blocks,
        len(vectors),
        question.alpha,
        cells=2 if engine.name == PAIRED else len(layout.cells),
        size=float(sum(weight * weight for weight in vectors[0].values())),
        correlation=float(shared[0, 1]) if engine.max_t and len(vectors) > 1 else None,
        power=question.power,
    )


def _largest_t(shared: FloatArray, blocks: int, layout: Layout, question: Question) -> float:
    df = (len(layout.cells) - 1) * (blocks - 1)
    common = float(shared[0, 1]) if len(shared) > 1 else None
    return power.family_critical(question.alpha, len(shared), df, common)
