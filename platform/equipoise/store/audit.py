"""All that is stored of every suite, as it stands there: read for those who check it, so nothing is taken on trust."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Text, cast, select
from sqlalchemy.orm import aliased

from equipoise.store.ledgers import columns_of
from equipoise.store.models import (
    Artifacts,
    Attempts,
    Base,
    Dependencies,
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

Needed = aliased(Jobs)


@dataclass(frozen=True)
class StoredJob:
    """A job with every row that belongs to it.

    Attributes:
        key: within its suite.
        kind: what sort of job it is.
        state: where it stands.
        block: of the comparison; None for a job of the search.
        position: the lowest is claimed first.
        needs: keys of the jobs whose files it reads.
        payload: JSON as text, which may be anything where it was changed from outside.
        result: likewise; None before it is finished.
        attempts: rows of `attempts` in order: number, token, started_at, ended_at, end.
        events: kinds of the record's lines about it, in order.
        artifacts: sums of its files, by name.
        outcomes: rows of `outcomes`: split, task, successes, episodes.
        ledger: row of `run_ledgers`, None where there is none.
        steps: rows of `run_steps`, in order, `step` among them.
    """

    key: str
    kind: str
    state: str
    block: int | None
    position: int
    needs: frozenset[str]
    payload: str
    result: str | None
    attempts: tuple[Row, ...]
    events: tuple[str, ...]
    artifacts: Mapping[str, Artifact]
    outcomes: tuple[Row, ...]
    ledger: Row | None
    steps: tuple[Row, ...]

    @property
    def done(self) -> int:
        """How many of its attempts ended with a result."""
        return sum(attempt["end"] == "done" for attempt in self.attempts)


@dataclass(frozen=True)
class StoredSuite:
    """A suite with its jobs.

    Attributes:
        hash: of its registration.
        name: its own.
        spec: JSON as text.
        registered_at: as its row says.
        created_at: when its row was added, in seconds since 1970.
        jobs: in the order in which they are claimed.
        finished: when each job was finished first, by key, from the append-only record.
        begun: whether jobs were ever added to it.
    """

    hash: str
    name: str
    spec: str
    registered_at: str
    created_at: float
    jobs: tuple[StoredJob, ...]
    finished: Mapping[str, float]
    begun: bool


def audit(connection: Connection) -> list[StoredSuite]:
    """Every suite, oldest first."""
    query = select(
        Suites.hash,
        Suites.name,
        cast(Suites.spec, Text).label("spec"),
        Suites.registered_at,
        Suites.created_at,
    )
    return [
        _suite(connection, row)
        for row in connection.execute(query.order_by(Suites.created_at, Suites.hash)).all()
    ]


def _suite(connection: Connection, row: Any) -> StoredSuite:
    finished, said = dict[str, float](), defaultdict[str, list[str]](list)
    record = select(Events.kind, Events.key, Events.at).where(Events.suite == row.hash).order_by(Events.id)
    begun = False
    for kind, key, at in connection.execute(record):
        begun = begun or kind == "jobs_added"
        if key is not None:
            said[key].append(kind)
        if kind == "finished" and key is not None:
            finished.setdefault(key, at)
    jobs = _jobs(connection, row.hash, said)
    return StoredSuite(row.hash, row.name, row.spec, row.registered_at, row.created_at, jobs, finished, begun)


def _jobs(connection: Connection, suite: str, said: Mapping[str, list[str]]) -> tuple[StoredJob, ...]:
    artifacts, outcomes, ledgers, steps = (
        _rows(connection, suite, table) for table in (Artifacts, Outcomes, RunLedgers, RunSteps)
    )
    attempts, needs = _attempts(connection, suite), _needs(connection, suite)
    query = select(
        Jobs.id,
        Jobs.key,
        Jobs.kind,
        Jobs.state,
        Jobs.block,
        Jobs.position,
        cast(Jobs.payload, Text).label("payload"),
        cast(Jobs.result, Text).label("result"),
    )
    rows = connection.execute(query.where(Jobs.suite == suite).order_by(Jobs.position, Jobs.id))
    return tuple(
        StoredJob(
            key=row.key,
            kind=row.kind,
            state=row.state,
            block=row.block,
            position=row.position,
            needs=frozenset(needs[row.id]),
            payload=row.payload,
            result=row.result,
            attempts=tuple(attempts[row.id]),
            events=tuple(said.get(row.key, ())),
            artifacts={file["name"]: Artifact(file["sha256"], file["bytes"]) for file in artifacts[row.id]},
            outcomes=tuple(outcomes[row.id]),
            ledger=next(iter(ledgers[row.id]), None),
            steps=tuple(sorted(steps[row.id], key=lambda step: step["step"])),
        )
        for row in rows
    )


def _attempts(connection: Connection, suite: str) -> dict[int, list[Row]]:
    """Attempts by the job they are at, in their order."""
    query = select(
        Attempts.job,
        Attempts.id.label("token"),
        Attempts.number,
        Attempts.started_at,
        Attempts.ended_at,
        Attempts.end,
    )
    query = query.join(Jobs, Jobs.id == Attempts.job).where(Jobs.suite == suite).order_by(Attempts.id)
    found: dict[int, list[Row]] = defaultdict(list)
    for row in connection.execute(query).mappings():
        found[row["job"]].append(dict(row))
    return found


def _needs(connection: Connection, suite: str) -> dict[int, list[str]]:
    """Keys of the jobs that each job needs; of one that is not there, its id."""
    query = select(Dependencies.job, Dependencies.needs, Needed.key).join(Jobs, Jobs.id == Dependencies.job)
    query = query.outerjoin(Needed, Needed.id == Dependencies.needs).where(Jobs.suite == suite)
    found: dict[int, list[str]] = defaultdict(list)
    for row in connection.execute(query):
        found[row.job].append(row.key or f"job {row.needs}")
    return found


def _rows(connection: Connection, suite: str, table: type[Base]) -> dict[int, list[Row]]:
    """Rows of a table by the job they belong to, without the job's id."""
    names = columns_of(table, "job")
    key = table.__table__.c.job
    query = select(key, *(table.__table__.c[name] for name in names)).join(Jobs, Jobs.id == key)
    found: dict[int, list[Row]] = defaultdict(list)
    for row in connection.execute(query.where(Jobs.suite == suite)):
        found[row[0]].append(dict(zip(names, row[1:], strict=True)))
    return found
