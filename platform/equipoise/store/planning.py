"""Suites and their jobs enter the store; entering them again changes nothing."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, insert, select, update

from equipoise.errors import StoreError
from equipoise.store.leases import log
from equipoise.store.models import Dependencies, Jobs, Suites
from equipoise.store.records import JobSpec

__all__ = ["add_jobs", "add_suite", "cancel", "retry"]


def add_suite(
    connection: Connection, suite: str, name: str, spec: dict[str, Any], registered_at: str, now: float
) -> None:
    """Add a suite, unless its hash is known."""
    if connection.execute(select(Suites.hash).where(Suites.hash == suite)).one_or_none() is None:
        values = {
            "hash": suite,
            "name": name,
            "spec": _as_json(f"suite {name}", spec),
            "registered_at": registered_at,
            "created_at": now,
        }
        connection.execute(insert(Suites).values(values))
        log(connection, suite, None, "suite_added", {"name": name}, now)


def add_jobs(connection: Connection, suite: str, specs: Sequence[JobSpec], now: float) -> int:
    """Add the jobs whose keys are new and give their number.

    Raises:
        StoreError: the suite is unknown, a need is unknown or goes in a circle, a key is stated twice, is the
            folder of another one, or is known with other contents.
    """
    if connection.execute(select(Suites.hash).where(Suites.hash == suite)).one_or_none() is None:
        message = f"suite {suite} is not in the store: add it before its jobs"
        raise StoreError(message)
    known = {
        row.key: (row.kind, dict(row.payload))
        for row in connection.execute(select(Jobs.key, Jobs.kind, Jobs.payload).where(Jobs.suite == suite))
    }
    _require_sound(specs, known)
    fresh = [spec for spec in specs if spec.key not in known]
    if not fresh:
        return 0
    connection.execute(insert(Jobs), [_row(suite, spec) for spec in fresh])
    ids = {
        row.key: row.id for row in connection.execute(select(Jobs.key, Jobs.id).where(Jobs.suite == suite))
    }
    edges = [
        {"job": ids[spec.key], "needs": ids[need]} for spec in fresh for need in dict.fromkeys(spec.needs)
    ]
    if edges:
        connection.execute(insert(Dependencies), edges)
    log(connection, suite, None, "jobs_added", {"jobs": len(fresh)}, now)
    return len(fresh)


def retry(connection: Connection, suite: str, keys: Sequence[str] | None, now: float) -> list[str]:
    """Queue failed, exhausted and cancelled jobs again with all their tries; name them."""
    query = select(Jobs.id, Jobs.key).where(
        Jobs.suite == suite,
        Jobs.state.in_(("failed", "exhausted", "cancelled") if keys else ("failed", "exhausted")),
    )
    if keys:
        query = query.where(Jobs.key.in_(keys))
    rows = connection.execute(query.order_by(Jobs.position, Jobs.id)).all()
    ids = [row.id for row in rows]
    connection.execute(update(Jobs).where(Jobs.id.in_(ids)).values(state="queued", tries=0, message=None))
    for row in rows:
        log(connection, suite, row.key, "retried", {}, now)
    return [row.key for row in rows]


def cancel(connection: Connection, suite: str, keys: Sequence[str] | None, now: float) -> list[str]:
    """Take queued jobs out of the queue; name them."""
    query = select(Jobs.id, Jobs.key).where(Jobs.suite == suite, Jobs.state == "queued")
    if keys:
        query = query.where(Jobs.key.in_(keys))
    rows = connection.execute(query.order_by(Jobs.position, Jobs.id)).all()
    connection.execute(update(Jobs).where(Jobs.id.in_([row.id for row in rows])).values(state="cancelled"))
    for row in rows:
        log(connection, suite, row.key, "cancelled", {}, now)
    return [row.key for row in rows]


def _row(suite: str, spec: JobSpec) -> dict[str, Any]:
    return {
        "suite": suite,
        "key": spec.key,
        "kind": spec.kind,
        "block": spec.block,
        "position": spec.order,
        "payload": _as_json(spec.key, spec.payload),
        "state": "queued",
        "tries": 0,
    }


def _as_json(what: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """The value as it will be read again: tuples become lists, keys strings."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        message = f"{what}: expected what JSON can hold: {error}"
        raise StoreError(message) from error
    return plain


def _require_sound(specs: Sequence[JobSpec], known: dict[str, tuple[str, dict[str, Any]]]) -> None:
    keys = [spec.key for spec in specs]
    faults = [f"job {key} is stated twice" for key, times in sorted(Counter(keys).items()) if times > 1]
    every = known.keys() | set(keys)
    faults += [
        f"job {spec.key} needs {need}, which is not a job of the suite"
        for spec in specs
        for need in spec.needs
        if need not in every
    ]
    faults += [
        f"job {spec.key} is known with other contents: a registered suite does not change"
        for spec in specs
        if spec.key in known and known[spec.key] != (spec.kind, _as_json(spec.key, spec.payload))
    ]
    folders = {key.rsplit("/", depth)[0] for key in every for depth in range(1, key.count("/") + 1)}
    faults += [f"job {key} is also the folder of other jobs" for key in sorted(every & folders)]
    faults += _circles(specs)
    if faults:
        message = "; ".join(faults)
        raise StoreError(message)


def _circles(specs: Sequence[JobSpec]) -> list[str]:
    waiting = {spec.key: set(spec.needs) for spec in specs}
    while ready := [key for key, needs in waiting.items() if not needs & waiting.keys()]:
        for key in ready:
            del waiting[key]
    return [f"jobs {', '.join(sorted(waiting))} need each other in a circle"] if waiting else []
