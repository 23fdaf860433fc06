"""The specification table: every contrast under every analysis, and whether the verdict stands."""

from __future__ import annotations

from equipoise_reports import tables
from equipoise_reports.sections.decomposition import ORDER
from equipoise_reports.tables import Cell, Column, Row, Table
from equipoise_stats import Analysis, SpecificationRow

_NAMES = {
    "M0": "M0 exact stratum",
    "M1": "M1 mixed model of runs",
    "M1h": "M1h paired by block",
    "M1r": "M1r swap of rule and twin",
    "M2": "M2 task scores",
    "M3": "M3 new tasks",
    "M5": "M5 logit, marginal",
    "M6": "M6 estimating equations",
}
_COLUMNS = (
    Column("Effect", numeric=False),
    Column("Condition", numeric=False),
    Column("Analysis", numeric=False),
    Column("Estimate", "percentage points"),
    Column("SE", "percentage points"),
    Column("df", "degrees of freedom; none for z tests and the swap"),
    Column("p"),
    Column("Adjusted p", "within the family"),
    Column("Verdict", numeric=False),
    Column("Agrees", "whether that is the verdict of the primary analysis", numeric=False),
)


def table(analysis: Analysis) -> Table:
    """One row a contrast and analysis, by kind and then by condition."""
    place = {name: position for position, name in enumerate(analysis.conditions)}
    ordered = sorted(analysis.specification, key=lambda row: (ORDER.index(row.kind), place[row.condition]))
    rows, before = [], ("", "")
    for item in ordered:
        here = (item.kind, item.condition)
        rows.append(
            Row(
                Cell(item.kind.upper()),
                _cells(item, void=analysis.void),
                first_of_group=before not in (("", ""), here),
            )
        )
        before = here
    caption = (
        "Every contrast under every analysis, percentage points. The swap is judged by whether it shows a "
        "difference where the primary analysis does."
    )
    return Table("specification-table", caption, _COLUMNS, tuple(rows), sortable=True)


def _cells(item: SpecificationRow, *, void: bool) -> tuple[Cell, ...]:
    verdict = "inadmissible: a control failed" if void and item.verdict else str(item.verdict or "")
    return (
        tables.word(item.condition),
        tables.word(_NAMES[item.model]),
        tables.points(item.estimate),
        tables.number(None if item.se is None else 100 * item.se, 2),
        tables.number(item.df, 1),
        tables.p_value(item.p),
        tables.p_value(item.p_adjusted),
        tables.word(item.note or verdict),
        _agreement(item),
    )


def _agreement(item: SpecificationRow) -> Cell:
    if item.primary:
        return tables.word("primary")
    if item.agrees is None:
        return Cell("", sort="")
    return tables.word("yes") if item.agrees else tables.word("no", "bad")
