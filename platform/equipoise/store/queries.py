"""Reading the store: suites, jobs, attempts, results, events and unsent messages as frozen records."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select, update

from equipoise.store.models import Artifacts, Attempts, Dependencies, Events, Jobs, Outbox, Suites
from equipoise.store.records import (
    Artifact,
    AttemptRecord,
    EventRecord,
    JobRecord,
    OutboxRecord,
    SuiteRecord,
    Usage,
    Worker,
)

__all__ = [
    "artifacts",
    "attempts",
    "events",
    "jobs",
    "outbox_ack",
    "outbox_pending",
    "outbox_rewind",
    "results",
    "suites",
]


def suites(connection: Connection) -> list[SuiteRecord]:
    """All suites, oldest first."""
    rows = connection.execute(
        select(Suites.hash, Suites.name, Suites.spec, Suites.registered_at).order_by(
            Suites.created_at, Suites.hash
        )
    )
    return [SuiteRecord(row.hash, row.name, dict(row.spec), row.registered_at) for row in rows]


def jobs(connection: Connection, suite: str) -> list[JobRecord]:
    """The jobs of a suite in the order in which they are claimed."""
    rows = connection.execute(
        select(
            Jobs.id,
            Jobs.key,
            Jobs.kind,
            Jobs.block,
            Jobs.state,
            Jobs.position,
            Jobs.tries,
            Jobs.payload,
            Jobs.message,
        )
        .where(Jobs.suite == suite)
        .order_by(Jobs.position, Jobs.id)
    ).all()
    keys = {row.id: row.key for row in rows}
    needs: dict[int, list[int]] = {}
    pairs = select(Dependencies.job, Dependencies.needs).join(Jobs, Jobs.id == Dependencies.job)
    for job, need in connection.execute(pairs.where(Jobs.suite == suite)):
        needs.setdefault(job, []).append(need)
    place = {row.id: number for number, row in enumerate(rows)}
    return [
        JobRecord(
            suite=suite,
            key=row.key,
            kind=row.kind,
            block=row.block,
            state=row.state,
            order=row.position,
            tries=row.tries,
            payload=dict(row.payload),
            needs=tuple(keys[need] for need in sorted(needs.get(row.id, []), key=place.__getitem__)),
            message=row.message,
        )
        for row in rows
    ]


def results(connection: Connection, suite: str, kind: str | None) -> dict[str, dict[str, Any]]:
    """The results of a suite by job key, in the order of the jobs."""
    query = select(Jobs.key, Jobs.result).where(Jobs.suite == suite, Jobs.result.is_not(None))
    if kind is not None:
        query = query.where(Jobs.kind == kind)
    rows = connection.execute(query.order_by(Jobs.position, Jobs.id))
    return {row.key: dict(row.result) for row in rows if row.result is not None}


def artifacts(connection: Connection, suite: str, key: str) -> dict[str, Artifact]:
    """The files that a finished job left, by name."""
    rows = connection.execute(
        select(Artifacts.name, Artifacts.sha256, Artifacts.bytes)
        .join(Jobs, Jobs.id == Artifacts.job)
        .where(Jobs.suite == suite, Jobs.key == key)
        .order_by(Artifacts.name)
    )
    return {row.name: Artifact(row.sha256, row.bytes) for row in rows}


def attempts(connection: Connection, suite: str, key: str | None) -> list[AttemptRecord]:
    """The attempts at a suite's jobs (or at one of them), in the order in which they began."""
    query = select(Jobs.key, Jobs.kind, Attempts.__table__).join(Attempts, Attempts.job == Jobs.id)
    query = query.where(Jobs.suite == suite)
    if key is not None:
        query = query.where(Jobs.key == key)
    return [
        AttemptRecord(
            key=row.key,
            kind=row.kind,
            number=row.number,
            token=row.id,
            worker=Worker(row.worker, row.host, row.pid, row.process_started),
            started_at=row.started_at,
            ended_at=row.ended_at,
            end=row.end,
            message=row.message,
            usage=Usage(row.seconds or 0.0, row.maxrss or 0),
        )
        for row in connection.execute(query.order_by(Attempts.id))
    ]


def events(connection: Connection, suite: str | None) -> list[EventRecord]:
    """The record of a suite, or of everything, in order."""
    query = select(Events.id, Events.at, Events.suite, Events.key, Events.kind, Events.data).order_by(
        Events.id
    )
    if suite is not None:
        query = query.where(Events.suite == suite)
    return [
        EventRecord(row.id, row.at, row.suite, row.key, row.kind, dict(row.data))
        for row in connection.execute(query)
    ]


def outbox_pending(connection: Connection, limit: int) -> list[OutboxRecord]:
    """The oldest messages that are not acknowledged."""
    query = select(Outbox.id, Outbox.suite, Outbox.key, Outbox.kind, Outbox.payload, Outbox.at)
    rows = connection.execute(query.where(Outbox.sent_at.is_(None)).order_by(Outbox.id).limit(limit))
    return [OutboxRecord(row.id, row.suite, row.key, row.kind, dict(row.payload), row.at) for row in rows]


def outbox_ack(connection: Connection, ids: Sequence[int], now: float) -> None:
    """Mark messages as arrived."""
    connection.execute(update(Outbox).where(Outbox.id.in_(list(ids))).values(sent_at=now))


def outbox_rewind(connection: Connection, suite: str) -> None:
    """Mark every message of a suite as unsent: its projection is to be built anew."""
    connection.execute(update(Outbox).where(Outbox.suite == suite).values(sent_at=None))
