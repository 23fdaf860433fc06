"""The native dose: how much training each rule's own examples would have bought it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from equipoise_reports import numbers, tables
from equipoise_reports.study import Study
from equipoise_reports.tables import Cell, Column, Row, Table

_COLUMNS = (
    Column("Condition", numeric=False),
    Column("Examples left", "examples the rule leaves of a block's turns, mean over blocks"),
    Column("Smallest … largest"),
    Column("Native steps", "optimizer steps of the native arm, mean over blocks"),
    Column("Times the sparsest", "native examples divided by those of the sparsest rule"),
    Column("Times the budget", "native examples divided by the registered budget"),
)


@dataclass(frozen=True)
class Doses:
    """What the section shows: the sentence with the ratio, and the table."""

    statement: str
    table: Table


def mean(values: Sequence[float]) -> float:
    """The mean of at least one number."""
    return math.fsum(values) / len(values)


def view(study: Study) -> Doses | None:
    """Compare what the rules leave; None when the design has no native runs yet."""
    native = {card.id: study.of(card.id, "native") for card in study.conditions}
    ended = {name: runs for name, runs in native.items() if runs}
    if not ended:
        return None
    left = {name: mean([float(run.examples) for run in runs]) for name, runs in ended.items()}
    steps = {name: mean([float(run.dose.optimizer_steps) for run in runs]) for name, runs in ended.items()}
    sparsest = min(left, key=lambda name: left[name])
    densest = max(left, key=lambda name: left[name])
    rows = []
    for name, runs in ended.items():
        ratio = left[name] / left[sparsest] if left[sparsest] else None
        cells = (
            tables.number(left[name], 1),
            tables.span([float(run.examples) for run in runs]),
            tables.number(steps[name], 1),
            Cell("–" if ratio is None else f"{numbers.decimal(ratio, 2)}×", sort=ratio),
            Cell(f"{numbers.decimal(left[name] / study.design.examples, 2)}×", sort=left[name]),
        )
        rows.append(Row(Cell(name), cells))
    caption = "What each rule leaves to train on when nothing is matched (native arm), mean over blocks."
    table = Table("dose-table", caption, _COLUMNS, tuple(rows), sortable=True)
    return Doses(_statement(left, steps, sparsest, densest), table)


def _statement(left: dict[str, float], steps: dict[str, float], sparsest: str, densest: str) -> str:
    if left[densest] == left[sparsest]:
        return (
            "Every rule leaves the same number of examples, so the native arms trained for the same number "
            "of steps."
        )
    most, least = numbers.count(round(left[densest])), numbers.count(round(left[sparsest]))
    if not left[sparsest]:
        return f"{sparsest} leaves no example at all; {densest} leaves {most} a block."
    ratio = numbers.decimal(left[densest] / left[sparsest], 1)
    more, fewer = numbers.count(round(steps[densest])), numbers.count(round(steps[sparsest]))
    return (
        f"Left to itself, {densest} trains on {ratio} times the examples of {sparsest} "
        f"({most} against {least} a block; {more} against {fewer} optimizer steps). "
        "A native comparison credits the rule with that difference in training."
    )
