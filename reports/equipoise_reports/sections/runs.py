"""The raw runs: a figure by block and one row for every run, with its digests and where to look at it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from equipoise_reports import tables
from equipoise_reports.figures import blocks
from equipoise_reports.figures.svg import Drawing
from equipoise_reports.sections.dose import mean
from equipoise_reports.study import RunRecord, Study
from equipoise_reports.tables import Cell, Column, Row, Table


@dataclass(frozen=True)
class Runs:
    """What the section shows; the figure is missing while outcomes are hidden."""

    figure: Drawing | None
    table: Table


def view(study: Study) -> Runs:
    """Show every run; while outcomes are hidden, without its success."""
    return Runs(_figure(study) if study.shows_outcomes else None, _table(study))


def anchor(run: RunRecord) -> str:
    """The id under which the page links to a run."""
    return "run-" + re.sub(r"[^A-Za-z0-9]+", "-", run.key).strip("-")


def _figure(study: Study) -> Drawing:
    points = [blocks.Point(run.condition, run.arm, run.block, run.primary) for run in study.runs]
    names = [card.id for card in study.conditions if any(run.condition == card.id for run in study.runs)]
    base = mean([score.primary for score in study.base.values()]) if study.base else None
    caption = (
        f"Success on the {study.design.primary} tasks, one column a block; a line ties the runs of one "
        "block, which share policy, tasks, trajectories and random streams. "
        "The dotted line is the untrained policy."
    )
    return blocks.draw(points, names, base, caption)


def _table(study: Study) -> Table:
    shown = study.shows_outcomes
    linked = any(run.mlflow_url for run in study.runs)
    columns = [Column("Run", numeric=False), Column("Condition", numeric=False), Column("Arm", numeric=False)]
    columns += [Column("Twin"), Column("Block")]
    if shown:
        columns.append(Column(study.design.primary.replace("_", "-"), "success on the primary split"))
        if study.design.held_out:
            columns.append(Column("held-out", "success on tasks never trained on"))
    columns += [
        Column("Slots"),
        Column("Steps"),
        Column("Ended", numeric=False),
        Column("Budget", numeric=False),
    ]
    columns += [Column("Plan", numeric=False), Column("Weights", numeric=False), Column("Seconds")]
    if linked:
        columns.append(Column("MLflow", numeric=False))
    order = {card.id: place for place, card in enumerate(study.conditions)}
    arms = {arm: place for place, arm in enumerate(("native", "matched", "twin"))}
    runs = sorted(study.runs, key=lambda run: (run.block, order[run.condition], arms[run.arm], run.twin))
    rows = tuple(Row(Cell(run.key), _cells(run, study, shown, linked), anchor=anchor(run)) for run in runs)
    caption = "Every run. Digests are shortened; the full digest is each cell's title and is in runs.csv."
    if not shown:
        caption += " Success is hidden until every block is complete."
    return Table("runs-table", caption, tuple(columns), rows, sortable=True)


def _cells(run: RunRecord, study: Study, shown: bool, linked: bool) -> tuple[Cell, ...]:
    cells = [tables.word(run.condition), tables.word(run.arm)]
    cells += [tables.count(run.twin) if run.arm == "twin" else Cell("", sort=-1.0), tables.count(run.block)]
    if shown:
        cells.append(tables.rate(run.primary))
        if study.design.held_out:
            cells.append(tables.rate(run.held_out))
    cells += [tables.count(run.dose.slots), tables.count(run.dose.optimizer_steps)]
    cells.append(tables.word(run.end, "" if run.end == "ok" else "bad"))
    held = (
        tables.word("held", "good")
        if not run.breaches
        else tables.word("breach", "bad", "; ".join(run.breaches))
    )
    cells += [held, tables.digest(run.plan_digest), tables.digest(run.weights_digest)]
    cells.append(tables.number(run.seconds, 1))
    if linked:
        cells.append(Cell("open", href=run.mlflow_url, title=run.mlflow_url) if run.mlflow_url else Cell("–"))
    return tuple(cells)
