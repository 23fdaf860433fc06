"""Running a frozen suite: its jobs through the queue, MLflow kept up to date beside it."""

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from equipoise.scheduler import Isolation, OnProgress, Summary, limit_threads, run_queue
from equipoise.store import Store, open_store
from equipoise.suites.freezing import Frozen
from equipoise.suites.jobs import jobs_of

__all__ = ["enqueue", "run_suite"]


def enqueue(store: Store, frozen: Frozen) -> None:
    """Put a suite and its jobs into the store; what is there already stays as it is."""
    registration = frozen.registration
    when = registration.registered_at.isoformat()
    store.add_suite(registration.hash, registration.name, frozen.spec(), when)
    store.add_jobs(registration.hash, jobs_of(registration.model))


def run_suite(
    frozen: Frozen,
    home: Path,
    *,
    slots: int | None = None,
    isolation: Isolation = "fork",
    on_progress: OnProgress | None = None,
    beside: AbstractContextManager[object] | None = None,
) -> Summary:
    """Run what is left of a suite.

    Args:
        frozen: the suite.
        home: the project folder.
        slots: runs at a time; by default one a core.
        isolation: see `equipoise.scheduler.Settings`.
        on_progress: told where the suite stands.
        beside: entered when the jobs are in the store, left when the queue has ended.
    """
    settings = frozen.registration.model.execution
    # Both count only if they are set before the numeric libraries are loaded, and are part of the registration.
    limit_threads(settings.threads)
    os.environ["ATEN_CPU_CAPABILITY"] = settings.cpu_capability
    # Base policies are kept in the project, by what made them.
    os.environ.setdefault("EQUIPOISE_CACHE", str(home / "cache"))
    from equipoise.execution.execute import execute, preload

    store = open_store(home)
    enqueue(store, frozen)
    progress = store.progress(frozen.registration.hash)
    with beside or nullcontext():
        return run_queue(
            store,
            frozen.registration.hash,
            execute,
            home=home,
            slots=slots,
            preload=None if progress.done == progress.total else preload,
            on_progress=on_progress,
            isolation=isolation,
            threads=settings.threads,
        )
