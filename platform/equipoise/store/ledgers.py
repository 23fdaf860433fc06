"""From a result to the rows of its ledger, and back: allocated beside counted, in all and step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from equipoise.store.errors import BadResult
from equipoise.store.models import Base, Jobs, RunLedgers, RunSteps

__all__ = ["LedgerRecord", "LedgerRows", "StepsRecord", "columns_of", "ledger_rows", "ledgers", "steps"]

_PREFIX = "allocated_"


@dataclass(frozen=True)
class LedgerRows:
    """Rows of one result: none or one in all, and one an optimizer step."""

    run: list[dict[str, Any]] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class LedgerRecord:
    """The ledger of one finished job; `values` by column."""

    key: str
    kind: str
    values: Mapping[str, float | None]


@dataclass(frozen=True)
class StepsRecord:
    """One optimizer step of a run, numbered from 1 through all rounds; `values` by column, its round among them."""

    key: str
    step: int
    values: Mapping[str, float | None]


def ledger_rows(key: str, result: Mapping[str, Any]) -> LedgerRows:
    """Lay out `planned`, `dose` and `cost` of a result as a row, `allocated` and `steps` as rows.

    Of several rounds, `round_of_step` says which one each step belongs to.

    Raises:
        BadResult: a number is none, or a column of steps is no list.
    """
    planned, dose, cost = (_section(key, result, name) for name in ("planned", "dose", "cost"))
    given = {_PREFIX + name: value for name, value in planned.items()} | dict(dose) | dict(cost)
    run = [_row(key, RunLedgers, given)] if given else []
    allocated, counted = (_section(key, result, name) for name in ("allocated", "steps"))
    columns = {_PREFIX + name: column for name, column in allocated.items()} | dict(counted)
    if "round_of_step" in result:
        columns["round"] = result["round_of_step"]
    for name, column in columns.items():
        if not isinstance(column, list | tuple):
            message = f"job {key}: the steps' {name} must be a list, one number a step, came {type(column).__name__}"
            raise BadResult(message)
    taken = max(map(len, columns.values()), default=0)
    columns.setdefault("round", [1] * taken)
    rows = [
        {
            "step": step + 1,
            **_row(key, RunSteps, {name: _at(column, step) for name, column in columns.items()}),
        }
        for step in range(taken)
    ]
    return LedgerRows(run, rows)


def ledgers(connection: Connection, suite: str) -> list[LedgerRecord]:
    """The ledgers of a suite's finished jobs, in the order of the jobs."""
    names = columns_of(RunLedgers, "job")
    query = select(Jobs.key, Jobs.kind, *(getattr(RunLedgers, name) for name in names))
    rows = connection.execute(
        query.join(RunLedgers, RunLedgers.job == Jobs.id)
        .where(Jobs.suite == suite)
        .order_by(Jobs.position, Jobs.id)
    )
    return [LedgerRecord(row[0], row[1], dict(zip(names, row[2:], strict=True))) for row in rows]


def steps(connection: Connection, suite: str, key: str | None) -> list[StepsRecord]:
    """The optimizer steps of a suite's runs (or of one), by run in the order of the jobs, then by step."""
    names = columns_of(RunSteps, "job", "step")
    query = select(Jobs.key, RunSteps.step, *(getattr(RunSteps, name) for name in names))
    query = query.join(RunSteps, RunSteps.job == Jobs.id).where(Jobs.suite == suite)
    if key is not None:
        query = query.where(Jobs.key == key)
    rows = connection.execute(query.order_by(Jobs.position, Jobs.id, RunSteps.step))
    return [StepsRecord(row[0], row[1], dict(zip(names, row[2:], strict=True))) for row in rows]


def columns_of(table: type[Base], *without: str) -> list[str]:
    """The names of a table's columns, in their order."""
    return [column.name for column in table.__table__.columns if column.name not in without]


def _section(key: str, result: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = result.get(name, {})
    if not isinstance(found, Mapping):
        message = f"job {key}: result[{name!r}] must be a mapping, came {type(found).__name__}"
        raise BadResult(message)
    return found


def _row(key: str, table: type[Base], given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that the table has; all of them, so that rows of one insert are alike."""
    row = {name: given.get(name) for name in columns_of(table, "job", "step")}
    for name, value in row.items():
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            message = f"job {key}: the ledger's {name} must be a number or null, came {value!r}"
            raise BadResult(message)
    return row


def _at(column: Sequence[Any], place: int) -> Any:
    return column[place] if place < len(column) else None
