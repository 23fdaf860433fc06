"""A result enters the store once: with its outcomes, ledger, files, event and message to the tracking server."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from equipoise.store.errors import BadResult, NotReproduced
from equipoise.store.leases import Ending, end_attempt, log, require_current
from equipoise.store.ledgers import LedgerRows, ledger_rows
from equipoise.store.models import Artifacts, Jobs, Outcomes, RunLedgers, RunSteps
from equipoise.store.records import Artifact, Lease, Usage
from equipoise.store.statements import ADD_MESSAGE, FINISH

__all__ = ["RESULT_FILE", "Checked", "check", "finish", "reopen", "tell"]

# The file of the result itself: its timings differ when a job is run again, all other files must not.
RESULT_FILE = "result.json"


@dataclass(frozen=True)
class Checked:
    """A result that can be stored, and the rows of its outcomes and of its ledger."""

    result: dict[str, Any]
    outcomes: list[dict[str, Any]]
    ledger: LedgerRows


def check(lease: Lease, result: dict[str, Any]) -> Checked:
    """Look through a result before the database is asked to wait for it.

    Raises:
        BadResult: the outcomes are not counts, the ledger's numbers are none, or the result holds values that
            JSON does not know.
    """
    _require_finite(lease, result)
    return Checked(result, _outcomes(lease, result), ledger_rows(lease.key, result))


def finish(
    connection: Connection,
    lease: Lease,
    checked: Checked,
    artifacts: Mapping[str, Artifact],
    usage: Usage,
    now: float,
) -> None:
    """Commit a result, unless the lease is stale.

    Raises:
        StaleLease: the job went to another attempt.
        NotReproduced: the job had been finished before and its files came out different.
    """
    first = not require_current(connection, lease)
    if first:
        _insert(connection, lease, checked, artifacts)
        connection.execute(FINISH, {"b_job": lease.job_id, "b_result": checked.result})
    else:
        _confirm(connection, lease, artifacts)
        connection.execute(
            update(Jobs).where(Jobs.id == lease.job_id).values(state="done", lease_expires=None, message=None)
        )
    end_attempt(connection, lease.token, Ending("done", None, uses_up_a_try=False, usage=usage), now)
    data = {"token": lease.token, "first": first, "seconds": usage.seconds}
    log(connection, lease.suite, lease.key, "finished", data, now)
    if first:
        tell(connection, lease, "finished", {"seconds": usage.seconds, "maxrss": usage.maxrss}, now)


def tell(connection: Connection, lease: Lease, kind: str, payload: dict[str, Any], now: float) -> None:
    """Leave a message for the tracking server."""
    content = {"kind": lease.kind, **payload}
    values = {"suite": lease.suite, "key": lease.key, "kind": kind, "payload": content, "at": now}
    connection.execute(ADD_MESSAGE, values)


def reopen(connection: Connection, suite: str, key: str, why: str, now: float) -> None:
    """Queue a finished job again because a file of it is damaged; its first result stands."""
    connection.execute(
        update(Jobs)
        .where(Jobs.suite == suite, Jobs.key == key, Jobs.state == "done")
        .values(state="queued", tries=0)
    )
    log(connection, suite, key, "reopened", {"why": why}, now)


def _insert(
    connection: Connection,
    lease: Lease,
    checked: Checked,
    artifacts: Mapping[str, Artifact],
) -> None:
    tables = (
        (Outcomes, checked.outcomes),
        (RunLedgers, checked.ledger.run),
        (RunSteps, checked.ledger.steps),
    )
    for table, content in tables:
        if content:
            connection.execute(insert(table), [{"job": lease.job_id, **row} for row in content])
    if artifacts:
        rows = [
            {"job": lease.job_id, "name": name, "sha256": artifact.sha256, "bytes": artifact.bytes}
            for name, artifact in sorted(artifacts.items())
        ]
        connection.execute(insert(Artifacts), rows)


def _confirm(connection: Connection, lease: Lease, artifacts: Mapping[str, Artifact]) -> None:
    query = select(Artifacts.name, Artifacts.sha256).where(Artifacts.job == lease.job_id)
    before = {row.name: row.sha256 for row in connection.execute(query)}
    after = {name: artifact.sha256 for name, artifact in artifacts.items()}
    changed = sorted(
        name
        for name in before.keys() | after.keys()
        if name != RESULT_FILE and before.get(name) != after.get(name)
    )
    if changed:
        name = changed[0]
        message = (
            f"job {lease.key} was run again because a file of it was damaged, and {name} came out different:"
            f" expected sha256 {before.get(name, 'no such file')}, came {after.get(name, 'no such file')};"
            " jobs that read the first one are not comparable with new ones: restore the file from a copy, or"
            " register the suite anew"
        )
        raise NotReproduced(message)
    if RESULT_FILE in artifacts:
        new = artifacts[RESULT_FILE]
        connection.execute(
            update(Artifacts)
            .where(Artifacts.job == lease.job_id, Artifacts.name == RESULT_FILE)
            .values(sha256=new.sha256, bytes=new.bytes)
        )


def _outcomes(lease: Lease, result: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of `result["outcomes"]`, checked: whole counts, successes within episodes, each task once."""
    rows = result.get("outcomes", [])
    if not isinstance(rows, list):
        message = f"job {lease.key}: result['outcomes'] must be a list, came {type(rows).__name__}"
        raise BadResult(message)
    seen: set[tuple[str, int]] = set()
    checked = []
    for place, row in enumerate(rows):
        outcome = _outcome(row)
        if outcome is None or (outcome["split"], outcome["task"]) in seen:
            message = (
                f"job {lease.key}: result['outcomes'][{place}] must name a split and a task, each pair once,"
                f" with whole numbers 0 <= successes <= episodes; came {row!r}"
            )
            raise BadResult(message)
        seen.add((outcome["split"], outcome["task"]))
        checked.append(outcome)
    return checked


def _outcome(row: Any) -> dict[str, Any] | None:
    if not isinstance(row, dict) or not isinstance(row.get("split"), str):
        return None
    counts = [row.get(name) for name in ("task", "successes", "episodes")]
    if not all(isinstance(count, int) and not isinstance(count, bool) for count in counts):
        return None
    task, successes, episodes = (int(count) for count in counts if count is not None)
    if not 0 <= successes <= episodes:
        return None
    return {"split": row["split"], "task": task, "successes": successes, "episodes": episodes}


def _require_finite(lease: Lease, result: dict[str, Any]) -> None:
    for path, value in _leaves("result", result):
        if isinstance(value, float) and not math.isfinite(value):
            message = f"job {lease.key}: {path} is {value}, which JSON cannot hold; write None instead"
            raise BadResult(message)
        if not isinstance(value, str | int | float | bool | None):
            message = f"job {lease.key}: {path} is of type {type(value).__name__}, which JSON does not know"
            raise BadResult(message)


def _leaves(path: str, value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(f"{path}[{name!r}]", inner)
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from _leaves(f"{path}[{place}]", inner)
    else:
        yield path, value
