import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from equipoise.store import JobSpec, Store, open_store

SUPPORT = Path(__file__).parent / "support"


class Bench:
    """A project folder with one suite, and parents that run its queue in processes of their own."""

    suite = "eq1:0123456789abcdef"

    def __init__(self, home: Path) -> None:
        self.home = home
        self.tally = home / "tally"
        self.parents: list[subprocess.Popen[str]] = []
        self.store: Store = open_store(home)
        self.store.add_suite(self.suite, "suite", {}, "2026-01-01T00:00:00Z")

    def add(
        self, key: str, do: str = "fine", needs: Sequence[str] = (), order: int = 0, **payload: Any
    ) -> None:
        payload = {"do": do, "key": key, "seed": key, "tally": str(self.tally), **payload}
        self.store.add_jobs(self.suite, [JobSpec(key, key.split("/")[1][:4], payload, tuple(needs), order)])

    def start(self, **options: Any) -> subprocess.Popen[str]:
        self.store.close()
        command = [
            sys.executable,
            str(SUPPORT / "drive.py"),
            str(self.home),
            json.dumps({"slots": 2, **options}),
        ]
        environment = {**os.environ, "PYTHONPATH": str(SUPPORT), "OMP_NUM_THREADS": "1"}
        parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        self.parents.append(parent)
        return parent

    def end(self, parent: "subprocess.Popen[str]") -> dict[str, Any]:
        out, _ = parent.communicate(timeout=120)
        assert parent.returncode == 0, f"the parent died of {parent.returncode}"
        ended: dict[str, Any] = json.loads(out.splitlines()[-1])
        return ended

    def run(self, **options: Any) -> dict[str, Any]:
        return self.end(self.start(**options))

    def states(self) -> dict[str, str]:
        return {job.key: job.state for job in self.store.jobs(self.suite)}

    def ends(self, key: str) -> list[str | None]:
        return [attempt.end for attempt in self.store.attempts(self.suite, key)]

    def ran(self) -> Counter[str]:
        return Counter(self.tally.read_text().split()) if self.tally.exists() else Counter()

    def order(self) -> list[str]:
        return self.tally.read_text().split()

    def began(self, key: str) -> bool:
        """Whether a job with trouble in store has begun to run."""
        return Path(f"{self.tally}.{key.replace('/', '.')}").exists()

    def folder(self, key: str) -> Path:
        return self.home / "work" / "01234567" / key


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    for parent in bench.parents:
        parent.kill()
        parent.communicate()
    bench.store.close()
