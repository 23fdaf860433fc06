"""Running a frozen suite: its jobs through the queue, MLflow kept up to date beside it."""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from equipoise.scheduler import Isolation, OnProgress, Summary, limit_threads, run_queue
from equipoise.store import Store, open_store
from equipoise.suites.freezing import Frozen
from equipoise.suites.jobs import Chosen, jobs_of
from equipoise.suites.search import advance, choose, studies_of

__all__ = ["enqueue", "run_suite", "tune_suite"]


def enqueue(store: Store, frozen: Frozen, chosen: Chosen | None = None) -> None:
    """Put a suite and its jobs into the store; what is there already stays as it is.

    Args:
        store: of the project.
        frozen: the suite.
        chosen: what the search for hyper-parameters chose for each condition.
    """
    _add(store, frozen)
    registration = frozen.registration
    store.add_jobs(registration.hash, jobs_of(registration.model, chosen))


def _add(store: Store, frozen: Frozen) -> None:
    registration = frozen.registration
    when = registration.registered_at.isoformat()
    store.add_suite(registration.hash, registration.name, frozen.spec(), when)


def run_suite(
    frozen: Frozen,
    home: Path,
    *,
    slots: int | None = None,
    isolation: Isolation = "fork",
    on_progress: OnProgress | None = None,
    beside: AbstractContextManager[object] | None = None,
) -> Summary:
    """Run what is left of a suite: first its search for hyper-parameters, if it has one, then the comparison.

    Args:
        frozen: the suite.
        home: the project folder.
        slots: runs at a time; by default one a core.
        isolation: see `equipoise.scheduler.Settings`.
        on_progress: told where the suite stands.
        beside: entered when the suite is in the store, left when the queue has ended.
    """
    store, run = _prepared(frozen, home, slots, isolation, on_progress)
    with beside or nullcontext():
        ran = _searched(store, frozen, home, run)
        if not ran or ran[-1].complete:
            enqueue(store, frozen, choose(store, frozen, home))
            ran.append(run())
    return _together(ran)


def tune_suite(
    frozen: Frozen,
    home: Path,
    *,
    slots: int | None = None,
    isolation: Isolation = "fork",
    on_progress: OnProgress | None = None,
) -> Summary | None:
    """Run what is left of a suite's search for hyper-parameters, freeze what it chose, and end there.

    Returns:
        What was run; None if nothing was left. For the arguments see `run_suite`.
    """
    store, run = _prepared(frozen, home, slots, isolation, on_progress)
    ran = _searched(store, frozen, home, run)
    if not ran or ran[-1].complete:
        choose(store, frozen, home)
    return _together(ran) if ran else None


def _prepared(
    frozen: Frozen, home: Path, slots: int | None, isolation: Isolation, on_progress: OnProgress | None
) -> tuple[Store, Callable[[], Summary]]:
    """The store with the suite in it, and what runs the jobs that are queued."""
    settings = frozen.registration.model.execution
    # Both count only if they are set before the numeric libraries are loaded, and are part of the registration.
    limit_threads(settings.threads)
    os.environ["ATEN_CPU_CAPABILITY"] = settings.cpu_capability
    # Base policies are kept in the project, by what made them.
    os.environ.setdefault("EQUIPOISE_CACHE", str(home / "cache"))
    from equipoise.execution.execute import execute, preload

    on_policy = frozen.registration.model.training.path == "grpo"
    store, identity = open_store(home), frozen.registration.hash
    _add(store, frozen)

    def run() -> Summary:
        progress = store.progress(identity)
        return run_queue(
            store,
            identity,
            execute,
            home=home,
            slots=slots,
            preload=None if progress.done == progress.total else partial(preload, on_policy=on_policy),
            on_progress=on_progress,
            isolation=isolation,
            threads=settings.threads,
        )

    return store, run


def _searched(store: Store, frozen: Frozen, home: Path, run: Callable[[], Summary]) -> list[Summary]:
    """Run trials until every condition has had its own; ends early if some cannot be run."""
    ran: list[Summary] = []
    studies = studies_of(frozen, home)
    while studies is not None and advance(store, frozen, studies):
        ran.append(run())
        if not ran[-1].complete:
            break
    return ran


def _together(ran: Sequence[Summary]) -> Summary:
    """Where the suite stands after the last call of the queue, and what all of them did."""
    notes = dict.fromkeys(note for summary in ran for note in summary.notes)
    return replace(
        ran[-1],
        ran=sum(summary.ran for summary in ran),
        seconds=sum(summary.seconds for summary in ran),
        notes=tuple(notes),
    )
