"""A writer that dies at any point leaves nothing that the next sync does not mend."""

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.platform.tracking.conftest import Project

DYING = """
import os, sys
from pathlib import Path
from equipoise.tracking.companion import make_writer

where, when, count = sys.argv[2], sys.argv[3], int(sys.argv[4])
writer, _ = make_writer(Path(sys.argv[1]))
if where == "acknowledge":
    from equipoise.tracking.source import StoreSource as kind
else:
    from equipoise.tracking.client import open_client
    kind = type(open_client("sqlite://"))
original = getattr(kind, where)
calls = []

def dying(self, *args, **kwargs):
    calls.append(where)
    if len(calls) == count and when == "before":
        os._exit(9)
    result = original(self, *args, **kwargs)
    if len(calls) == count and when == "after":
        os._exit(9)
    return result

setattr(kind, where, dying)
writer.sync()
"""

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


@pytest.mark.parametrize(("where", "when", "count"), POINTS, ids=lambda value: str(value))
def test_after_any_death_the_next_sync_leaves_every_run_once_and_ended(
    project: "Project", where: str, when: str, count: int
) -> None:
    keys = project.finish(10)
    died = subprocess.run(
        [sys.executable, "-c", DYING, str(project.home), where, when, str(count)], check=False
    )
    assert died.returncode == 9
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


def test_the_companion_shows_a_growing_store_and_ends_when_asked(project: "Project") -> None:
    from equipoise.tracking.companion import start_companion

    project.finish(4)
    companion = start_companion(project.home)
    project.finish(6)
    assert companion.stop() == "MLflow is up to date: 10 runs written, 0 already there."
    assert len(project.runs()) == 11


def test_the_companion_ends_with_its_parent(project: "Project") -> None:
    code = "import os, pathlib, sys; from equipoise.tracking.companion import start_companion; " + (
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
