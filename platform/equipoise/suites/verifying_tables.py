"""Whether the tables beside a run say what its result says, to the last digit."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from equipoise.execution.ledgers import LEDGER_FILE, ROUNDS_FILE, ledger_tables
from equipoise.suites.verifying_findings import Findings
from equipoise.suites.verifying_records import Job
from equipoise.suites.verifying_scene import Scene
from equipoise_budget import as_csv

__all__ = ["COST_FILE", "check_cost", "check_tables", "differences"]

COST_FILE = "cost.json"

_NAMED = 5
_NOT_FINITE = frozenset({"nan", "inf", "-inf"})
"""What a table may hold where a result, being JSON, holds nothing."""


def check_tables(scene: Scene, job: Job) -> None:
    """Make the tables of a cell again from its result, and hold the files to them."""
    assert job.result is not None
    expected = ledger_tables(job.result)
    for name in (LEDGER_FILE, ROUNDS_FILE):
        if name in expected:
            _check_table(scene, job, name, as_csv(expected[name]))
        elif name in job.stored.artifacts:
            scene.findings.fault(job.key, name, "none: nothing was received", "one")


def _check_table(scene: Scene, job: Job, name: str, expected: str) -> None:
    findings = scene.findings
    if name not in job.stored.artifacts and not (job.folder / name).exists():
        findings.fault(job.key, name, "the table of what was received", "none")
        return
    told = name in scene.damaged.get(job.key, ())
    text = findings.read(job.key, job.folder / name, _text, told=told)
    if text is not None:
        findings.compared["tables"] += 1
        _tell(job.key, name, differences(expected, text), findings)


def _tell(key: str, name: str, found: Sequence[tuple[str, str, str]], findings: Findings) -> None:
    for place, expected, stored in found[:_NAMED]:
        findings.fault(key, f"{name}, {place}", expected, stored)
    if len(found) > _NAMED:
        findings.fault(
            key, name, "the result's numbers", f"{len(found) - _NAMED} further ones that are others"
        )


def differences(expected: str, found: str) -> list[tuple[str, str, str]]:
    """Where two tables of CSV differ: place, expected, found. The first column names a row."""
    rows, others = (list(csv.reader(io.StringIO(text))) for text in (expected, found))
    if expected == found or not rows:
        return []
    head, theirs = rows[0], others[0] if others else []
    if head != theirs:
        return [("columns", ", ".join(head), ", ".join(theirs))]
    return list(_cells(head, rows[1:], others[1:]))


def _cells(
    head: Sequence[str], rows: Sequence[Sequence[str]], others: Sequence[Sequence[str]]
) -> Iterator[tuple[str, str, str]]:
    for number, (row, other) in enumerate(zip_longest(rows, others), start=1):
        if row is None or other is None:
            yield f"row {number}", ", ".join(row or ["none"]), ", ".join(other or ["none"])
            continue
        for column, value, stored in zip_longest(head, row, other, fillvalue=""):
            if value != stored and not (value == "" and stored in _NOT_FINITE):
                yield f"row {number}, {column}", value or "nothing", stored or "nothing"


def check_cost(scene: Scene, job: Job) -> None:
    """Hold what a condition's credit cost, as a file tells the cells that share it out, to the result."""
    assert job.result is not None
    findings = scene.findings
    if COST_FILE not in job.stored.artifacts and not (job.folder / COST_FILE).exists():
        findings.skip(f"runs of an earlier version left no {COST_FILE}", job.key)
        return
    told = COST_FILE in scene.damaged.get(job.key, ())
    found = findings.read(job.key, job.folder / COST_FILE, _object, told=told)
    if found is None:
        return
    expected: Mapping[str, Any] = job.result["cost"]
    findings.compared["tables"] += 1
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            findings.fault(job.key, f"{COST_FILE}, {name}", expected.get(name), found.get(name))


def _text(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:
        return file.read()


def _object(path: Path) -> dict[str, Any]:
    content = json.loads(_text(path))
    if not isinstance(content, dict):
        message = f"expected an object of JSON, got {type(content).__name__}"
        raise ValueError(message)  # noqa: TRY004 - told as what cannot be read
    return content
