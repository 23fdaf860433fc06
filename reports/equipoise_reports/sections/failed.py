"""What diverged runs may have done: intention to treat beside other scorings, bounds and the tipping point."""

from __future__ import annotations

from equipoise_reports import numbers, tables
from equipoise_reports.tables import Cell, Column, Row, Table
from equipoise_stats import Analysis
from equipoise_stats.failures import ContrastFailures, Scoring

_COLUMNS = (
    Column("Effect", numeric=False),
    Column("Condition", numeric=False),
    Column("Intention to treat", "paired by block, this contrast alone"),
    Column("Per protocol", "without the runs that diverged"),
    Column("Worst case", "diverged runs scored 0 or 1, whichever hurts the rule"),
    Column("Best case", "the other way round"),
    Column("Lee's bounds", "effect among runs that would never diverge"),
    Column("Tipping point", numeric=False),
)


def table(analysis: Analysis) -> Table | None:
    """One row a contrast whose cells hold a diverged run; None where none does."""
    found = analysis.failures.contrasts
    if not found:
        return None
    rows = tuple(
        Row(
            Cell(item.kind.upper()),
            (
                tables.word(item.condition),
                _scoring(item.intention_to_treat, void=analysis.void),
                _scoring(item.per_protocol, void=analysis.void),
                _scoring(item.worst, void=analysis.void),
                _scoring(item.best, void=analysis.void),
                Cell(numbers.interval(item.lee.bounds), title=item.lee.reason)
                if item.lee.bounds
                else Cell("none", title=item.lee.reason, mark="quiet"),
                _tipping(item, void=analysis.void),
            ),
        )
        for item in found
    )
    caption = (
        "Contrasts whose cells hold diverged runs, under other scorings of these runs; percentage points. The "
        "verdicts rest on intention to treat. Tipping points are those of the primary analysis within the family, "
        "of controls, and with looks, gates or incomplete blocks, those of pairs alone."
    )
    return Table("failures-table", caption, _COLUMNS, rows)


def tests(analysis: Analysis) -> tuple[str, ...]:
    """Whether conditions diverge more often than the baseline; empty where no run diverged."""
    if not any(count.diverged for count in analysis.failures.counts):
        return ()
    return tuple(numbers.sentence(test.sentence) for test in analysis.failures.tests)


def _tipping(item: ContrastFailures, *, void: bool) -> Cell:
    if void:
        return Cell("inadmissible: a control failed", mark="wrap bad")
    return Cell(" ".join(numbers.sentence(t.sentence) for t in item.tipping), mark="wrap")


def _scoring(item: Scoring, *, void: bool) -> Cell:
    if item.figures is None:
        return Cell(str(item.verdict), mark="quiet")
    text = f"{numbers.points(item.figures.estimate)} ({numbers.interval(item.figures.ci)})"
    return Cell(text, sort=item.figures.estimate, title="" if void else str(item.verdict))
