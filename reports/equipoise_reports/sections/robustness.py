"""Whether the verdicts depend on the analysis: other engines on the same runs, and where they disagree."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise_reports import numbers, tables
from equipoise_reports.sections import failed, specification
from equipoise_reports.sections.decomposition import ORDER
from equipoise_reports.study import Study
from equipoise_reports.tables import Cell, Column, Row, Table
from equipoise_stats import Analysis, Contrast, Estimate

_COLUMNS = (
    Column("Effect", numeric=False),
    Column("Condition", numeric=False),
    Column("M0", "exact error stratum: estimate and interval of this contrast alone"),
    Column("M0 p"),
    Column("M1h", "paired t within blocks: estimate and interval"),
    Column("M1h p"),
    Column("Swap p", "exact swap of rule and twin within blocks"),
    Column("Swap p, family", "adjusted over the content family"),
)


_CROSSED = Column("Task-level p", "crossed model of task scores")
_AGREEMENT = Column(
    "Agreement", "the same side of the level, unadjusted, in every analysis that can reach it", numeric=False
)


@dataclass(frozen=True)
class Robustness:
    """What the section shows.

    Attributes:
        engine: why the primary engine is what it is.
        disagrees: whether the second engine contradicts the first.
        cross_check: what the second engine said.
        cell_level: the crossed model, or why it was refused.
        table: the analyses side by side.
        swap: what the swap test can and cannot reach; empty without one.
        notes: what the analysis adds.
        specification: every contrast under every analysis.
        failures: what diverged runs may have done; None where none diverged.
        divergence: whether rules diverge more often than the baseline, a sentence each; empty where none did.
    """

    engine: str
    disagrees: bool
    cross_check: tuple[str, ...]
    cell_level: str
    table: Table
    swap: str
    notes: tuple[str, ...]
    specification: Table
    failures: Table | None
    divergence: tuple[str, ...]


def view(study: Study) -> Robustness | None:
    """Set the analyses side by side; None while planned runs are missing."""
    analysis = study.analysis
    if study.interim or analysis is None:
        return None
    shown = [item for item in analysis.contrasts if item.estimate is not None and (item.m0 or item.m1h)]
    shown.sort(key=lambda item: ORDER.index(item.kind))
    rows = tuple(
        Row(
            Cell(item.kind.upper()),
            _cells(analysis, item),
            first_of_group=place > 0 and item.kind != shown[place - 1].kind,
        )
        for place, item in enumerate(shown)
    )
    fitted = (_CROSSED,) if analysis.cell_level.contrasts else ()
    columns = (*_COLUMNS, *fitted, _AGREEMENT)
    caption = (
        "The same contrasts under other analyses, percentage points. Unless one of them was registered, a claim "
        "needs M0 and M1h."
    )
    check = analysis.cross_check
    return Robustness(
        engine=numbers.sentence(analysis.engine_sentence),
        disagrees=check.flag == "disagree",
        cross_check=(
            f"{check.peer}: {check.flag}.",
            *map(numbers.sentence, (*check.sentences, *check.warnings)),
        ),
        cell_level=_cell_level(analysis),
        table=Table("robustness-table", caption, columns, rows, sortable=True),
        swap=_swap(analysis),
        notes=tuple(map(numbers.sentence, analysis.notes)),
        specification=specification.table(analysis),
        failures=failed.table(analysis),
        divergence=failed.tests(analysis),
    )


def _cell_level(analysis: Analysis) -> str:
    level = analysis.cell_level
    if level.status != "fitted":
        return f"The crossed model of task scores was refused. {numbers.sentence(level.reason)}"
    spread = ", ".join(f"{name} {value:.4g}" for name, value in sorted((level.components or {}).items()))
    extra = f" Variance components: {spread}." if spread else ""
    if level.boundary:
        extra += f" At the boundary, and kept: {', '.join(level.boundary)}."
    if level.cross_check:
        extra += f" {numbers.sentence(level.cross_check)}"
    said = (
        f"The crossed model of task scores was fitted to {level.rows:,} rows. "
        f"{numbers.sentence(level.reason)}"
    )
    return f"{said.strip()}{extra}"


def _swap(analysis: Analysis) -> str:
    tests = [item.m1r for item in analysis.contrasts if item.m1r is not None]
    if not tests:
        return ""
    floor = max(test.floor for test in tests)
    said = f"The swap test assumes no distribution; the least it can reach here is {numbers.p_is(floor)}"
    if floor > analysis.alpha:
        return f"{said}, above the level of {analysis.alpha:g}: at this size it cannot reject anything."
    return f"{said}."


def _cells(analysis: Analysis, item: Contrast) -> tuple[Cell, ...]:
    swap = item.m1r
    crossed = [
        other.p
        for other in analysis.cell_level.contrasts
        if (other.condition, other.kind) == (item.condition, item.kind)
    ]
    return (
        tables.word(item.condition),
        _estimate(item.m0),
        tables.p_value(item.m0.p if item.m0 else None),
        _estimate(item.m1h),
        tables.p_value(item.m1h.p if item.m1h else None),
        tables.p_value(swap.p if swap else None),
        tables.p_value(swap.p_family if swap else None),
        *([tables.p_value(crossed[0] if crossed else None)] if analysis.cell_level.contrasts else []),
        _agreement(analysis, item, crossed),
    )


def _estimate(figures: Estimate | None) -> Cell:
    if figures is None:
        return Cell(numbers.MISSING)
    return Cell(f"{numbers.points(figures.estimate)} ({numbers.interval(figures.ci)})", sort=figures.estimate)


def _agreement(analysis: Analysis, item: Contrast, crossed: list[float | None]) -> Cell:
    said = [figures.p for figures in (item.m0, item.m1h) if figures is not None] + crossed
    if item.m1r is not None and item.m1r.floor <= analysis.alpha:
        said.append(item.m1r.p)
    sides = {p < analysis.alpha for p in said if p is not None}
    if len(sides) < 2:
        return tables.word("agree")
    return tables.word("differ", "bad", f"at {analysis.alpha:g}, before adjustment")


def disagreement(study: Study) -> str:
    """One sentence for the first screen when the engines contradict each other; empty otherwise."""
    analysis = study.analysis
    if study.interim or analysis is None or analysis.cross_check.flag != "disagree":
        return ""
    return f"{analysis.cross_check.peer} disagrees with the primary analysis; see the section on robustness."
