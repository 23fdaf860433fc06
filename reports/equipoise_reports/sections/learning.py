"""Whether anything was learned: the untrained policy beside every arm, on both splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from equipoise_reports import numbers, tables
from equipoise_reports.sections.dose import mean
from equipoise_reports.study import RunRecord, Study
from equipoise_reports.tables import Cell, Column, Row, Table


@dataclass(frozen=True)
class Learning:
    """What the section shows: the sentence about the baseline, and the table of means."""

    statement: str
    table: Table


def view(study: Study) -> Learning | None:
    """Compare with the untrained policy; None while outcomes are hidden or no base policy was scored."""
    if not study.shows_outcomes or not study.base:
        return None
    return Learning(_statement(study), _table(study))


def _statement(study: Study) -> str:
    baseline = study.baseline.id
    matched = study.of(baseline, "matched")
    pairs = [(run.primary, study.base[run.block].primary) for run in matched if run.block in study.base]
    if not pairs:
        return f"The baseline {baseline} has no matched run in a block whose untrained policy was scored."
    gain = mean([after - before for after, before in pairs])
    above = sum(after > before for after, before in pairs)
    before, after = mean([pair[1] for pair in pairs]), mean([pair[0] for pair in pairs])
    start = f"On the {study.design.primary} tasks the matched baseline {baseline} went from "
    change = f"{numbers.percent(before)} to {numbers.percent(after)} ({numbers.points(gain)} points"
    bounds = _bounds(study)
    seen = (
        f", {100 * (1 - study.design.alpha):g} % interval {numbers.interval(bounds)}), " if bounds else "), "
    )
    where = f"above the untrained policy in {above} of {numbers.plural(len(pairs), 'block')}."
    return start + change + seen + where + _doubt(gain, bounds)


def _bounds(study: Study) -> tuple[float, float] | None:
    """The paired interval of the gain, where the analysis has one."""
    figures = study.analysis.learning.figures if study.analysis else None
    return figures.ci if figures else None


def _doubt(gain: float, bounds: tuple[float, float] | None) -> str:
    if gain <= 0:
        return " The budget taught the baseline nothing, so differences between rules mean little here."
    if bounds and bounds[0] <= 0:
        return " The interval includes zero: these blocks do not show that the baseline learned."
    return ""


def _table(study: Study) -> Table:
    arms = study.design.arms
    splits = [(study.design.primary, "primary")]
    if study.design.held_out:
        splits.append((study.design.held_out, "held_out"))
    columns = [Column("Condition", numeric=False)]
    for name, _ in splits:
        columns += [Column(f"{name.replace('_', '-')}: {arm}") for arm in arms]
    base = [cell for _, field in splits for cell in _base(study, field, len(arms))]
    rows = [Row(Cell("untrained policy"), tuple(base))]
    for card in study.conditions:
        cells = [_mean(study.of(card.id, arm), field) for _, field in splits for arm in arms]
        rows.append(Row(Cell(card.id), tuple(cells)))
    caption = (
        "Mean success over blocks, in per cent. The untrained policy has no arm; its score stands first."
    )
    return Table("learning-table", caption, tuple(columns), tuple(rows))


def _base(study: Study, field: str, arms: int) -> list[Cell]:
    values = [getattr(score, field) for score in study.base.values()]
    known = [value for value in values if value is not None]
    first = tables.rate(mean(known)) if known else Cell(numbers.MISSING)
    return [first, *[Cell("")] * (arms - 1)]


def _mean(runs: Sequence[RunRecord], field: str) -> Cell:
    values = [getattr(run, field) for run in runs]
    known = [value for value in values if value is not None]
    return tables.rate(mean(known)) if known else Cell(numbers.MISSING)
