"""The life of a lease: claimed, kept alive, ended one way or another, inside a caller's transaction."""

from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, select, update

from equipoise.store.errors import StaleLease
from equipoise.store.models import Attempts, Jobs
from equipoise.store.processes import is_gone
from equipoise.store.records import Lease, Usage, Worker
from equipoise.store.statements import (
    ADD_ATTEMPT,
    ADD_EVENT,
    CURRENT,
    END_ATTEMPT,
    KEEP,
    NEEDS,
    NEXT,
    NEXT_OF_SUITE,
    TAKE,
)

__all__ = [
    "USES_UP_A_TRY",
    "Ending",
    "claim",
    "end_attempt",
    "expire",
    "heartbeat",
    "log",
    "put_back",
    "reclaim",
    "require_current",
]

# A job that keeps losing its workers, its memory or its time is given up in the end; others are not to blame.
USES_UP_A_TRY: Final = frozenset({"lost", "oom", "timeout"})


@dataclass(frozen=True)
class Ending:
    """How an attempt ended without a result."""

    end: str
    message: str | None
    uses_up_a_try: bool
    usage: Usage = field(default_factory=Usage)


def claim(connection: Connection, worker: Worker, ttl: float, suite: str | None, now: float) -> Lease | None:
    """Take the first job that is queued and whose needs are all done."""
    found = (
        connection.execute(NEXT) if suite is None else connection.execute(NEXT_OF_SUITE, {"b_suite": suite})
    )
    row = found.one_or_none()
    if row is None:
        return None
    attempt = {
        "job": row.id,
        "number": row.before + 1,
        "worker": worker.name,
        "host": worker.host,
        "pid": worker.pid,
        "process_started": worker.started,
        "started_at": now,
    }
    token: int = connection.execute(ADD_ATTEMPT, attempt).scalar_one()
    connection.execute(TAKE, {"b_job": row.id, "b_token": token, "b_expires": now + ttl})
    needs = tuple(connection.execute(NEEDS, {"b_job": row.id}).scalars())
    return Lease(row.suite, row.id, row.key, row.kind, dict(row.payload), needs, token, row.before + 1)


def heartbeat(connection: Connection, lease: Lease, ttl: float, now: float) -> None:
    """Put off the lease's end.

    Raises:
        StaleLease: it is no longer this attempt's.
    """
    mine = {"b_job": lease.job_id, "b_token": lease.token}
    if connection.execute(KEEP, {**mine, "b_expires": now + ttl}).one_or_none() is None:
        raise StaleLease(_stale(connection, lease))


def require_current(connection: Connection, lease: Lease) -> bool:
    """Refuse an attempt whose job went to another one; say whether the job has a result from before.

    Raises:
        StaleLease: it is no longer this attempt's.
    """
    row = connection.execute(CURRENT, {"b_job": lease.job_id, "b_token": lease.token}).one_or_none()
    if row is None:
        raise StaleLease(_stale(connection, lease))
    return bool(row.has_result)


def _stale(connection: Connection, lease: Lease) -> str:
    row = connection.execute(select(Jobs.state, Jobs.token).where(Jobs.id == lease.job_id)).one_or_none()
    if row is None:
        return f"job {lease.key}: attempt {lease.attempt} (token {lease.token}) is of a job not in the store"
    return (
        f"job {lease.key}: attempt {lease.attempt} holds token {lease.token}, the job is {row.state} under"
        f" token {row.token}: its lease ran out or was given up; this attempt's result is refused"
    )


def end_attempt(connection: Connection, token: int, ending: Ending, now: float) -> None:
    """Write down how an attempt ended."""
    values = {
        "b_token": token,
        "b_end": ending.end,
        "b_counted": ending.uses_up_a_try,
        "b_message": ending.message,
        "b_seconds": ending.usage.seconds,
        "b_maxrss": ending.usage.maxrss,
        "b_now": now,
    }
    connection.execute(END_ATTEMPT, values)


def put_back(connection: Connection, job: int, ending: Ending, max_attempts: int, now: float) -> str:
    """End the running attempt of a job without a result, and give the job's new state."""
    row = connection.execute(select(Jobs.suite, Jobs.key, Jobs.token, Jobs.tries).where(Jobs.id == job)).one()
    tries = row.tries + ending.uses_up_a_try
    state = "failed" if ending.end == "code_error" else "exhausted" if tries >= max_attempts else "queued"
    end_attempt(connection, row.token, ending, now)
    connection.execute(
        update(Jobs)
        .where(Jobs.id == job)
        .values(
            state=state,
            tries=tries,
            lease_expires=None,
            message=None if state == "queued" else ending.message,
        )
    )
    data = {"end": ending.end, "state": state, "token": row.token, "message": ending.message}
    log(connection, row.suite, row.key, "attempt_ended", data, now)
    return state


def expire(connection: Connection, max_attempts: int, now: float) -> list[str]:
    """Put back the jobs whose leases have run out, and name them."""
    query = (
        select(Jobs.id, Jobs.key).where(Jobs.state == "running", Jobs.lease_expires < now).order_by(Jobs.id)
    )
    rows = connection.execute(query.with_for_update(skip_locked=True)).all()
    for row in rows:
        ending = Ending("lost", "no sign of life from its worker: the lease ran out", uses_up_a_try=True)
        put_back(connection, row.id, ending, max_attempts, now)
    return [row.key for row in rows]


def reclaim(connection: Connection, max_attempts: int, now: float) -> list[str]:
    """Put back the jobs of workers that are known to have ended, without waiting for their leases.

    The jobs are not to blame for the end of their worker, so it uses up none of their tries.
    """
    query = (
        select(Jobs.id, Jobs.key, Attempts.worker, Attempts.host, Attempts.pid, Attempts.process_started)
        .join(Attempts, Attempts.id == Jobs.token)
        .where(Jobs.state == "running")
        .order_by(Jobs.id)
    )
    rows = connection.execute(query.with_for_update(skip_locked=True, of=Jobs)).all()
    gone = [row for row in rows if is_gone(Worker(row.worker, row.host, row.pid, row.process_started))]
    for row in gone:
        ending = Ending("lost", f"its worker {row.worker} has ended", uses_up_a_try=False)
        put_back(connection, row.id, ending, max_attempts, now)
    return [row.key for row in gone]


def log(
    connection: Connection, suite: str | None, key: str | None, kind: str, data: dict[str, Any], now: float
) -> None:
    """Add a line to the record."""
    connection.execute(ADD_EVENT, {"at": now, "suite": suite, "key": key, "kind": kind, "data": data})
