"""What a comparison of native runs alone would have claimed, beside what this suite says."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise_reports import numbers, tables
from equipoise_reports.sections import verdicts
from equipoise_reports.study import Study
from equipoise_reports.tables import Cell, Column, Row, Table
from equipoise_stats import Analysis, Verdict

_COLUMNS = (
    Column("Condition", numeric=False),
    Column(
        "Native difference", "native runs of the rule minus native runs of the baseline, percentage points"
    ),
    Column("Welch p"),
    Column("Holm p"),
    Column("Naive claim", "what p < level without adjustment would have been read as", numeric=False),
    Column("This suite on CONTENT", numeric=False),
)


@dataclass(frozen=True)
class Naive:
    """What the section shows: a sentence and the table of both readings."""

    sentence: str
    table: Table


def view(study: Study) -> Naive | None:
    """Set both readings side by side; None while planned runs are missing or without native runs."""
    analysis = study.analysis
    if study.interim or analysis is None or not analysis.naive.rules:
        return None
    rows = []
    for rule in analysis.naive.rules:
        claimed = rule.condition in analysis.naive.claimed_unadjusted
        worse = rule.p is not None and rule.p < analysis.alpha and rule.estimate < 0
        words = "better" if claimed else "worse" if worse else "no difference claimed"
        cells = (
            tables.points(rule.estimate),
            tables.p_value(rule.p),
            tables.p_value(rule.p_holm),
            tables.word(words),
            verdicts.cell(analysis, verdicts.find(analysis, rule.condition, "content")),
        )
        rows.append(Row(Cell(rule.condition), cells))
    caption = (
        f"A Welch test of native runs against {analysis.baseline}, and the verdict of the matched, twinned "
        "comparison."
    )
    return Naive(_sentence(analysis), Table("naive-table", caption, _COLUMNS, tuple(rows)))


def _sentence(analysis: Analysis) -> str:
    naive = analysis.naive
    raw, held = naive.claimed_unadjusted, naive.claimed_holm
    said = (
        f"A native-only comparison would have called {_counted(raw, len(naive.rules))} better than "
        f"{analysis.baseline}"
        + (f" ({numbers.listed(raw)})" if raw else "")
        + f", and {_counted(held, len(naive.rules))} after Holm's adjustment"
        + (f" ({numbers.listed(held)})" if held and held != raw else "")
        + "."
    )
    if analysis.void:
        return f"{said} This suite claims nothing: a control failed."
    won = [
        item.condition
        for item in analysis.contrasts
        if item.kind == "content"
        and item.in_family
        and item.verdict in (Verdict.SUPERIOR, Verdict.SUPERIOR_BY_MARGIN)
    ]
    here = f"of {numbers.listed(won)}" if won else "of no rule"
    return f"{said} At an equal budget and against shuffled twins, the credit content {here} helps."


def _counted(names: tuple[str, ...], of: int) -> str:
    return f"{len(names) or 'none'} of {numbers.plural(of, 'rule')}"
