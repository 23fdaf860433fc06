"""The ledger as a table: what a plan allocates to every optimizer step beside what the step really received."""

import csv
import io
from collections.abc import Mapping, Sequence
from itertools import pairwise, zip_longest

import numpy as np
from numpy.typing import ArrayLike

from equipoise_budget.dose import kish
from equipoise_budget.ledger import COLUMNS
from equipoise_budget.plan import Plan

__all__ = ["ALLOCATED", "Table", "allocated_steps", "as_csv", "side_by_side"]

Table = Mapping[str, Sequence[float | None]]

ALLOCATED = ("slots", "tokens", "unique_examples", "weight_abs", "weight_sq", "ess")
"""What is known of a step before it is taken; the names are those of `StepRow`."""


def allocated_steps(plan: Plan, tokens: ArrayLike) -> dict[str, list[float]]:
    """Return what a plan allocates to each optimizer step, one list a column of `ALLOCATED`.

    Args:
        plan: the slots in order.
        tokens: (T,) tokens in the loss of each turn of the batch; read where slots have one weight each.
    """
    if plan.token_weight.size:
        in_loss = np.add.reduceat(~np.isnan(plan.token_weight), plan.token_offsets[:-1], dtype=np.int64)
    else:
        in_loss = np.asarray(tokens, dtype=np.int64)[plan.example]
    # The tokens of empty slots pass through the model, and are in no loss.
    in_loss = np.where(plan.padding, 0, in_loss)
    begins = np.searchsorted(plan.step, np.arange(plan.steps + 1))
    table: dict[str, list[float]] = {name: [] for name in ALLOCATED}
    for begin, end in pairwise(begins.tolist()):
        weight = np.abs(plan.weight[begin:end])
        shown = plan.example[begin:end][~plan.padding[begin:end]]
        row = (
            end - begin,
            int(in_loss[begin:end].sum()),
            int(np.unique(shown).size),
            float(weight.sum()),
            float((weight * weight).sum()),
            kish(weight),
        )
        for name, value in zip(ALLOCATED, row, strict=True):
            table[name].append(value)
    return table


def side_by_side(allocated: Table, realised: Table) -> dict[str, list[float | None]]:
    """Return one table of both: a column `allocated_x` before each counted `x` that a plan knows beforehand.

    Steps are numbered from 1. A step that was planned and not taken has no counts (None), and the other way
    round.
    """
    steps = max((len(column) for column in (*allocated.values(), *realised.values())), default=0)
    table: dict[str, list[float | None]] = {"step": list(range(1, steps + 1))}
    for name in COLUMNS:
        if name in ALLOCATED:
            table[f"allocated_{name}"] = _filled(allocated.get(name, ()), steps)
        table[name] = _filled(realised.get(name, ()), steps)
    return table


def as_csv(table: Mapping[str, Sequence[object]]) -> str:
    """Return a table as CSV with a header; what is undefined is an empty field, never 0."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip_longest(*table.values()))
    return buffer.getvalue()


def _filled(column: Sequence[float | None], length: int) -> list[float | None]:
    return [*column, *[None] * (length - len(column))]
