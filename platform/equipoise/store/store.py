"""The store: the one truth about suites, jobs, attempts and results, each call one transaction."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from equipoise.errors import StoreError
from equipoise.store import audit, leases, ledgers, planning, queries, results
from equipoise.store.engine import Database
from equipoise.store.leases import USES_UP_A_TRY, Ending
from equipoise.store.ledgers import LedgerRecord, StepsRecord
from equipoise.store.progress import Progress, finished, progress
from equipoise.store.records import (
    ENDS,
    Artifact,
    AttemptRecord,
    EventRecord,
    JobRecord,
    JobSpec,
    Lease,
    OutboxRecord,
    SuiteRecord,
    Usage,
    Worker,
)
from equipoise.store.schema import check_file, prepare_file, prepare_server

__all__ = ["DATABASE_FILE", "Store", "inspect_store", "open_store"]

DATABASE_FILE = "equipoise.db"
LEASE_SECONDS = 60.0


def open_store(home_or_url: str | Path, *, create: bool = True, max_attempts: int = 3) -> "Store":
    """Open the store of a project folder (its `equipoise.db`), a database file, or a database URL.

    The tables are created or brought up to date first, by one process at a time.

    Args:
        home_or_url: project folder, path ending in `.db`, or SQLAlchemy URL.
        create: whether a missing database is made; otherwise it is an error.
        max_attempts: how many lost, out-of-memory or timed-out attempts a job may have.

    Raises:
        StoreError: the database is damaged, foreign, newer than this program, missing or cannot be written.
    """
    text = str(home_or_url)
    if "://" in text and not text.startswith("sqlite:///"):
        prepare_server(text)
        return Store(Database(text), max_attempts)
    path = _file(text)
    if not create and not path.exists():
        message = f"{path}: no such database: run a suite first, or choose another --home"
        raise StoreError(message)
    prepare_file(path)
    return Store(Database(f"sqlite:///{path}"), max_attempts)


def inspect_store(home: str | Path) -> str | None:
    """Check a project folder's database without changing it; give its schema's revision, or None.

    Raises:
        StoreError: it is damaged, foreign, or newer than this program.
    """
    return check_file(_file(str(home)))


def _file(text: str) -> Path:
    path = Path(text.removeprefix("sqlite:///")).absolute()
    return path if path.suffix == ".db" else path / DATABASE_FILE


class Store:
    """Suites, jobs, leases and results. `now` is seconds since 1970 and defaults to the clock."""

    def __init__(self, database: Database, max_attempts: int = 3) -> None:
        self._database = database
        self._max_attempts = max_attempts

    @property
    def where(self) -> str:
        """The database's URL, without its password."""
        return self._database.where

    def close(self) -> None:
        """Close all connections; the next call opens one again. Must be called before a fork."""
        self._database.close()

    def add_suite(self, suite: str, name: str, spec: dict[str, Any], registered_at: str) -> None:
        """Add a registered suite; a known hash changes nothing."""
        with self._database.write(durable=True) as connection:
            planning.add_suite(connection, suite, name, spec, registered_at, time.time())

    def add_jobs(self, suite: str, specs: Sequence[JobSpec]) -> int:
        """Add jobs, skipping known keys; give how many were new.

        Raises:
            StoreError: needs are unknown or circular, or a known key has other contents; all faults at once.
        """
        with self._database.write(durable=True) as connection:
            return planning.add_jobs(connection, suite, specs, time.time())

    def claim(
        self,
        worker: Worker,
        ttl: float = LEASE_SECONDS,
        *,
        suite: str | None = None,
        now: float | None = None,
    ) -> Lease | None:
        """Take the ready job of lowest order, or None if there is none at present."""
        with self._database.write() as connection:
            return leases.claim(connection, worker, ttl, suite, _clock(now))

    def heartbeat(self, lease: Lease, ttl: float = LEASE_SECONDS, *, now: float | None = None) -> None:
        """Keep a lease for another `ttl` seconds.

        Raises:
            StaleLease: it is no longer this attempt's.
        """
        with self._database.write() as connection:
            leases.heartbeat(connection, lease, ttl, _clock(now))

    def finish(
        self,
        lease: Lease,
        result: dict[str, Any],
        artifacts: Mapping[str, Artifact] | None = None,
        usage: Usage | None = None,
        *,
        now: float | None = None,
    ) -> None:
        """Commit a result with its outcomes, files, event and message in one durable transaction.

        Raises:
            StaleLease: the job went to another attempt; nothing is stored.
            BadResult: the result cannot be stored as it is.
            NotReproduced: the job, run again for a damaged file, gave other bytes.
        """
        checked = results.check(lease, result)
        with self._database.write(durable=True) as connection:
            results.finish(connection, lease, checked, artifacts or {}, usage or Usage(), _clock(now))

    def fail(
        self, lease: Lease, end: str, message: str, usage: Usage | None = None, *, now: float | None = None
    ) -> str:
        """End an attempt without a result; give the job's new state (queued, exhausted or failed).

        Raises:
            StaleLease: the job went to another attempt.
            StoreError: the end is not one that leaves no result.
        """
        if end not in ENDS or end == "done":
            message = f"end {end!r}: expected one of {', '.join(ENDS[1:])}"
            raise StoreError(message)
        ending = Ending(end, message, end in USES_UP_A_TRY, usage or Usage())
        with self._database.write() as connection:
            leases.require_current(connection, lease)
            state = leases.put_back(connection, lease.job_id, ending, self._max_attempts, _clock(now))
            if state != "queued":
                results.tell(connection, lease, state, {"end": end, "message": message}, _clock(now))
            return state

    def release(self, lease: Lease, usage: Usage | None = None, *, now: float | None = None) -> None:
        """Give a lease back; the attempt uses up none of the job's tries."""
        self.fail(lease, "released", "given back by its worker", usage, now=now)

    def expire(self, now: float | None = None) -> list[str]:
        """Queue the jobs again whose leases have run out; name them."""
        with self._database.write() as connection:
            return leases.expire(connection, self._max_attempts, _clock(now))

    def reclaim(self, now: float | None = None) -> list[str]:
        """Queue the jobs again whose workers, processes of this machine, are known to be dead; name them."""
        with self._database.write() as connection:
            return leases.reclaim(connection, self._max_attempts, _clock(now))

    def reopen(self, suite: str, key: str, why: str) -> None:
        """Queue a finished job again for its files, which must come out equal; its first result stands."""
        with self._database.write(durable=True) as connection:
            results.reopen(connection, suite, key, why, time.time())

    def retry(self, suite: str, keys: Sequence[str] | None = None) -> list[str]:
        """Queue failed and exhausted jobs again (named ones also if cancelled); give their keys."""
        with self._database.write() as connection:
            return planning.retry(connection, suite, keys, time.time())

    def cancel(self, suite: str, keys: Sequence[str] | None = None) -> list[str]:
        """Take queued jobs out of the queue; give their keys."""
        with self._database.write() as connection:
            return planning.cancel(connection, suite, keys, time.time())

    def log(self, suite: str | None, kind: str, data: dict[str, Any], key: str | None = None) -> None:
        """Add a line to the append-only record."""
        with self._database.write(durable=True) as connection:
            leases.log(connection, suite, key, kind, data, time.time())

    def progress(self, suite: str, now: float | None = None) -> Progress:
        """Where the jobs of a suite stand."""
        with self._database.read() as connection:
            return progress(connection, suite, _clock(now))

    def finished(self, suite: str) -> dict[str, int]:
        """How many attempts ended with a result, by kind of job."""
        with self._database.read() as connection:
            return finished(connection, suite)[1]

    def suites(self) -> list[SuiteRecord]:
        """All suites, oldest first."""
        with self._database.read() as connection:
            return queries.suites(connection)

    def jobs(self, suite: str) -> list[JobRecord]:
        """The jobs of a suite in order."""
        with self._database.read() as connection:
            return queries.jobs(connection, suite)

    def results(self, suite: str, kind: str | None = None) -> list[dict[str, Any]]:
        """The results of a suite (of one kind of job), in the order of the jobs."""
        return list(self.results_by_key(suite, kind).values())

    def results_by_key(self, suite: str, kind: str | None = None) -> dict[str, dict[str, Any]]:
        """The results of a suite (of one kind of job) by job key."""
        with self._database.read() as connection:
            return queries.results(connection, suite, kind)

    def ledgers(self, suite: str) -> list[LedgerRecord]:
        """What every finished job was allocated, received and cost, in the order of the jobs."""
        with self._database.read() as connection:
            return ledgers.ledgers(connection, suite)

    def steps(self, suite: str, key: str | None = None) -> list[StepsRecord]:
        """The optimizer steps of a suite's runs (or of one of them)."""
        with self._database.read() as connection:
            return ledgers.steps(connection, suite, key)

    def audit(self) -> list[audit.StoredSuite]:
        """Everything that is stored of every suite, JSON as text, for those who check it."""
        with self._database.read() as connection:
            return audit.audit(connection)

    def artifacts(self, suite: str, key: str) -> dict[str, Artifact]:
        """The files that a job left, by name."""
        with self._database.read() as connection:
            return queries.artifacts(connection, suite, key)

    def attempts(self, suite: str, key: str | None = None) -> list[AttemptRecord]:
        """The attempts at a suite's jobs in the order in which they began."""
        with self._database.read() as connection:
            return queries.attempts(connection, suite, key)

    def events(self, suite: str | None = None) -> list[EventRecord]:
        """What happened, in order."""
        with self._database.read() as connection:
            return queries.events(connection, suite)

    def outbox_pending(self, limit: int = 100) -> list[OutboxRecord]:
        """The oldest messages for the tracking server that have not been acknowledged."""
        with self._database.read() as connection:
            return queries.outbox_pending(connection, limit)

    def outbox_ack(self, ids: Sequence[int]) -> None:
        """Mark messages as arrived."""
        with self._database.write() as connection:
            queries.outbox_ack(connection, ids, time.time())

    def outbox_rewind(self, suite: str) -> None:
        """Mark every message of a suite as unsent, to build its projection anew."""
        with self._database.write() as connection:
            queries.outbox_rewind(connection, suite)


def _clock(now: float | None) -> float:
    return time.time() if now is None else now
