"""The ledger of a suite as one table: a line a run, what it was allocated, what it received, what it cost."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Final

from equipoise.store import JobRecord, LedgerRecord
from equipoise_budget import Cost, as_csv

__all__ = ["LEDGER_FILE", "ledger_csv", "ledger_table"]

LEDGER_FILE: Final = "ledger.csv"
_COST = tuple(field.name for field in fields(Cost) if field.name != "seconds")
_RUN = ("condition", "arm", "twin", "block")
_WHOLE = "whole_"


def ledger_table(ledgers: Sequence[LedgerRecord], jobs: Iterable[JobRecord]) -> dict[str, list[object]]:
    """Return one row a cell that has ended, by key; none of its columns tells an outcome.

    Costs stand twice: those of the run's own training, and under `whole_` together with those of the collection and
    of the credit that it trained on, which several runs may share.

    Args:
        ledgers: of the suite's finished jobs.
        jobs: all of the suite.
    """
    known = {job.key: job for job in jobs}
    own = {ledger.key: ledger.values for ledger in ledgers}
    cells = sorted((ledger for ledger in ledgers if ledger.kind == "cell"), key=lambda ledger: ledger.key)
    table: dict[str, list[object]] = {"run": [cell.key for cell in cells]}
    for name in _RUN:
        table[name] = [known[cell.key].payload.get("cell", {}).get(name) for cell in cells]
    for name in cells[0].values if cells else ():
        table[name] = [cell.values[name] for cell in cells]
    for name in _COST:
        table[_WHOLE + name] = [_sum(name, _all_needs(cell.key, known), own) for cell in cells]
    return table


def ledger_csv(ledgers: Sequence[LedgerRecord], jobs: Iterable[JobRecord]) -> bytes:
    """Return the table as CSV; what is undefined is an empty field."""
    return as_csv(ledger_table(ledgers, jobs)).encode()


def _all_needs(key: str, jobs: Mapping[str, JobRecord]) -> set[str]:
    """A job and everything whose files it read, or whose files those read."""
    found, open_ = {key}, [key]
    while open_:
        for need in jobs[open_.pop()].needs:
            if need not in found:
                found.add(need)
                open_.append(need)
    return found


def _sum(name: str, keys: Iterable[str], own: Mapping[str, Mapping[str, float | None]]) -> float | None:
    told = [value for key in sorted(keys) if key in own and (value := own[key][name]) is not None]
    return sum(told) if told else None
