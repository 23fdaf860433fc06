"""A search that is killed on the way and resumed ends as one that was left alone."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.store import Store, open_store
from equipoise.suites.freezing import recorded
from equipoise.suites.search import REASON, found_in
from equipoise.suites.study import study_of
from equipoise.suites.verifying import verify_home
from equipoise_preregistration import verify_chain
from equipoise_preregistration.registry import amendments

pytestmark = pytest.mark.slow

SUITE = Path(__file__).parent / "data" / "tuned.yaml"
CONDITIONS, TRIALS, BLOCKS, STEPS = 3, 2, 2, 2
PATIENCE = 300.0

# What `equipoise register` and `equipoise tune` do; the registration is found again even if the sources that these
# tests are run from change meanwhile.
SCRIPT = """
import sys
from pathlib import Path
from equipoise.suites.freezing import Frozen
from equipoise_preregistration import load_suite, register, registrations
home, file = map(Path, sys.argv[1:])
loaded = load_suite(file)
known = registrations(home)
frozen = Frozen(known[0] if known else register(loaded, home), loaded.raw.decode())
from equipoise.suites.running import tune_suite
summary = tune_suite(frozen, home, slots=2)
sys.exit(0 if summary is None or summary.complete else 1)
"""


def start(home: Path) -> "subprocess.Popen[str]":
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", "-c", SCRIPT, str(home), str(home / "suite.yaml")]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def prepared(home: Path) -> Path:
    """A folder with a suite whose last trial of each condition depends on those before."""
    home.mkdir()
    text = SUITE.read_text(encoding="utf-8").replace("trials: 4", f"trials: {TRIALS}\n  sampler: tpe")
    (home / "suite.yaml").write_text(text, encoding="utf-8")
    return home


def trials_done(home: Path) -> int:
    """Trial runs that have ended, seen from outside without disturbing them."""
    return len(list(home.glob("work/*/tuning/trial/*/*/*/result.json")))


def until(said: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not said():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def a_trial_at_work(parent: int) -> int | None:
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    for child in listed:
        try:
            if "/trial/" in str(Path(f"/proc/{child}/cwd").readlink()):
                return int(child)
        except OSError:
            continue
    return None


def ended(process: "subprocess.Popen[str]") -> None:
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said


def digests(store: Store) -> dict[str, Any]:
    (suite,) = store.suites()
    found = store.results_by_key(suite.hash)
    return {key: (r.get("digests"), r.get("outcomes"), r["values"]) for key, r in sorted(found.items())}


def test_a_killed_search_ends_with_the_same_trials_steps_and_choice(tmp_path: Path) -> None:
    alone, home = prepared(tmp_path / "alone"), prepared(tmp_path / "killed")
    reference = start(alone)
    running = start(home)
    # Past the registered points, the first half of the trials: the next ones depend on what these came to.
    until(lambda: running.poll() is not None or trials_done(home) > (TRIALS - 1) * CONDITIONS * BLOCKS)
    running.kill()
    running.communicate()
    assert running.returncode == -signal.SIGKILL
    resumed = start(home)
    until(lambda: resumed.poll() is not None or a_trial_at_work(resumed.pid))
    child = a_trial_at_work(resumed.pid)
    if child is not None:
        os.kill(child, signal.SIGKILL)
    ended(resumed)
    ended(reference)

    stores = [open_store(folder, create=False) for folder in (home, alone)]
    assert digests(stores[0]) == digests(stores[1])
    record, frozen = recorded(stores[0], None)
    found = found_in(stores[0], frozen)
    assert [search.counted for search in found] == CONDITIONS * [TRIALS * BLOCKS * STEPS]
    assert [search.breaches for search in found] == CONDITIONS * [()]
    assert found == found_in(stores[1], recorded(stores[1], None)[1])

    # Crashed runs cost no condition a trial, and no run was done twice.
    ends = Counter((attempt.key, attempt.end) for attempt in stores[0].attempts(record.hash))
    assert {number for (_, end), number in ends.items() if end == "done"} == {1}
    assert "lost" in {end for _, end in ends}
    assert len(stores[0].results(record.hash, "trial")) == CONDITIONS * TRIALS * BLOCKS

    for folder in (home, alone):
        assert verify_chain(folder).broken is None
        assert [suite.findings.faults for suite in verify_home(folder).suites] == [[]]
        (kept,) = amendments(folder, record.hash)
        assert kept.reason == REASON
        assert kept.content["tuning"]["chosen"] == {s.condition: s.chosen.values for s in found}
    # Nothing of the comparison has begun, and nothing of the search is taken for it.
    results = stores[0].results_by_key(record.hash)
    assert not study_of(frozen.registration, frozen.raw, results).runs
    for store in stores:
        store.close()
