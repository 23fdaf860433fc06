"""The price of a credit: what each condition generated, scored and trained, beside what it was given."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise_reports import numbers, tables
from equipoise_reports.sections.dose import mean
from equipoise_reports.study import RunRecord, Study
from equipoise_reports.tables import Cell, Column, Row, Table

_COLUMNS = (
    Column("Condition", numeric=False),
    Column("Rollout tokens", "tokens sampled to collect what the credit is computed from"),
    Column("Environment steps"),
    Column("Resets", "environment resets"),
    Column("Scoring tokens", "tokens scored to compute the credit"),
    Column("Critic tokens", "tokens at which a critic was fitted, once for each fit"),
    Column("Judge calls", "questions put to a judge"),
    Column("Judge tokens", "tokens the judge reads to answer them"),
    Column("Training tokens", "tokens of the forward passes while training, matched arm"),
    Column("FLOPs", "floating-point operations, matched arm"),
    Column("Time", "measured time of a matched run"),
)


def view(study: Study) -> Table:
    """One row a condition: means over the blocks of its matched runs (its native runs where it has none)."""
    rows = []
    for card in study.conditions:
        runs = study.of(card.id, "matched") or study.of(card.id, "native")
        if runs:
            rows.append(_row(card.id, runs))
    caption = (
        "Cost of one matched run, mean over blocks. Matching equalises training, not generation: "
        "a rule that replays or forks pays here. Where generation is limited, what prompts cost that were left out is "
        "in these sums too: it was spent."
    )
    return Table("cost-table", caption, _COLUMNS, tuple(rows), sortable=True)


def _row(condition: str, runs: Sequence[RunRecord]) -> Row:
    def average(values: Sequence[float]) -> Cell:
        return tables.count(round(mean(values), 1))

    costs = [run.cost for run in runs]
    flops = mean([float(cost.flops) for cost in costs])
    seconds = mean([run.seconds for run in runs])
    cells = (
        average([float(cost.rollout_tokens) for cost in costs]),
        average([float(cost.environment_steps) for cost in costs]),
        average([float(cost.environment_resets) for cost in costs]),
        average([float(cost.scoring_tokens) for cost in costs]),
        average([float(cost.critic_tokens) for cost in costs]),
        average([float(cost.judge_calls) for cost in costs]),
        average([float(cost.judge_tokens) for cost in costs]),
        average([float(cost.forward_tokens_train) for cost in costs]),
        Cell(numbers.scientific(flops), sort=flops),
        Cell(numbers.duration(seconds), sort=seconds),
    )
    return Row(Cell(condition), cells)
