"""The server answers while it is needed, and nothing of it is left afterwards."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from equipoise.errors import TrackingError
from equipoise.tracking.server import HOST, free_port, serve
from equipoise.tracking.source import StoreSource
from equipoise.tracking.writer import Writer

if TYPE_CHECKING:
    from tests.platform.tracking.conftest import Project, Served


def test_a_taken_port_is_passed_over() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port(port) > port
        with pytest.raises(TrackingError, match=f"ports {port} to {port} are all taken"):
            free_port(port, attempts=1)


def test_a_server_that_ends_early_is_reported_with_the_end_of_its_log(template: Path) -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(TrackingError, match=r"(?s)ended with code .*in use"), serve(template, port):
            pass


def test_the_server_hands_out_artifacts_from_a_folder_with_an_odd_name(served: "Served") -> None:
    run = served.project.runs()["suite"]
    query = f"path=report/report.html&run_uuid={run.info.run_id}"
    with urllib.request.urlopen(f"{served.address}/get-artifact?{query}", timeout=30) as answer:
        assert b"The report of the suite" in answer.read()


def test_ui_prints_the_links_and_ends_with_its_server(project: "Project") -> None:
    project.finish(10)
    project.store.close()
    command = [
        sys.executable,
        "-c",
        "from equipoise.cli import main; main()",
        "ui",
        "--no-browser",
        "--port",
        "0",
    ]
    environment = {**os.environ, "EQUIPOISE_HOME": str(project.home)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        try:
            lines: list[str] = []
            while not lines or "Ctrl-C ends it" not in lines[-1]:
                lines.append(process.stdout.readline().strip())
                assert process.poll() is None, lines
            address = lines[-1].split()[3]
            with urllib.request.urlopen(f"{address}/health", timeout=30) as answer:
                assert answer.status == 200
        finally:
            process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(timeout=60) == 0
    assert lines[0] == "MLflow is up to date: 10 runs written, 0 already there."
    assert any("viewStateShareKey=equipoise" in line for line in lines)
    assert "MLflow has ended." in rest
    with socket.socket() as probe:
        assert probe.connect_ex((HOST, int(address.rpartition(":")[2]))) != 0


def test_sync_reports_a_dead_server_with_its_exit_code(project: "Project") -> None:
    project.finish(2)
    project.store.close()
    command = [sys.executable, "-c", "from equipoise.cli import main; main()", "sync", "--json"]
    environment = {**os.environ, "EQUIPOISE_HOME": str(project.home)}
    dead = subprocess.run(
        [*command, "--tracking-uri", "http://127.0.0.1:9"],
        stdout=subprocess.PIPE,
        env=environment,
        check=False,
    )
    assert dead.returncode == 7
    assert json.loads(dead.stdout)["pending"] is True
    alive = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=False)
    assert alive.returncode == 0
    assert json.loads(alive.stdout)["written"] == 2


def test_a_server_that_dies_midway_leaves_the_rest_to_the_next_sync(project: "Project") -> None:
    keys = project.finish(10)
    running = ExitStack()
    address = running.enter_context(serve(project.home, free_port(0)))
    shown: list[str] = []

    def end_server_after_three(key: str) -> None:
        shown.append(key)
        if len(shown) == 3:
            running.close()

    source = StoreSource(project.store, project.home)
    lock = project.home / "mlflow.lock"
    with running:
        summary = Writer(source, address, lock=lock, on_written=end_server_after_three).sync()
    assert (summary.written, summary.acknowledged, summary.pending) == (3, 0, True)
    assert f"the tracking server at {address} failed" in summary.sentence
    assert len(project.store.outbox_pending()) == 10
    again = project.writer().sync()
    assert (again.unchanged, again.pending, again.problems) == (3, False, [])
    assert sorted(project.runs()) == sorted([*keys, "suite"])
    assert {run.info.status for run in project.runs().values()} == {"FINISHED"}
