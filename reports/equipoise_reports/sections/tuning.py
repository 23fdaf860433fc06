"""The search for hyper-parameters: that every condition got the same, what it found, and with how few trials."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise_reports import numbers, tables
from equipoise_reports.figures import curves
from equipoise_reports.figures.svg import Drawing
from equipoise_reports.study import Study
from equipoise_reports.tables import Cell, Column, Row, Table
from equipoise_reports.tuning import Search, Tuning


@dataclass(frozen=True)
class Tuned:
    """What the section shows: sentences, the curves side by side, the choices, and the space."""

    statement: str
    reading: str
    breaches: tuple[str, ...]
    figure: Drawing
    choices: Table
    space: Table


def view(study: Study) -> Tuned | None:
    """Show the searches; None for a study without any."""
    tuning = study.tuning
    if tuning is None or not tuning.searches:
        return None
    return Tuned(
        _statement(tuning),
        _reading(tuning),
        tuple(f"{search.condition}: {fault}" for search in tuning.searches for fault in search.breaches),
        curves.draw(tuning.searches, _caption(study, tuning)),
        _choices(tuning),
        _space(tuning),
    )


def _statement(tuning: Tuning) -> str:
    trials, blocks = len(tuning.searches[0].trials), numbers.plural(tuning.blocks, "block")
    counted = {search.counted for search in tuning.searches}
    steps = (
        f"and the ledgers of its trials count {numbers.count(tuning.searches[0].granted)} optimizer steps"
        if counted == {tuning.searches[0].granted}
        else f"which grants {numbers.count(tuning.searches[0].granted)} optimizer steps; what was counted is below"
    )
    return (
        f"Every condition was tried at {numbers.plural(trials, 'point')} of the same space ({tuning.sampler}), each "
        f"in {blocks} that the comparison does not use, {steps}."
    )


def _reading(tuning: Tuning) -> str:
    diverged = sum(trial.diverged for search in tuning.searches for trial in search.trials)
    lost = (
        f" {numbers.plural(diverged, 'trial run')} diverged; that is a result of the point, and was not repeated."
        if diverged
        else ""
    )
    hopeless = [s.condition for s in tuning.searches if all(t.diverged >= tuning.blocks for t in s.trials)]
    if hopeless:
        lost += (
            f" Every trial run of {', '.join(hopeless)} diverged: no point of the space trains there, and what was "
            "chosen says nothing; register a search of another space."
        )
    return (
        "The success of a chosen point is the best of several noisy ones and therefore flatters it: it is no "
        f"evidence about the rule, and none of it enters the comparison.{lost}"
    )


def _caption(study: Study, tuning: Tuning) -> str:
    what = "best success after n trials" if tuning.adaptive else "expected best success after n trials"
    order = (
        "in the order in which they were made" if tuning.adaptive else "over all orders of the trials made"
    )
    return (
        f"The {what}, {order}, on the {study.design.primary} tasks of the tuning blocks; the other conditions "
        "in grey. A curve still rising at its end says that more trials might have found more."
    )


def _choices(tuning: Tuning) -> Table:
    names = [dimension.name for dimension in tuning.space]
    columns = [
        Column("Condition", numeric=False),
        *(Column(name) for name in names),
        Column("Trial", "number of the chosen point, from 0"),
        Column("Success", "mean over the tuning blocks"),
        Column("Steps", "optimizer steps counted in the ledgers of all trials"),
        Column("Diverged", "trial runs that diverged"),
        Column("Search", numeric=False),
    ]
    rows = tuple(Row(Cell(search.condition), _cells(search, names)) for search in tuning.searches)
    caption = "The values that each condition's runs use, and what finding them took."
    return Table("tuning-table", caption, tuple(columns), rows, sortable=True)


def _cells(search: Search, names: list[str]) -> tuple[Cell, ...]:
    best = search.best
    held = (
        tables.word("equal", "good")
        if not search.breaches
        else tables.word("breach", "bad", "; ".join(search.breaches))
    )
    return (
        *(_value(best.values.get(name)) if name in best.values else Cell(numbers.MISSING) for name in names),
        tables.count(best.number),
        tables.rate(best.success),
        tables.count(search.counted),
        tables.count(sum(trial.diverged for trial in search.trials)),
        held,
    )


def _value(value: object) -> Cell:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return Cell("null" if value is None else str(value), sort=value if number else None)  # type: ignore[arg-type]


def _space(tuning: Tuning) -> Table:
    columns = (
        Column("Dimension", numeric=False),
        Column("Searched over", numeric=False),
        Column("Conditions that have it", numeric=False),
    )
    rows = tuple(
        Row(Cell(item.name), (tables.word(item.range), tables.word(", ".join(item.conditions))))
        for item in tuning.space
    )
    return Table(
        "tuning-space", "The space, the same for every condition that has a dimension.", columns, rows
    )
