"""A suite of two rounds through the command line: counted, killed and resumed, verified, and corrupted."""

import contextlib
import os
import shutil
import signal
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.suites.tampering import Copy

from equipoise.store import open_store

if TYPE_CHECKING:
    import subprocess

    from tests.platform.suites.conftest import Equipoise, Start

pytestmark = pytest.mark.slow

SUITE = Path(__file__).parent / "data" / "rounds.yaml"
CELL = "b0/cell/sparse/matched/0"
PATIENCE = 300.0


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory, equipoise: "Equipoise") -> Copy:
    """The suite, registered and run."""
    home = tmp_path_factory.mktemp("rounds") / "runs"
    for command in ("register", "run"):
        done = equipoise(command, SUITE, "--home", home)
        assert done.returncode == 0, done.stderr
    return Copy(home)


@pytest.fixture
def copied(rounds: Copy, tmp_path: Path) -> Copy:
    shutil.copytree(rounds.home, tmp_path / "runs")
    return Copy(tmp_path / "runs")


def kept(home: Path) -> dict[str, Any]:
    """Digests, outcomes and what was received of every job, and the sums of its files."""
    store = open_store(home, create=False)
    (suite,) = store.suites()
    found = {
        key: {name: value for name, value in result.items() if name != "seconds"}
        for key, result in store.results_by_key(suite.hash).items()
    }
    sums = {
        job.key: {name: file.sha256 for name, file in job.artifacts.items() if name != "result.json"}
        for stored in store.audit()
        for job in stored.jobs
    }
    store.close()
    return {key: (found[key], sums[key]) for key in sorted(found)}


def test_each_round_of_every_matched_and_twin_cell_counted_its_share(rounds: Copy) -> None:
    store = open_store(rounds.home, create=False)
    (suite,) = store.suites()
    cells = [ledger for ledger in store.ledgers(suite.hash) if ledger.kind == "cell"]
    assert len(cells) == 12
    for ledger in cells:
        steps = [step.values for step in store.steps(suite.hash, ledger.key)]
        slots = Counter[int]()
        for step in steps:
            slots[int(step["round"] or 0)] += int(step["slots"] or 0)
        assert set(slots) == {1, 2}
        assert ledger.values["slots"] == slots.total()
        if "/native/" not in ledger.key:
            assert slots == {1: 48, 2: 48}
            assert [step["round"] for step in steps] == [1] * 12 + [2] * 12
    store.close()


def test_the_suite_is_whole_and_its_later_plans_were_made_again(rounds: Copy) -> None:
    assert rounds.faults() == []
    (suite,) = rounds.verdict().suites
    # Two plans a cell.
    assert suite.findings.compared["plans made again"] == 2 * 12
    assert not any("rounds" in why for why in suite.findings.skipped)


def test_a_cell_killed_in_its_second_round_is_run_again_to_the_same_bits(
    rounds: Copy, equipoise: "Equipoise", start: "Start", tmp_path: Path
) -> None:
    home = tmp_path / "runs"
    equipoise("register", SUITE, "--home", home)
    running = start("run", SUITE, "--home", home)
    deadline, killed = time.monotonic() + PATIENCE, 0
    while killed < 2 and running.poll() is None:
        assert time.monotonic() < deadline
        killed += _kill_in_second_round(home, running)
        time.sleep(0.002)
    _, said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    assert killed == 2
    store = open_store(home, create=False)
    (suite,) = store.suites()
    ends = Counter(attempt.end for attempt in store.attempts(suite.hash))
    store.close()
    assert ends["lost"] == 2
    assert kept(home) == kept(rounds.home)
    assert Copy(home).faults() == []


def _kill_in_second_round(home: Path, running: "subprocess.Popen[str]") -> int:
    """Kill a job that trains on its second plan; return how many were."""
    listed = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    for child in listed:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            folder = Path(f"/proc/{child}/cwd").readlink()
            if folder.is_relative_to(home / "work") and (folder / "plan-2.npz").exists():
                os.kill(int(child), signal.SIGKILL)
                time.sleep(0.5)
                return 1
    return 0


def test_a_weight_of_a_later_plan_is_told(copied: Copy) -> None:
    def change(columns: dict[str, Any]) -> None:
        columns["weight"] = columns["weight"].copy()
        columns["weight"][3] += 1.0

    copied.columns(CELL, "plan-2.npz", change)
    copied.reseal(CELL, "plan-2.npz")
    found = copied.faults()
    assert any(fault.startswith(f"{CELL}, round 2: digest of plan-2.npz: expected eq1:") for fault in found)
    assert any(fault.startswith(f"{CELL}, round 2: plan-2.npz, weight, slot 3: expected ") for fault in found)


def test_credit_and_trajectories_of_a_later_round_are_held_to_their_digests(copied: Copy) -> None:
    cell = "b0/cell/dense/matched/0"

    def change(columns: dict[str, Any]) -> None:
        columns["value"] = columns["value"].copy()
        columns["value"][0] += 1.0

    copied.columns(cell, "round-2/credit.npz", change)
    copied.reseal(cell, "round-2/credit.npz")
    (copied.work(CELL) / "round-2" / "trajectories.npz").unlink()
    found = copied.faults()
    assert any(fault.startswith(f"{cell}, round 2: credit.npz, value, ") for fault in found)
    assert any(f.startswith(f"{CELL}: round-2/trajectories.npz: expected the file") for f in found)


def test_numbers_of_rounds_that_do_not_add_up_are_told(copied: Copy) -> None:
    def change(result: dict[str, Any]) -> None:
        result["rounds"][1]["dose"]["slots"] = 47
        result["rounds"][1]["cost"]["rollout_tokens"] += 1
        result["rounds"][1]["collected"]["success"] += 0.5
        result["round_of_step"][11] = 2

    copied.result(CELL, change)
    copied.reseal(CELL)
    found = copied.faults()
    assert any(f"{CELL}: slots, which the rounds add up to: expected 95, found 96" in f for f in found)
    assert any(f"{CELL}, round 2: trajectories collected, and their mean outcome: " in f for f in found)
    assert any(f"{CELL}: cost, which the rounds add up to: " in f for f in found)
    assert any(f"{CELL}: run_steps, step 12, round: expected 2, found 1" in f for f in found)


def test_a_round_that_is_gone_is_told(copied: Copy) -> None:
    copied.result(CELL, lambda result: result["rounds"].pop())
    copied.reseal(CELL)
    assert any(f.startswith(f"{CELL}: rounds: expected [1, 2], found [1]") for f in copied.faults())
