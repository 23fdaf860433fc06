"""The other side of the budget: what generation was allowed, what was used of it, and which limit left prompts out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from equipoise_reports import numbers, tables
from equipoise_reports.received import RESOURCES, GenerationUse
from equipoise_reports.study import Study
from equipoise_reports.tables import Cell, Column, Row, Table

_COLUMNS = (
    Column("Condition", numeric=False),
    Column("Arm", numeric=False),
    Column("Resource", numeric=False),
    Column("Limit", "what a run's credit may cost, collection included; of all rounds together"),
    Column("Used", "what the prompts cost that the runs trained on, smallest to largest over runs"),
    Column("Prompts", "prompts whose cost fits, smallest to largest over runs"),
    Column("Binding", "runs in which this limit left prompts out, or ended the run", numeric=False),
)


def view(study: Study) -> Table | None:
    """One row a condition, arm and limited resource; None where nothing is limited."""
    rows: list[Row] = []
    for card in study.conditions:
        for arm in study.design.arms:
            told = [run.generation for run in study.of(card.id, arm) if run.generation is not None]
            rows += [
                Row(Cell(card.id), (tables.word(arm), *_cells(told, name)))
                for name in RESOURCES
                if any(name in each.limits for each in told)
            ]
    if not rows:
        return None
    caption = (
        "Limits of generation and what the runs that keep to them used. A rule that needs more generation trains on "
        "fewer prompts; the table of costs shows what all prompts cost, those left out included."
    )
    return Table("generation-table", caption, _COLUMNS, tuple(rows), sortable=True)


def _cells(told: Sequence[GenerationUse], name: str) -> tuple[Cell, ...]:
    bound = Counter(resource for each in told for resource in each.binding)[name]
    prompts = [float(each.prompts) for each in told if each.prompts is not None]
    of = {each.of for each in told if each.of is not None}
    shown = tables.span(prompts) if prompts else Cell(numbers.MISSING)
    if len(of) == 1 and prompts:
        shown = Cell(f"{shown.text} of {next(iter(of))}", sort=shown.sort)
    return (
        tables.word(name.replace("_", " ")),
        tables.span([float(each.limits[name]) for each in told]),
        tables.span([float(each.used[name]) for each in told]),
        shown,
        tables.word(f"{bound} of {len(told)}" if bound else "no", "bad" if bound else "quiet"),
    )
