"""Every registered contrast with its figures under each analysis, before anything is judged."""

from __future__ import annotations

from dataclasses import dataclass, replace

from equipoise_stats import figures
from equipoise_stats.decomposition import cell_name, contrast, family, registered_contrasts
from equipoise_stats.layout import Layout
from equipoise_stats.records import Question
from equipoise_stats.results import Contrast, Estimate, Verdict
from equipoise_stats.stratum import Stratum, fit_stratum

STRATUM, PAIRED = "exact-stratum", "paired"
Key = tuple[str, str]
"""A contrast by its condition and kind."""


@dataclass(frozen=True)
class Engine:
    """Which analysis carries the figures, and which step-down carries the decisions, with the reasons."""

    name: str
    max_t: bool
    sentence: str


@dataclass(frozen=True)
class Table:
    """A layout with its analysis of variance; None where it has no degrees of freedom."""

    layout: Layout
    stratum: Stratum | None


def tabulate(layout: Layout) -> Table:
    """The layout with its analysis of variance."""
    return Table(layout, fit_stratum(layout.y) if min(layout.y.shape) >= 2 else None)


def choose_engine(layout: Layout, question: Question) -> Engine:
    """The primary analysis of a layout.

    With one twin a block every cell holds one run, and the pooled stratum is exact. With K > 1 the averaged
    twin cells vary less than the others, so each contrast is paired with its own error (df = S - 1). The
    largest t of a family needs one common error and one look, so other analyses decide by Holm.
    """
    several = layout.most_twins
    name = question.engine
    if name == "auto":
        name = PAIRED if several > 1 or question.spending == "e-process" else STRATUM
    wants_max_t, looks = question.multiplicity == "step-down-max-t", bool(question.looked)
    if name == STRATUM:
        why = f"exact error stratum: {len(layout.cells)} cells by {len(layout.blocks)} complete blocks"
        if several > 1:
            why += f"; approximate, because {several} twins a block are averaged into one cell"
    else:
        why = f"paired by block over {len(layout.blocks)} complete blocks"
        if several > 1:
            why += f": the {several} twins of a block are averaged, so that cells do not vary alike"
        if wants_max_t and not looks:
            why += "; decisions by Holm, because the largest t needs one common error"
    if wants_max_t and looks:
        why += "; decisions by Holm over p values that the looks leave valid"
    return Engine(name, wants_max_t and name == STRATUM and not looks, why)


def draft_all(table: Table, question: Question, engine: Engine) -> dict[Key, Contrast]:
    """The drafts of all registered contrasts, in the suite's order."""
    return {key: _draft(*key, table, question, engine) for key in registered_contrasts(question)}


def _draft(condition: str, kind: str, table: Table, question: Question, engine: Engine) -> Contrast:
    layout, stratum = table.layout, table.stratum
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
    if not obstacles and stratum is None:
        obstacles = (
            f"{len(layout.blocks)} complete blocks and {len(layout.cells)} cells leave no error to test with",
        )
    if obstacles or stratum is None:
        said = f"{name} cannot be estimated: {'; '.join(obstacles)}"
        return replace(blank, verdict=Verdict.NOT_ESTIMABLE, sentence=said, reasons=obstacles)
    coefficients = layout.coefficients(vector)
    return replace(
        blank,
        m0=figures.in_stratum(stratum, coefficients, question.alpha),
        m1h=figures.paired(layout.y, coefficients, question.alpha),
        sd_ratio=figures.spread_ratio(layout.y, coefficients),
    )


def figure_of(draft: Contrast, engine: str) -> Estimate | None:
    """The figures of a contrast under an analysis; None where it has none."""
    return draft.m0 if engine == STRATUM else draft.m1h
