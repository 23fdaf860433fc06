"""The proof of the budget: what every rule and arm was to receive, and what was counted while it trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from equipoise_reports import numbers, tables
from equipoise_reports.study import RunRecord, Study
from equipoise_reports.tables import Cell, Column, Row, Table

_COLUMNS = (
    Column("Condition", numeric=False),
    Column("Arm", numeric=False),
    Column("Runs"),
    Column("Slots", "examples presented to the optimizer, counted, smallest to largest over blocks"),
    Column("Steps", "optimizer steps, counted, smallest to largest over blocks"),
    Column(
        "As registered", "whether every run received exactly the registered slots and steps", numeric=False
    ),
    Column("Tokens in loss", "action tokens that entered the loss"),
    Column("Different examples", "distinct examples among the slots"),
    Column("Shown at most", "how often the most repeated example was shown"),
    Column("Σ|w|", "sum of absolute weights: the credit mass the optimizer received"),
    Column("ESS of slots", "Kish effective sample size of the weights, (Σ|w|)² / Σw²"),
    Column(
        "ESS of trajectories",
        "the same with each trajectory's weights summed: the independent unit; from the plan",
    ),
)


@dataclass(frozen=True)
class Budget:
    """What the section shows.

    Attributes:
        statement: the check in one sentence, for the first screen as well.
        held: whether every matched and twin run received exactly its budget.
        breaches: one sentence a breach, the run named.
        table: registered against counted.
    """

    statement: str
    held: bool
    breaches: tuple[str, ...]
    table: Table


def view(study: Study) -> Budget:
    """Hold the counts of every matched and twin run against the registered numbers."""
    bound = [run for run in study.runs if run.arm != "native"]
    breaches = tuple(f"{run.key}: {breach}" for run in study.runs for breach in _breaches(run, study))
    broken = {run.key for run in study.runs if _breaches(run, study)}
    return Budget(_statement(study, bound, broken), not broken, breaches, _table(study))


def exact(run: RunRecord, study: Study) -> bool:
    """Whether a matched or twin run received exactly the registered slots and optimizer steps."""
    return (run.dose.slots, run.dose.optimizer_steps) == (study.design.examples, study.design.optimizer_steps)


def _breaches(run: RunRecord, study: Study) -> tuple[str, ...]:
    if run.breaches or run.arm == "native" or exact(run, study) or run.end != "ok":
        return run.breaches
    design = study.design
    return (
        (
            f"expected {design.examples} slots in {design.optimizer_steps} steps, "
            f"counted {run.dose.slots} in {run.dose.optimizer_steps}"
        ),
    )


def _statement(study: Study, bound: Sequence[RunRecord], broken: set[str]) -> str:
    design = study.design
    size = f"{design.examples:,} examples in {design.optimizer_steps:,} optimizer steps of {design.batch:,}"
    if not bound:
        return f"The registered budget is {size}; no matched or twin run has ended yet."
    short = [run for run in bound if run.end != "ok" and not exact(run, study) and run.key not in broken]
    if not broken and short:
        return (
            f"The budget held but for divergence: registered {size}; {len(bound) - len(short):,} of "
            f"{len(bound):,} matched "
            f"and twin runs received exactly that, {numbers.plural(len(short), 'run')} diverged and stopped "
            "early."
        )
    if not broken:
        what = (
            "the one matched or twin run" if len(bound) == 1 else f"all {len(bound):,} matched and twin runs"
        )
        return (
            f"The budget held: registered {size}, and {what} received exactly that, counted while training."
        )
    verb = "breaches its plan" if len(broken) == 1 else "breach their plans"
    return (
        f"The budget did not hold: registered {size}; {numbers.plural(len(broken), 'run')} of "
        f"{len(study.runs):,} "
        f"{verb}, and the contrasts that need them are barred from the verdicts."
    )


def _table(study: Study) -> Table:
    rows = [
        _row(study, card.id, arm, study.of(card.id, arm))
        for card in study.conditions
        for arm in ("matched", "twin")
        if study.of(card.id, arm)
    ]
    design = study.design
    caption = (
        f"Registered for every row: {design.examples:,} slots, {design.optimizer_steps:,} steps. "
        f"Counted: smallest … largest over blocks, one number where they agree."
    )
    return Table("budget-table", caption, _COLUMNS, tuple(rows), sortable=True)


def _row(study: Study, condition: str, arm: str, runs: Sequence[RunRecord]) -> Row:
    doses = [run.dose for run in runs]
    off = sum(not exact(run, study) for run in runs)
    verdict = tables.word("equal", "good") if not off else tables.word(f"{off} of {len(runs)} differ", "bad")
    shown = [float(max(dose.repetition, default=0)) for dose in doses]
    cells: tuple[Cell, ...] = (
        tables.word(arm),
        tables.count(len(runs)),
        tables.span([float(dose.slots) for dose in doses]),
        tables.span([float(dose.optimizer_steps) for dose in doses]),
        verdict,
        tables.span([float(dose.tokens_in_loss) for dose in doses]),
        tables.span([float(dose.unique_examples) for dose in doses]),
        tables.span(shown),
        tables.span([dose.weight_abs for dose in doses], 1),
        tables.span([dose.ess for dose in doses], 0),
        tables.span([run.planned.ess_trajectories for run in runs], 0),
    )
    return Row(Cell(condition), cells)
