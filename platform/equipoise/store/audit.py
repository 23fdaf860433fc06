"""All that is stored of every suite, as it stands there: read for those who check it, so nothing is taken on trust."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Text, cast, select

from equipoise.store.ledgers import columns_of
from equipoise.store.models import (
    Artifacts,
    Attempts,
    Base,
    Events,
    Jobs,
    Outcomes,
    RunLedgers,
    RunSteps,
    Suites,
)
from equipoise.store.records import Artifact

__all__ = ["StoredJob", "StoredSuite", "audit"]

Row = Mapping[str, Any]


@dataclass(frozen=True)
class StoredJob:
    """A job with every row that belongs to it.

    Attributes:
        key: within its suite.
        kind: what sort of job it is.
        state: where it stands.
        payload: JSON as text, which may be anything where it was changed from outside.
        result: likewise; None before it is finished.
        done: how many of its attempts ended with a result.
        artifacts: sums of its files, by name.
        outcomes: rows of `outcomes`: split, task, successes, episodes.
        ledger: row of `run_ledgers`, None where there is none.
        steps: rows of `run_steps`, in order, `step` among them.
    """

    key: str
    kind: str
    state: str
    payload: str
    result: str | None
    done: int
    artifacts: Mapping[str, Artifact]
    outcomes: tuple[Row, ...]
    ledger: Row | None
    steps: tuple[Row, ...]


@dataclass(frozen=True)
class StoredSuite:
    """A suite with its jobs.

    Attributes:
        hash: of its registration.
        name: its own.
        spec: JSON as text.
        jobs: in the order in which they are claimed.
        finished: when each job was finished first, by key, from the append-only record.
        begun: whether jobs were ever added to it.
    """

    hash: str
    name: str
    spec: str
    jobs: tuple[StoredJob, ...]
    finished: Mapping[str, float]
    begun: bool


def audit(connection: Connection) -> list[StoredSuite]:
    """Every suite, oldest first."""
    query = select(Suites.hash, Suites.name, cast(Suites.spec, Text).label("spec"))
    rows = connection.execute(query.order_by(Suites.created_at, Suites.hash)).all()
    return [_suite(connection, row.hash, row.name, row.spec) for row in rows]


def _suite(connection: Connection, suite: str, name: str, spec: str) -> StoredSuite:
    finished: dict[str, float] = {}
    record = select(Events.kind, Events.key, Events.at).where(Events.suite == suite).order_by(Events.id)
    kinds = set()
    for kind, key, at in connection.execute(record):
        kinds.add(kind)
        if kind == "finished" and key is not None:
            finished.setdefault(key, at)
    return StoredSuite(suite, name, spec, _jobs(connection, suite), finished, "jobs_added" in kinds)


def _jobs(connection: Connection, suite: str) -> tuple[StoredJob, ...]:
    artifacts, outcomes, ledgers, steps = (
        _rows(connection, suite, table) for table in (Artifacts, Outcomes, RunLedgers, RunSteps)
    )
    done: dict[int, int] = defaultdict(int)
    ended = select(Attempts.job).join(Jobs, Jobs.id == Attempts.job)
    for (job,) in connection.execute(ended.where(Jobs.suite == suite, Attempts.end == "done")):
        done[job] += 1
    query = select(
        Jobs.id,
        Jobs.key,
        Jobs.kind,
        Jobs.state,
        cast(Jobs.payload, Text).label("payload"),
        cast(Jobs.result, Text).label("result"),
    )
    rows = connection.execute(query.where(Jobs.suite == suite).order_by(Jobs.position, Jobs.id))
    return tuple(
        StoredJob(
            key=row.key,
            kind=row.kind,
            state=row.state,
            payload=row.payload,
            result=row.result,
            done=done[row.id],
            artifacts={file["name"]: Artifact(file["sha256"], file["bytes"]) for file in artifacts[row.id]},
            outcomes=tuple(outcomes[row.id]),
            ledger=next(iter(ledgers[row.id]), None),
            steps=tuple(sorted(steps[row.id], key=lambda step: step["step"])),
        )
        for row in rows
    )


def _rows(connection: Connection, suite: str, table: type[Base]) -> dict[int, list[Row]]:
    """Rows of a table by the job they belong to, without the job's id."""
    names = columns_of(table, "job")
    key = table.__table__.c.job
    query = select(key, *(table.__table__.c[name] for name in names)).join(Jobs, Jobs.id == key)
    found: dict[int, list[Row]] = defaultdict(list)
    for row in connection.execute(query.where(Jobs.suite == suite)):
        found[row[0]].append(dict(zip(names, row[1:], strict=True)))
    return found
