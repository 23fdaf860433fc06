"""The command line as a process of its own, and one small suite that it has run to the end."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

SMALL = Path(__file__).parent / "data" / "small.yaml"

COMMAND = [sys.executable, "-c", "from equipoise.cli import main; main()"]

ENVIRONMENT = {
    # What a user has not set: the program itself sees to the threads of its libraries.
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("OMP_", "OPENBLAS_", "MKL_", "MLFLOW_", "EQUIPOISE_"))
} | {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}

Equipoise = Callable[..., "subprocess.CompletedProcess[str]"]
Start = Callable[..., "subprocess.Popen[str]"]


@dataclass(frozen=True)
class Finished:
    """A suite that was run to its end, and what the command said meanwhile."""

    home: Path
    said: str


@pytest.fixture(scope="session")
def small() -> Path:
    """The file of a suite of two conditions and two blocks: 20 jobs, some seconds."""
    return SMALL


@pytest.fixture(scope="session")
def equipoise() -> Equipoise:
    """Runs the command line to its end."""

    def call(*arguments: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            check=False,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return call


@pytest.fixture
def start(request: pytest.FixtureRequest) -> Start:
    """Starts the command line and leaves it running; whatever is left of it is killed after the test."""

    def call(*arguments: object) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        request.addfinalizer(lambda: _end(process))
        return process

    return call


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    with process:
        process.wait()


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, equipoise: Equipoise, small: Path) -> Finished:
    """The small suite, registered and run without any trouble."""
    home = tmp_path_factory.mktemp("finished") / "runs"
    registered = equipoise("register", small, "--home", home)
    assert registered.returncode == 0, registered.stderr
    done = equipoise("run", small, "--home", home, "--slots", 2)
    assert done.returncode == 0, done.stderr
    return Finished(home, done.stdout)
