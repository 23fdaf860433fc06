"""A writer that dies at any point leaves nothing that the next sync does not mend."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.store import open_store

if TYPE_CHECKING:
    from tests.platform.tracking.conftest import Project

POINTS = [
    ("create_experiment", "after", 1),
    ("create_run", "after", 1),
    ("create_run", "after", 4),
    ("log_batch", "after", 2),
    ("log_inputs", "after", 2),
    ("log_artifacts", "after", 3),
    ("set_terminated", "before", 3),
    ("set_terminated", "after", 3),
    ("log_batch", "before", 14),
    ("acknowledge", "before", 1),
    ("acknowledge", "after", 1),
    ("set_tag", "after", 2),
]


@pytest.mark.parametrize(("where", "when", "count"), POINTS, ids=str)
def test_after_any_death_the_next_sync_leaves_every_run_once_and_ended(
    project: "Project", where: str, when: str, count: int
) -> None:
    keys = project.finish(10)
    assert _sync_and_die(project, where, when, count) == 9
    assert project.writer().sync().problems == []
    runs = project.runs()
    client = project.client()
    assert sorted(runs) == sorted([*keys, "suite"])
    assert {run.info.status for run in runs.values()} == {"FINISHED"}
    assert project.store.outbox_pending() == []
    for key in keys:
        assert len(client.get_metric_history(runs[key].info.run_id, "eval/pool")) == 1
    for key in project.cells(0):
        assert len(client.get_metric_history(runs[key].info.run_id, "train/loss")) == 12
        assert len(runs[key].inputs.dataset_inputs) == 1


def _sync_and_die(project: "Project", where: str, when: str, count: int) -> int:
    """Sync in a forked process that dies right before or after a call; return its exit code."""
    from equipoise.tracking.client import open_client
    from equipoise.tracking.source import StoreSource

    project.store.close()
    kind: Any = StoreSource if where == "acknowledge" else type(open_client("sqlite://"))
    child = os.fork()
    if child == 0:
        # Whatever happens, the child must never return into the test run.
        with _leaving(7):
            project.store = open_store(project.home)
            _die_at(kind, where, when, count)
            project.writer().sync()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def _leaving(code: int) -> Iterator[None]:
    try:
        yield
    finally:
        os._exit(code)


def _die_at(kind: Any, where: str, when: str, count: int) -> None:
    """Make this process die right before or after the n-th call of a method."""
    original = getattr(kind, where)
    calls: list[str] = []

    def dying(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(where)
        if len(calls) == count and when == "before":
            os._exit(9)
        result = original(self, *args, **kwargs)
        if len(calls) == count:
            os._exit(9)
        return result

    setattr(kind, where, dying)


def test_the_companion_shows_a_growing_store_and_ends_when_asked(project: "Project") -> None:
    from equipoise.tracking.companion import start_companion

    project.finish(4)
    companion = start_companion(project.home)
    project.finish(6)
    assert companion.stop() == "MLflow is up to date: 10 runs written, 0 already there."
    assert len(project.runs()) == 11


def test_the_companion_ends_with_its_parent(project: "Project") -> None:
    code = (
        "import os, pathlib, sys; from equipoise.tracking.companion import start_companion; "
        "c = start_companion(pathlib.Path(sys.argv[1])); print(c.process.pid, flush=True); os._exit(9)"
    )
    parent = subprocess.run(
        [sys.executable, "-c", code, str(project.home)], stdout=subprocess.PIPE, check=False
    )
    companion = int(parent.stdout)
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and _alive(companion):
        time.sleep(0.1)
    assert not _alive(companion)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123 - not a file of ours
        return stat.read().rpartition(")")[2].split()[0] != "Z"


def test_a_companion_that_was_killed_is_reported_and_loses_nothing(project: "Project") -> None:
    from equipoise.tracking.companion import start_companion

    project.finish(2)
    companion = start_companion(project.home)
    companion.process.send_signal(signal.SIGKILL)
    assert "its writer ended early" in companion.stop()
    assert project.writer().sync().problems == []
    assert len(project.runs()) == 3
