"""The server answers while it is needed, and nothing of it is left afterwards."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from equipoise.errors import TrackingError
from equipoise.tracking.server import HOST, free_port, serve

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
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.strip())
        if "Ctrl-C ends it" in line:
            break
    address = next(word for word in lines[-1].split() if word.startswith("http"))
    assert lines[0] == "MLflow is up to date: 10 runs written, 0 already there."
    assert any("viewStateShareKey=equipoise" in line for line in lines)
    with urllib.request.urlopen(f"{address}/health", timeout=30) as answer:
        assert answer.status == 200
    process.send_signal(signal.SIGINT)
    rest = process.stdout.read()
    assert process.wait(timeout=30) == 0
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
