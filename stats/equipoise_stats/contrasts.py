"""From the balanced layout to every contrast of the suite, with its verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from equipoise_stats import families, figures, power, swap, verdicts
from equipoise_stats.decomposition import (
    CONTENT,
    KINDS,
    Vector,
    cell_name,
    contrast,
    family,
    registered_contrasts,
)
from equipoise_stats.families import Adjusted
from equipoise_stats.layout import Layout
from equipoise_stats.records import Question
from equipoise_stats.results import Contrast, Estimate, Swap, Verdict
from equipoise_stats.stratum import Stratum

STRATUM, PAIRED = "exact-stratum", "paired"


@dataclass(frozen=True)
class Engine:
    """Which analysis carries the figures, and which step-down carries the decisions, with the reasons."""

    name: str
    max_t: bool
    sentence: str


def choose_engine(layout: Layout, question: Question) -> Engine:
    """The primary analysis of a layout.

    With one twin a block every cell holds one run, and the pooled stratum is exact. With K > 1 the averaged
    twin cells vary less than the others, so each contrast is paired with its own error (df = S - 1). The
    largest t of a family needs one common error, so the paired analysis decides by Holm.
    """
    several = layout.most_twins
    name = question.engine
    if name == "auto":
        name = PAIRED if several > 1 else STRATUM
    wants_max_t = question.multiplicity == "step-down-max-t"
    if name == STRATUM:
        why = f"exact error stratum: {len(layout.cells)} cells by {len(layout.blocks)} complete blocks"
        if several > 1:
            why += f"; approximate, because {several} twins a block are averaged into one cell"
        return Engine(STRATUM, wants_max_t, why)
    why = f"paired by block over {len(layout.blocks)} complete blocks"
    if several > 1:
        why += f": the {several} twins of a block are averaged, so that cells do not vary alike"
    if wants_max_t:
        why += "; decisions by Holm, because the largest t needs one common error"
    return Engine(PAIRED, max_t=False, sentence=why)


def decompose(
    layout: Layout, stratum: Stratum | None, question: Question, engine: Engine
) -> tuple[Contrast, ...]:
    """Every registered contrast, in the suite's order.

    Args:
        layout: the balanced table.
        stratum: its analysis of variance; None where it has no degrees of freedom.
        question: the registered question.
        engine: the primary analysis.
    """
    drafts = {key: _draft(*key, layout, stratum, question, engine) for key in registered_contrasts(question)}
    swaps = _swaps(layout, drafts, question)
    done: dict[tuple[str, str], Contrast] = {}
    for kind in KINDS:
        of_kind = {condition: draft for (condition, k), draft in drafts.items() if k == kind}
        judged = _judge_kind(kind, of_kind, question, engine, layout)
        done.update({(condition, kind): draft for condition, draft in judged.items()})
    return tuple(replace(done[key], m1r=swaps.get(key[0]) if key[1] == CONTENT else None) for key in drafts)


def _draft(
    condition: str, kind: str, layout: Layout, stratum: Stratum | None, question: Question, engine: Engine
) -> Contrast:
    """The contrast with its figures under both analyses, not judged yet."""
    vector = contrast(condition, kind, question)
    named = {cell_name(cell): weight for cell, weight in vector.items()}
    name = f"{kind}({condition})"
    member = condition in family(kind, question)
    blank = Contrast(condition, kind, member, Verdict.INCONCLUSIVE, "", (), engine.name, named)
    if not vector:
        said = f"{name} is 0 by construction: {condition} gives every turn of a trajectory the same credit"
        return replace(blank, verdict=Verdict.BY_CONSTRUCTION, sentence=said, estimate=0.0)
    bars = layout.bars(vector)
    if bars:
        said = f"{name} is barred: {'; '.join(bars)}"
        return replace(blank, verdict=Verdict.INADMISSIBLE, sentence=said, reasons=bars)
    obstacles = layout.obstacles(vector)
    if not obstacles and (stratum is None or len(layout.blocks) < 2):
        obstacles = (
            f"{len(layout.blocks)} complete blocks and {len(layout.cells)} cells leave no error to test with",
        )
    if obstacles or stratum is None:
        said = f"{name} cannot be estimated: {'; '.join(obstacles)}"
        return replace(blank, verdict=Verdict.NOT_ESTIMABLE, sentence=said, reasons=obstacles)
    coefficients = layout.coefficients(vector)
    m0 = figures.in_stratum(stratum, coefficients, question.alpha)
    m1h = figures.paired(layout.y, coefficients, question.alpha)
    return replace(blank, m0=m0, m1h=m1h)


def _primary(draft: Contrast) -> Estimate | None:
    return draft.m0 if draft.engine == STRATUM else draft.m1h


def _judge_kind(
    kind: str, drafts: Mapping[str, Contrast], question: Question, engine: Engine, layout: Layout
) -> dict[str, Contrast]:
    members = family(kind, question)
    found = {c: f for c, d in drafts.items() if (f := _primary(d)) is not None}
    tested = {c: f for c, f in found.items() if f.p is not None}
    vectors: dict[str, Vector] = {c: contrast(c, kind, question) for c in members}
    adjusted = families.adjust(
        members,
        {c: f for c, f in tested.items() if c in members},
        vectors,
        alpha=question.alpha,
        margin=question.smallest_effect,
        max_t=engine.max_t,
    )
    judged = dict(drafts)
    for condition, figure in found.items():
        draft = drafts[condition]
        if condition not in tested:
            said = verdicts.untested(f"{kind}({condition})", figure)
            judged[condition] = replace(
                draft, sentence=said, estimate=figure.estimate, se=figure.se, df=figure.df, ci=figure.ci
            )
            continue
        outcome = adjusted.get(condition) or families.unadjusted(
            figure, question.alpha, question.smallest_effect
        )
        size = len(members) if condition in adjusted else 1
        judged[condition] = _judged(draft, figure, outcome, size, question, layout)
    return judged


def _judged(
    draft: Contrast, figure: Estimate, outcome: Adjusted, size: int, question: Question, layout: Layout
) -> Contrast:
    word = verdicts.verdict(figure, outcome, question.alpha, question.smallest_effect)
    blocks = None
    if word is Verdict.INCONCLUSIVE:
        blocks = _blocks_to_settle(draft, figure, size, question, layout)
    said = verdicts.sentence(
        f"{draft.kind}({draft.condition})",
        figure,
        outcome,
        word,
        question.smallest_effect,
        blocks=len(layout.blocks),
        settling=blocks,
    )
    return replace(
        draft,
        verdict=word,
        sentence=said,
        estimate=figure.estimate,
        se=figure.se,
        df=figure.df,
        t=figure.t,
        p=figure.p,
        p_adjusted=outcome.p,
        ci=figure.ci,
        ci_simultaneous=outcome.ci_simultaneous,
        ci90=figures.figures(figure.estimate, figure.se, figure.df, 2 * question.alpha).ci,
        tost_p=outcome.tost_p_alone,
        tost_p_adjusted=outcome.tost_p,
        blocks_to_settle=blocks,
    )


def _blocks_to_settle(
    draft: Contrast, figure: Estimate, size: int, question: Question, layout: Layout
) -> int | None:
    squares = float(sum(weight * weight for weight in draft.vector.values()))
    return power.blocks_to_settle(
        figure.se * math.sqrt(len(layout.blocks) / squares),
        question.smallest_effect,
        size,
        question.alpha,
        cells=len(layout.cells) if draft.engine == STRATUM else 2,
        size=squares,
        power=question.power,
    )


def _swaps(layout: Layout, drafts: Mapping[tuple[str, str], Contrast], question: Question) -> dict[str, Swap]:
    nulls = {}
    for (condition, kind), draft in drafts.items():
        if kind == CONTENT and draft.m0 is not None:
            rule = layout.y[layout.cells.index((condition, "matched"))]
            nulls[condition] = swap.swap_null(rule, layout.twins[condition])
    return swap.swap_tests(nulls, family(CONTENT, question), question.alpha)


def identity_gap(contrasts: tuple[Contrast, ...]) -> float | None:
    """The largest gap of TOTAL against CONTENT + SHAPE + VOLUME of any condition; rounding only."""
    estimates = {(c.condition, c.kind): c.estimate for c in contrasts}
    gaps = []
    for condition in {c.condition for c in contrasts}:
        parts = [estimates.get((condition, kind)) for kind in KINDS]
        if all(part is not None for part in parts):
            content, shape, volume, total = (float(part) for part in parts if part is not None)
            gaps.append(abs(total - content - shape - volume))
    return float(np.max(gaps)) if gaps else None
