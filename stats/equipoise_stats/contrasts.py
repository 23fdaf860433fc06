"""From the balanced layout to every contrast of the suite, with its verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from equipoise_stats import families, figures, power, sequential_evidence, swap, verdicts
from equipoise_stats.decomposition import (
    CONTENT,
    KINDS,
    TOTAL,
    VOLUME,
    contrast,
    correlation,
    family,
)
from equipoise_stats.drafts import (
    BOTH,
    MIXED,
    PAIRED,
    STRATUM,
    Engine,
    Table,
    draft_all,
    figure_of,
    pooled_analysis,
)
from equipoise_stats.families import Evidence
from equipoise_stats.judging import Correlate, Judged, Key, agreement_factor, correlation_of, judge_all
from equipoise_stats.layout import Layout
from equipoise_stats.records import Question
from equipoise_stats.results import Contrast, Estimate, Swap, Verdict, VolumeShare
from equipoise_stats.shares import volume_share

FloatArray = npt.NDArray[np.float64]
_RATIO = 2.0
"""Beyond it, either way, it is said that the runs of a contrast do not vary like the others."""


def decompose(tables: Sequence[Table], question: Question, engine: Engine) -> tuple[Contrast, ...]:
    """Every registered contrast, in the suite's order.

    Args:
        tables: the layout at each look so far, the current one last.
        question: the registered question.
        engine: the primary analysis.
    """
    looks = [draft_all(table, question, engine) for table in tables]
    now, layout = looks[-1], tables[-1].layout
    swaps = _swaps(tables[-1], now, question)
    pooled = pooled_analysis(tables[-1])
    carried = pooled if engine.name == BOTH else engine.name
    correlate = correlation_in(tables[-1], carried) if engine.max_t else None
    series = [
        judge_looks(looks[: n + 1], question, carried, correlate, guarded=engine.name == BOTH)
        for n in range(len(looks))
    ]
    primary, other = series[-1], PAIRED if engine.name == STRATUM else pooled
    beside = judge_looks(looks, question, other, correlation_in(tables[-1], other) if engine.max_t else None)
    done = []
    for key, draft in now.items():
        found = figure_of(draft, engine.name)
        if found is None or draft.verdict is not Verdict.INCONCLUSIVE:
            done.append(draft)
        elif key not in primary.adjusted:
            done.append(_untested(draft, found))
        else:
            judged = _judged(draft, primary, question, _blocks(layout, draft, engine), len(layout.cells))
            judged = _flagged(judged, beside.verdict(key, sequential_evidence.level_of(question)), other)
            path = [figure_of(look[key], engine.name) for look in looks]
            done.append(_with_path(judged, path, series, question))
    return tuple(replace(c, m1r=swaps.get(c.condition) if c.kind == CONTENT else None) for c in done)


def judge_looks(
    looks: Sequence[Mapping[Key, Contrast]],
    question: Question,
    name: str,
    correlate: Correlate | None,
    *,
    guarded: bool = False,
) -> Judged:
    """What an analysis makes of the contrasts at the last of some looks; guarded, with the pairs' consent."""
    at = replace(question, look=question.looked[len(looks) - 1]) if question.looked else question
    alone = _evidence(looks, at, PAIRED) if guarded else None
    return judge_all(_evidence(looks, at, name), at, correlate, alone)


def _evidence(looks: Sequence[Mapping[Key, Contrast]], at: Question, name: str) -> dict[Key, Evidence]:
    evidence = {}
    for key in looks[-1]:
        found = sequential_evidence.evidence([figure_of(look[key], name) for look in looks], at)
        if found is not None:
            evidence[key] = found
    return evidence


def correlation_in(table: Table, name: str) -> Correlate | None:
    """The correlation of contrasts under an analysis; None for the paired one, which has no common error."""
    if name == STRATUM:
        return correlation
    if name == PAIRED or isinstance(table.mixed, str):
        return None
    return correlation_of(table.mixed)


def _blocks(layout: Layout, draft: Contrast, engine: Engine) -> int:
    """The blocks behind a contrast's figures."""
    return len(layout.blocks) if engine.name == STRATUM or draft.m1h is None else round(draft.m1h.df) + 1


def _untested(draft: Contrast, figure: Estimate) -> Contrast:
    name = f"{draft.kind}({draft.condition})"
    said = verdicts.untested(name, figure) if figure.p is None else verdicts.unpaired(name, figure)
    return replace(draft, sentence=said, estimate=figure.estimate, se=figure.se, df=figure.df, ci=figure.ci)


def _judged(draft: Contrast, judged: Judged, question: Question, blocks: int, cells: int) -> Contrast:
    key = (draft.condition, draft.kind)
    found, outcome, level = judged.evidence[key], judged.adjusted[key], sequential_evidence.level_of(question)
    figure = found.figure
    word = verdicts.verdict(figure, outcome, question.alpha, question.smallest_effect)
    settling = None
    if word is Verdict.INCONCLUSIVE:
        size = len(family(draft.kind, question)) if draft.in_family else 1
        settling = _blocks_to_settle(draft, figure, size, question, blocks=blocks, cells=cells)
    said = verdicts.sentence(
        f"{draft.kind}({draft.condition})",
        figure,
        outcome,
        word,
        level,
        blocks=blocks,
        settling=settling,
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
        ci=families.around(figure, level.critical(question.alpha, figure.df)),
        ci_simultaneous=outcome.ci_simultaneous,
        ci90=families.around(figure, level.critical(2 * question.alpha, figure.df)),
        tost_p=outcome.tost_p_alone,
        tost_p_adjusted=outcome.tost_p,
        noninferior_p=outcome.noninferior_p_alone,
        noninferior_p_adjusted=outcome.noninferior_p,
        gate_p=outcome.gate if draft.in_family and draft.kind in question.gatekeeping else None,
        blocks_to_settle=settling,
    )


def _blocks_to_settle(
    draft: Contrast, figure: Estimate, size: int, question: Question, *, blocks: int, cells: int
) -> int | None:
    squares = float(sum(weight * weight for weight in draft.vector.values()))
    if draft.engine == BOTH:
        design = power.Design(
            figure.se * math.sqrt(blocks / squares),
            blocks,
            squares,
            cells,
            pooled=question.alpha / size,
            paired=question.alpha / agreement_factor(size),
        )
        return power.blocks_for_power(design, question.smallest_effect, question.power)
    return power.blocks_to_settle(
        figure.se * math.sqrt(blocks / squares),
        question.smallest_effect,
        size,
        question.alpha,
        cells=2 if draft.engine == PAIRED else cells,
        size=squares,
        power=question.power,
    )


def _flagged(judged: Contrast, beside: Verdict | None, other: str) -> Contrast:
    """Set beside the verdict what speaks against the analysis that it comes from."""
    flags = []
    if beside is not None and beside is not judged.verdict:
        name = {PAIRED: "the paired analysis", STRATUM: "the exact error stratum", MIXED: "the mixed model"}[
            other
        ]
        flags.append(f"{name} says {beside}")
    ratio = judged.sd_ratio
    if ratio is not None and not 1 / _RATIO <= ratio <= _RATIO:
        flags.append(f"its runs vary {ratio:.1f} times as much as the others")
    if not flags:
        return judged
    return replace(judged, flags=tuple(flags), sentence=f"{judged.sentence} (but {'; '.join(flags)})")


def _with_path(
    judged: Contrast, path: Sequence[Estimate | None], series: Sequence[Judged], question: Question
) -> Contrast:
    if not question.looked:
        return judged
    key = (judged.condition, judged.kind)
    adjusted = [look.adjusted[key].p if key in look.adjusted else None for look in series]
    size = len(family(judged.kind, question)) if judged.in_family else 1
    return replace(judged, path=sequential_evidence.points(path, adjusted, size, question))


def _swaps(table: Table, drafts: Mapping[Key, Contrast], question: Question) -> dict[str, Swap]:
    nulls = {}
    for (condition, kind), draft in drafts.items():
        scores = table.layout.swaps.get(condition)
        if (
            kind == CONTENT
            and draft.vector
            and draft.m1h is not None
            and scores is not None
            and len(scores) > 1
        ):
            nulls[condition] = swap.swap_null(scores[:, 0], scores[:, 1:])
    return swap.swap_tests(nulls, family(CONTENT, question), question.alpha)


def shares_of_volume(
    table: Table, contrasts: Sequence[Contrast], question: Question, engine: Engine
) -> tuple[VolumeShare, ...]:
    """The share of each claimant's total that is due to volume, where both have figures."""
    by_key = {(c.condition, c.kind): c for c in contrasts}
    found = [
        volume_share(c, by_key, _volume_and_total(c, table, by_key, question, engine), question.alpha)
        for c in question.claimants
    ]
    return tuple(share for share in found if share is not None)


def _volume_and_total(
    condition: str, table: Table, by_key: Mapping[Key, Contrast], question: Question, engine: Engine
) -> FloatArray | None:
    """(2, 2) covariance of VOLUME and TOTAL; None where either has no figure."""
    if any(by_key[condition, kind].se is None for kind in (VOLUME, TOTAL)):
        return None
    named = [contrast(condition, kind, question) for kind in (VOLUME, TOTAL)]
    layout = table.layout
    vectors = np.array([layout.coefficients(vector) for vector in named])
    if engine.name == STRATUM:
        return figures.joint_covariance(layout.y, vectors, table.stratum)
    used = (vectors != 0).any(axis=0)
    scores = layout.ragged[used][:, np.isfinite(layout.ragged[used]).all(axis=0)]
    return None if scores.shape[1] < 2 else figures.joint_covariance(scores, vectors[:, used], None)


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
