"""Every registered contrast with its figures under each analysis, before anything is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from equipoise_stats import figures
from equipoise_stats.decomposition import Vector, cell_name, contrast, family, registered_contrasts
from equipoise_stats.judging import Key
from equipoise_stats.layout import Layout, lay_out
from equipoise_stats.mixed import CellMeans, by_run
from equipoise_stats.records import Question, RunScore
from equipoise_stats.results import Contrast, Estimate, Verdict
from equipoise_stats.stratum import Stratum, fit_stratum

STRATUM, PAIRED, MIXED, BOTH = "exact-stratum", "paired", "mixed", "both"


@dataclass(frozen=True)
class Engine:
    """Which analysis carries the figures, and which step-down carries the decisions, with the reasons."""

    name: str
    max_t: bool
    sentence: str


@dataclass(frozen=True)
class Table:
    """The runs of one look in their cells.

    Attributes:
        layout: cells by blocks.
        stratum: analysis of variance of the complete blocks; None where it has no degrees of freedom.
        mixed: the mixed model of all runs, or the reason why there is none.
    """

    layout: Layout
    stratum: Stratum | None
    mixed: CellMeans | str


def tabulate(runs: Sequence[RunScore], question: Question) -> Table:
    """Lay out runs, and fit what all contrasts share."""
    layout = lay_out(runs, question)
    stratum = fit_stratum(layout.y) if min(layout.y.shape) >= 2 else None
    return Table(layout, stratum, by_run(runs, layout.cells))


def choose_engine(table: Table, question: Question) -> Engine:
    """The primary analysis.

    With one twin a block every cell holds one run a block, and the pooled and the paired analysis must agree: the
    pooled error alone is too small for a rule whose runs vary more than the others. Incomplete blocks are not
    dropped: a mixed model pools the cells that they have, and pairs use the blocks that have a contrast's cells.
    With K > 1 the averaged twin cells vary less than the others, so each contrast is paired with its own error
    alone (df = S - 1). The largest t of a family needs one fit and one look; other analyses decide by Holm.
    """
    several, name = table.layout.most_twins, question.engine
    if name == "auto":
        name = _fitting(table, question)
    wants_max_t, looks = question.multiplicity == "step-down-max-t", bool(question.looked)
    why = _reason(name, table)
    if several > 1 and name == STRATUM:
        why += f"; approximate, because {several} twins a block are averaged into one cell"
    elif several > 1 and name == PAIRED:
        why += f": the {several} twins of a block are averaged, so that cells do not vary alike"
    if wants_max_t and looks:
        why += "; decisions by Holm over p values that the looks leave valid"
    elif wants_max_t and name == PAIRED:
        why += "; decisions by Holm, because the largest t needs one common error"
    return Engine(name, wants_max_t and name != PAIRED and not looks, why)


def _fitting(table: Table, question: Question) -> str:
    return PAIRED if question.spending == "e-process" or table.layout.most_twins > 1 else BOTH


def pooled_analysis(table: Table) -> str:
    """The analysis with one error for all cells: of incomplete blocks a mixed model."""
    return MIXED if table.layout.left_out and not isinstance(table.mixed, str) else STRATUM


def _reason(name: str, table: Table) -> str:
    layout = table.layout
    complete, every = len(layout.blocks), layout.ragged.shape[1]
    if name == STRATUM:
        return f"exact error stratum: {len(layout.cells)} cells by {complete} complete blocks"
    pairs = f"paired by block over {complete} complete blocks" + (
        f" of {every}, each contrast over the blocks that have its cells" if every > complete else ""
    )
    if name == PAIRED:
        return pairs
    pooled = f"the error pooled over {len(layout.cells)} cells"
    if pooled_analysis(table) == MIXED:
        pooled = (
            f"the mixed model of runs, y ~ 0 + cell + (1 | block) by REML with Satterthwaite's degrees of freedom "
            f"({every - complete} of {every} blocks are incomplete),"
        )
    return (
        f"{pairs}; nothing is claimed that {pooled} would not claim too, and in a family of m the pairs alone are "
        "held to its level divided by (m + 1) / 2 (at least by 3, at most by m)"
    )


def draft_all(table: Table, question: Question, engine: Engine) -> dict[Key, Contrast]:
    """The drafts of all registered contrasts, in the suite's order."""
    drafts = {key: _blank(*key, table.layout, question, engine) for key in registered_contrasts(question)}
    open_ones = {
        key: contrast(*key, question)
        for key, draft in drafts.items()
        if draft.verdict is Verdict.INCONCLUSIVE
    }
    satterthwaite, adjusted = _under_mixed(table.mixed, open_ones, question.alpha)
    for key, vector in open_ones.items():
        drafts[key] = _with_figures(
            replace(drafts[key], m1=satterthwaite.get(key), m1_kr=adjusted.get(key)), vector, table, question
        )
    return drafts


def _blank(condition: str, kind: str, layout: Layout, question: Question, engine: Engine) -> Contrast:
    """The contrast without figures; ``inconclusive`` where nothing forbids them."""
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
    return _not_estimable(blank, obstacles) if obstacles else blank


def _not_estimable(draft: Contrast, reasons: tuple[str, ...]) -> Contrast:
    said = f"{draft.kind}({draft.condition}) cannot be estimated: {'; '.join(reasons)}"
    return replace(draft, verdict=Verdict.NOT_ESTIMABLE, sentence=said, reasons=reasons)


def _under_mixed(
    mixed: CellMeans | str, vectors: Mapping[Key, Vector], alpha: float
) -> tuple[dict[Key, Estimate], dict[Key, Estimate]]:
    if isinstance(mixed, str):
        return {}, {}
    keys = [key for key, vector in vectors.items() if mixed.has(vector)]
    if not keys:
        return {}, {}
    rows = [vectors[key] for key in keys]
    return (
        dict(zip(keys, mixed.satterthwaite(rows, alpha), strict=True)),
        dict(zip(keys, mixed.kenward_roger(rows, alpha), strict=True)),
    )


def _with_figures(draft: Contrast, vector: Vector, table: Table, question: Question) -> Contrast:
    layout, stratum = table.layout, table.stratum
    coefficients = layout.coefficients(vector)
    found = replace(draft, m1h=figures.available(layout.ragged, coefficients, question.alpha))
    if stratum is not None:
        found = replace(
            found,
            m0=figures.in_stratum(stratum, coefficients, question.alpha),
            sd_ratio=figures.spread_ratio(layout.y, coefficients),
        )
    if figure_of(found, draft.engine) is not None:
        return found
    blocks, cells = len(layout.blocks), len(layout.cells)
    reason = f"{blocks} complete blocks and {cells} cells leave no error to test with"
    if draft.engine == BOTH and isinstance(table.mixed, str):
        reason = f"fewer than two blocks have its cells, and no mixed model can be fitted: {table.mixed}"
    return _not_estimable(found, (reason,))


def figure_of(draft: Contrast, engine: str) -> Estimate | None:
    """The figures of a contrast under an analysis; None where it has none.

    Where both must agree they are those of the pairs; without pairs those of the mixed model, and nothing is claimed.
    """
    return {STRATUM: draft.m0, MIXED: draft.m1, PAIRED: draft.m1h, BOTH: draft.m1h or draft.m1}[engine]
