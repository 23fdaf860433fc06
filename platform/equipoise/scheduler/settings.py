"""What a caller may choose about a run of the queue, and what a run tells its caller."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypedDict

from equipoise.errors import ExecutionError
from equipoise.store import Progress

__all__ = ["Isolation", "OnProgress", "Settings", "Summary", "Tuning", "Update", "default_slots"]

Isolation = Literal["fork", "subprocess"]


class Tuning(TypedDict, total=False):
    """The keyword arguments of `run_queue` that seldom change; see `Settings`."""

    isolation: Isolation
    poll: float
    ttl: float
    time_limit: float | None
    stop_after: int
    threads: int
    retry: bool


@dataclass(frozen=True)
class Settings:
    """How a queue is run.

    Attributes:
        isolation: `fork` children from the preloaded parent, or start each in a fresh interpreter.
        poll: seconds between looks at children where the system cannot tell that one has ended.
        ttl: seconds without a heartbeat after which a lease is up.
        time_limit: seconds after which a job is killed; None for no limit.
        stop_after: number of identical code failures that stops the suite.
        threads: threads of numeric libraries in every child. Other numbers give other results.
        retry: queue what failed in an earlier run again at the start.
    """

    isolation: Isolation = "fork"
    poll: float = 0.02
    ttl: float = 60.0
    time_limit: float | None = None
    stop_after: int = 1
    threads: int = 1
    retry: bool = True

    def __post_init__(self) -> None:
        faults = [
            f"{name} must be positive, came {getattr(self, name)}"
            for name in ("poll", "ttl", "time_limit", "stop_after", "threads")
            if getattr(self, name) is not None and getattr(self, name) <= 0
        ]
        if self.isolation not in ("fork", "subprocess"):
            faults.append(f"isolation must be 'fork' or 'subprocess', came {self.isolation!r}")
        if faults:
            message = "; ".join(faults)
            raise ExecutionError(message)


@dataclass(frozen=True)
class Update:
    """What `on_progress` is told: where the suite stands, the jobs running here, and remarks so far."""

    progress: Progress
    running: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Summary:
    """How a run of the queue ended.

    Attributes:
        suite: hash of the suite.
        total: its jobs.
        done: finished ones, by whomever.
        ran: those finished by this call.
        failed: jobs whose code failed.
        exhausted: jobs given up after too many lost, out-of-memory or timed-out attempts.
        blocked: jobs left in the queue because one that they need is failed, exhausted or cancelled.
        attempts: ends of all attempts at the suite's jobs so far.
        seconds: wall time of this call.
        isolation: the isolation that was used.
        notes: remarks, such as why forking was not possible or which damaged file was restored.
    """

    suite: str
    total: int
    done: int
    ran: int
    failed: int
    exhausted: int
    blocked: int
    attempts: dict[str, int]
    seconds: float
    isolation: Isolation
    notes: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every job is done."""
        return self.done == self.total


OnProgress = Callable[[Update], None]


def default_slots(threads: int) -> int:
    """As many children as the cores at hand can run with that many threads each."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // threads)
