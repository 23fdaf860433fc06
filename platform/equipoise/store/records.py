"""The frozen values that pass between the store and those who use it: jobs, leases, ends, progress."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from equipoise.errors import StoreError

__all__ = [
    "ENDS",
    "STATES",
    "Artifact",
    "AttemptRecord",
    "EventRecord",
    "JobRecord",
    "JobSpec",
    "Lease",
    "OutboxRecord",
    "SuiteRecord",
    "Usage",
    "Worker",
]

STATES: Final = ("queued", "running", "done", "failed", "exhausted", "cancelled")
# Ends of an attempt. Only `lost`, `oom` and `timeout` use up one of the job's tries.
ENDS: Final = ("done", "lost", "preempted", "oom", "timeout", "no_space", "code_error", "released")

_KEY = re.compile(r"[A-Za-z0-9_=+,@-][A-Za-z0-9_.=+,@-]*(/[A-Za-z0-9_=+,@-][A-Za-z0-9_.=+,@-]*)*")


@dataclass(frozen=True)
class JobSpec:
    """One job of a suite.

    Attributes:
        key: name within the suite, `b2/cell/gigpo/matched/0`; also the job's folder under `work/`.
        kind: what sort of job it is: base, collect, signals, cell, ...
        payload: JSON that tells `execute` what to do.
        needs: keys of the jobs whose files this one reads; it is ready when all are done.
        order: the lowest among the ready ones is claimed first.
    """

    key: str
    kind: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    order: int = 0

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key):
            message = (
                f"job key {self.key!r}: expected parts of letters, digits and _.=+,@- joined by '/', none of"
                " them empty or starting with a dot, because the key also names the job's folder"
            )
            raise StoreError(message)

    @property
    def block(self) -> int | None:
        """The block of the job: its payload's `block`, or the leading `b<number>/` of its key."""
        stated = self.payload.get("block")
        if isinstance(stated, int):
            return stated
        found = re.match(r"b(\d+)/", self.key)
        return int(found.group(1)) if found else None


@dataclass(frozen=True)
class Worker:
    """The process that holds leases: `started` tells it from a later process with the same pid."""

    name: str
    host: str
    pid: int
    started: str


@dataclass(frozen=True)
class Lease:
    """The right to run one attempt of a job; `token` grows with every attempt and fences off late results."""

    suite: str
    job_id: int
    key: str
    kind: str
    payload: dict[str, Any]
    needs: tuple[str, ...]
    token: int
    attempt: int


@dataclass(frozen=True)
class Artifact:
    """A file that a job left for those that need it."""

    sha256: str
    bytes: int


@dataclass(frozen=True)
class Usage:
    """What an attempt used: wall seconds and peak resident memory in KiB."""

    seconds: float = 0.0
    maxrss: int = 0


@dataclass(frozen=True)
class SuiteRecord:
    """A registered suite as the store knows it."""

    hash: str
    name: str
    spec: dict[str, Any]
    registered_at: str


@dataclass(frozen=True)
class JobRecord:
    """A job and where it stands."""

    suite: str
    key: str
    kind: str
    block: int | None
    state: str
    order: int
    tries: int
    payload: dict[str, Any]
    needs: tuple[str, ...]
    message: str | None


@dataclass(frozen=True)
class AttemptRecord:
    """One attempt at a job; `end` is None while it runs. Times are seconds since 1970 (UTC)."""

    key: str
    kind: str
    number: int
    token: int
    worker: Worker
    started_at: float
    ended_at: float | None
    end: str | None
    message: str | None
    usage: Usage


@dataclass(frozen=True)
class EventRecord:
    """One line of the append-only record."""

    id: int
    at: float
    suite: str | None
    key: str | None
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class OutboxRecord:
    """A message for the tracking server that is not yet known to have arrived."""

    id: int
    suite: str
    key: str
    kind: str
    payload: dict[str, Any]
    at: float
