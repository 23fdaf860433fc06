"""What the suite could have seen, as planned and as run, and what would settle the rest."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise_reports import numbers, tables
from equipoise_reports.sections import verdicts
from equipoise_reports.study import Study
from equipoise_reports.tables import Cell, Column, Row, Table
from equipoise_stats import Detectable


@dataclass(frozen=True)
class Power:
    """What the section shows: planned and attained in sentences, and the undecided contrasts."""

    planned: str
    attained: str
    table: Table | None


def view(study: Study) -> Power | None:
    """Compare plan and attainment; None while planned runs are missing."""
    analysis = study.analysis
    if study.interim or analysis is None:
        return None
    return Power(_planned(study), _attained(analysis.mde), _open(study))


def _planned(study: Study) -> str:
    design = study.design
    if design.planned_mde is None:
        return (
            "The registration states no spread of runs; `equipoise plan` works out what the design would see "
            "under a given one."
        )
    spread = (
        f" for runs that spread by {numbers.decimal(100 * design.planned_sd, 1)} points within a block"
        if design.planned_sd is not None
        else ""
    )
    return (
        f"The plan could detect a CONTENT of {numbers.decimal(100 * design.planned_mde, 1)} points{spread}."
    )


def _attained(mde: Detectable) -> str:
    if mde.content is None or mde.sd is None:
        return mde.sentence
    spread, content = numbers.decimal(100 * mde.sd, 1), numbers.decimal(100 * mde.content, 1)
    volume = f" and a VOLUME of {numbers.decimal(100 * mde.volume, 1)}" if mde.volume is not None else ""
    return (
        f"As run, with {numbers.plural(mde.blocks, 'block')} and runs that spread by {spread} points within "
        f"a block, a CONTENT of {content} points{volume} is detected with {100 * mde.power:.0f}\u00a0% power "
        f"among {numbers.plural(mde.family, 'rule')}."
    )


def _open(study: Study) -> Table | None:
    analysis = study.analysis
    if analysis is None:
        return None
    rows = [
        Row(
            Cell(item.kind.upper()),
            (
                tables.word(item.condition),
                verdicts.brief(item),
                Cell(
                    numbers.count(item.blocks_to_settle) if item.blocks_to_settle else "more than 100,000",
                    sort=item.blocks_to_settle or 1e9,
                ),
            ),
        )
        for item in analysis.contrasts
        if item.verdict == "inconclusive"
    ]
    if not rows:
        return None
    columns = (
        Column("Effect", numeric=False),
        Column("Condition", numeric=False),
        Column("Estimate and interval"),
        Column("Blocks that would settle it", "blocks that would detect the smallest effect"),
    )
    caption = (
        f"Undecided contrasts, and how many blocks would detect {100 * analysis.smallest_effect:g} points "
        f"({len(analysis.blocks)} were run)."
    )
    return Table("power-table", caption, columns, tuple(rows), sortable=True)
