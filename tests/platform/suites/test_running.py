"""A suite run by the command line, left alone or killed on the way, and what its store and MLflow then hold."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.store import Store, open_store

if TYPE_CHECKING:
    from tests.platform.suites.conftest import Equipoise, Finished, Start

pytestmark = pytest.mark.slow

JOBS = 20
CELLS = 12
PATIENCE = 120.0


def results(store: Store) -> dict[str, tuple[Any, Any]]:
    """What must be the same however a suite was run: digests and outcomes, by job."""
    (suite,) = store.suites()
    found = store.results_by_key(suite.hash)
    return {key: (result.get("digests"), result.get("outcomes")) for key, result in sorted(found.items())}


def analysis(home: Path) -> bytes:
    (file,) = home.glob("reports/small-*/analysis.json")
    return file.read_bytes()


def companions(home: Path) -> list[int]:
    """Processes that keep MLflow up to date with a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"tracking.companion" in command and os.fsencode(home) in command:
            found.append(int(process.name))
    return found


def until(said: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not said():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def done(home: Path) -> int:
    """Jobs done so far, seen from outside as `equipoise status` sees them."""
    if not (home / "equipoise.db").exists():
        return 0
    store = open_store(home, create=False)
    try:
        return sum(store.progress(suite.hash).done for suite in store.suites())
    finally:
        store.close()


def children(pid: int, home: Path) -> list[int]:
    """Jobs at work, each in its own folder: neither the companion nor git, which is asked at the start."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    found = []
    for child in listed:
        with contextlib.suppress(FileNotFoundError):
            if Path(f"/proc/{child}/cwd").readlink().is_relative_to(home / "work"):
                found.append(int(child))
    return found


def assert_mlflow_is_whole(home: Path) -> None:
    """One run per cell, per base policy and for the suite; all ended, no point of a curve twice."""
    from equipoise.tracking.client import open_client
    from equipoise.tracking.embedded import database_uri

    client = open_client(database_uri(home))
    experiments = client.search_experiments(filter_string="tags.`equipoise.suite_hash` != ''")
    runs = client.search_runs([experiment.experiment_id for experiment in experiments], max_results=1000)
    keys = Counter(run.data.tags["equipoise.key"] for run in runs)
    assert len(keys) == CELLS + 2 + 1
    assert set(keys.values()) == {1}
    assert {run.info.status for run in runs} == {"FINISHED"}
    for run in runs:
        for metric in run.data.metrics:
            steps = [point.step for point in client.get_metric_history(run.info.run_id, metric)]
            assert len(steps) == len(set(steps))


def test_jobs_are_forked_and_all_done_once(finished: "Finished") -> None:
    store = open_store(finished.home, create=False)
    (suite,) = store.suites()
    assert {attempt.end for attempt in store.attempts(suite.hash)} == {"done"}
    assert len(store.attempts(suite.hash)) == JOBS
    # A fresh process is told its job by a file; a fork is not.
    assert not list(finished.home.glob("work/**/request.json"))
    assert len(list(finished.home.glob("work/**/result.json"))) == JOBS


def test_mlflow_shows_every_run_once(finished: "Finished") -> None:
    assert_mlflow_is_whole(finished.home)
    assert companions(finished.home) == []


def test_the_command_says_where_the_time_went_and_what_was_found(finished: "Finished") -> None:
    lines = finished.said.splitlines()
    # the pairs of the oracle and its twin are equal in both blocks, so there is no error to judge it by
    assert any(
        line.startswith("  H1 INADMISSIBLE: positive control oracle could not be judged") for line in lines
    )
    assert "MLflow is up to date: 14 runs written, 0 already there." in lines
    (took,) = (line for line in lines if line.startswith("took "))
    for phase in ("start", "20 jobs", "report", "MLflow"):
        assert phase in took


def test_the_same_command_again_runs_nothing(
    finished: "Finished", equipoise: "Equipoise", small: Path, tmp_path: Path
) -> None:
    home = tmp_path / "runs"
    shutil.copytree(finished.home, home)
    before = results(open_store(home, create=False))
    again = equipoise("run", small, "--home", home)
    assert again.returncode == 0, again.stderr
    assert "0 jobs" in again.stdout
    assert "MLflow is up to date: nothing was new." in again.stdout
    assert results(open_store(home, create=False)) == before
    assert analysis(home) == analysis(finished.home)


def test_killed_at_any_moment_the_same_command_ends_with_the_same_bytes(
    finished: "Finished", equipoise: "Equipoise", start: "Start", small: Path, tmp_path: Path
) -> None:
    home = tmp_path / "runs"
    equipoise("register", small, "--home", home)
    rng = random.Random(7)
    for jobs in (rng.randrange(1, 6), rng.randrange(8, 15)):
        running = start("run", small, "--home", home)
        until(lambda: running.poll() is not None or done(home) >= jobs)  # noqa: B023
        running.kill()
        running.communicate()
        assert running.returncode == -signal.SIGKILL
    running = start("run", small, "--home", home)
    until(lambda: children(running.pid, home))
    os.kill(children(running.pid, home)[0], signal.SIGKILL)
    _, said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    until(lambda: not companions(home))

    store, reference = open_store(home, create=False), open_store(finished.home, create=False)
    (suite,), (expected,) = store.suites(), reference.suites()
    assert suite.hash == expected.hash
    assert results(store) == results(reference)
    assert analysis(home) == analysis(finished.home)
    ends = Counter((attempt.key, attempt.end) for attempt in store.attempts(suite.hash))
    assert [number for (_, end), number in ends.items() if end == "done"] == [1] * JOBS
    assert {end for _, end in ends} == {"done", "lost"}
    assert_mlflow_is_whole(home)


def test_interrupted_it_says_how_to_go_on_and_a_dead_mlflow_only_delays(
    finished: "Finished", equipoise: "Equipoise", start: "Start", small: Path, tmp_path: Path
) -> None:
    home = tmp_path / "runs"
    command = ("run", small, "--home", home, "--exploratory", "--tracking-uri", "http://127.0.0.1:9")
    running = start(*command)
    until(lambda: done(home) >= 9)
    assert_no_outcome_is_shown(equipoise("status", "--home", home, "--json"))
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert "run the same command again to continue" in said
    assert "Traceback" not in said
    store = open_store(home, create=False)
    (suite,) = store.suites()
    kept = results(store)
    assert "running" not in store.progress(suite.hash).by_state
    assert suite.spec["exploratory"]
    assert suite.hash not in {known.hash for known in open_store(finished.home, create=False).suites()}

    interim = equipoise("report", "small", "--home", home, "--json")
    assert interim.returncode == 0, interim.stderr
    assert '"interim": true' in interim.stdout
    (page,) = home.glob("reports/small-*/report.html")
    assert "EXPLORATORY" in page.read_text(encoding="utf-8")
    assert "INADMISSIBLE" not in page.read_text(encoding="utf-8")
    assert not list(home.glob("reports/small-*/analysis.json"))

    ended = equipoise(*command)
    assert ended.returncode == 0, ended.stderr
    assert "(exploratory)" in ended.stdout
    assert "MLflow is behind: " in ended.stdout
    assert "`equipoise sync` continues" in ended.stdout
    # Nothing of a registered suite served this one; yet the same seeds give the same numbers.
    assert kept.items() <= results(store).items()
    assert results(store) == results(open_store(finished.home, create=False))

    synced = equipoise("sync", "--home", home)
    assert synced.returncode == 0, synced.stderr
    assert_mlflow_is_whole(home)
    assert "**Exploratory:**" in note_of_the_suite(home)


def note_of_the_suite(home: Path) -> str:
    from equipoise.tracking.client import open_client
    from equipoise.tracking.embedded import database_uri

    client = open_client(database_uri(home))
    (experiment,) = client.search_experiments(filter_string="tags.`equipoise.suite_hash` != ''")
    (run,) = client.search_runs([experiment.experiment_id], "tags.`equipoise.key` = 'suite'")
    return str(run.data.tags["mlflow.note.content"])


def assert_no_outcome_is_shown(shown: "subprocess.CompletedProcess[str]") -> None:
    assert shown.returncode == 0, shown.stderr
    assert '"name": "small"' in shown.stdout
    for word in ("success", "outcome", "estimate", "verdict"):
        assert word not in shown.stdout
