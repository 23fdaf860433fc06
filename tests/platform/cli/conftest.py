"""The command line inside this process: exit code and what it wrote, without a second interpreter."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.platform.conftest import Finished

from equipoise.cli import main


@dataclass(frozen=True)
class Said:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


Command = Callable[..., Said]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    for name in ("EQUIPOISE_HOME", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["equipoise", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        code = ended.value.code
        return Said(code if isinstance(code, int) else int(bool(code)), said.out, said.err)

    return call


@pytest.fixture(scope="session")
def finished_pilot(finished: Finished) -> Path:
    """A project folder in which the small suite was run to its end, by a process of its own."""
    return finished.home
