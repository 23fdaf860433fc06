"""The demo: registered, stopped and found again; that it ends well is shown by suites that take less time."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from equipoise.store import open_store
from equipoise_preregistration import load_suite, registrations

if TYPE_CHECKING:
    from tests.platform.cli.conftest import Command


@pytest.mark.slow
def test_the_demo_is_registered_and_goes_on_where_it_was_stopped(command: "Command", tmp_path: Path) -> None:
    home = tmp_path / "runs"
    code = "from equipoise.cli import main; main()"
    arguments = ["demo", "--home", str(home), "--slots", "1"]
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as demo:
        deadline = time.monotonic() + 90
        while not list(home.glob("work/*/b*/base/log.txt")):
            assert demo.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        demo.send_signal(signal.SIGINT)
        _, said = demo.communicate(timeout=60)
    assert demo.returncode == 130
    assert "run the same command again to continue" in said
    (registration,) = registrations(home)
    (suite,) = open_store(home, create=False).suites()
    assert suite.hash == registration.hash
    assert not suite.spec["exploratory"]
    assert registration.model == load_suite("demo").suite
    (status,) = json.loads(command("status", "--json", "--home", home).out)
    assert status["name"] == "demo"
    assert not any("running" in states for states in status["counts"].values())
