"""Round by round: what every cell collected, was given credit for and trained on each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from equipoise_reports import numbers, tables
from equipoise_reports.received import RoundRecord
from equipoise_reports.sections.dose import mean
from equipoise_reports.study import RunRecord, Study
from equipoise_reports.tables import Cell, Column, Row, Table

_COLUMNS = (
    Column("Condition", numeric=False),
    Column("Arm", numeric=False),
    Column("Round"),
    Column("Runs", "runs that began the round: a run ends where its budget cannot be filled"),
    Column("Slots", "examples presented to the optimizer, counted, smallest to largest over runs"),
    Column("Steps", "optimizer steps, counted, smallest to largest over runs"),
    Column("Different examples", "distinct examples among the slots"),
    Column("With credit", "turns to which the rule gave a credit, smallest to largest over runs"),
    Column("Without credit", "turns whose credit is undefined, smallest to largest over runs"),
    Column("Empty", "runs in which the rule left no example in this round"),
)
_SUCCESS = Column(
    "Success when collected",
    "share of the round's own trajectories that succeeded, mean over runs: the policy as the round began",
)


@dataclass(frozen=True)
class Rounds:
    """What the section shows: how rounds bear on the contrasts, the empty ones, and the table."""

    statement: str
    empty: str
    table: Table


def view(study: Study) -> Rounds | None:
    """Show every round of every cell; None where there is one round only."""
    if study.design.rounds < 2 or not any(run.rounds for run in study.runs):
        return None
    rows: list[Row] = []
    for card in study.conditions:
        for arm in study.design.arms:
            rows += _rows(study, card.id, arm)
    columns = (*_COLUMNS, _SUCCESS) if study.shows_outcomes else _COLUMNS
    caption = "Each round of each cell: smallest … largest over its runs, one number where they agree."
    if not study.shows_outcomes:
        caption += " Success is hidden until every block is complete."
    return Rounds(
        note(study), _empty(study), Table("rounds-table", caption, columns, tuple(rows), sortable=True)
    )


def note(study: Study) -> str:
    """What several rounds change in the meaning of the contrasts; empty for one round."""
    rounds = study.design.rounds
    if rounds < 2:
        return ""
    return (
        f"There were {rounds} rounds of collection. In the first, all runs of a block train on the same trajectories; "
        "from the second on, each collects with its own policy, so a rule and its twin see different trajectories. "
        "Contrasts compare whole courses of training: CONTENT holds the place of the credit and all that followed "
        "from it, better or worse trajectories included."
    )


def _rows(study: Study, condition: str, arm: str) -> list[Row]:
    runs = study.of(condition, arm)
    found = []
    for number in range(1, study.design.rounds + 1):
        begun = [told for run in runs for told in run.rounds if told.number == number]
        if begun:
            cells = _cells(begun, shown=study.shows_outcomes)
            head = (tables.word(arm), tables.count(number), tables.count(len(begun)))
            found.append(Row(Cell(condition), (*head, *cells), first_of_group=number == 1))
    return found


def _cells(begun: Sequence[RoundRecord], *, shown: bool) -> tuple[Cell, ...]:
    empty = sum(told.empty for told in begun)
    undefined = [float(told.undefined) for told in begun if told.undefined is not None]
    cells = [
        tables.span([float(told.slots) for told in begun]),
        tables.span([float(told.steps) for told in begun]),
        tables.span([float(told.unique_examples) for told in begun]),
        tables.span([float(told.examples) for told in begun]),
        tables.span(undefined) if undefined else Cell(numbers.MISSING),
        Cell(str(empty), sort=empty, mark="bad" if empty else ""),
    ]
    if shown:
        successes = [told.success for told in begun if told.success is not None]
        cells.append(tables.rate(mean(successes)) if successes else Cell(numbers.MISSING))
    return tuple(cells)


def _empty(study: Study) -> str:
    empty = [(run, told) for run in study.runs for told in run.rounds if told.empty]
    ended = [run for run in study.runs if run.rounds and _ended_early(run, study)]
    if not empty and not ended:
        return "No round was empty: the rules left examples in every round of every run."
    said = f"{numbers.plural(len(empty), 'round')} without any example: a native run trains nothing there and goes on."
    if ended:
        said += (
            f" {numbers.plural(len(ended), 'run')} ended before the last round, with what was still owed of the budget "
            "as a breach, or as diverged."
        )
    return said


def _ended_early(run: RunRecord, study: Study) -> bool:
    last = run.rounds[-1]
    return last.number < study.design.rounds or (run.arm != "native" and not last.planned)
