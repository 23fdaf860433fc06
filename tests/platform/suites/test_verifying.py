"""A finished suite passes; each number that is changed in a copy of it is told, by run and name."""

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.suites.tampering import Copy

from equipoise.store import open_store
from equipoise.suites.running import enqueue

if TYPE_CHECKING:
    from tests.platform.suites.conftest import Equipoise, Finished

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("verified")]

CELL = "b0/cell/outcome/matched/0"
CREDIT = "b0/signals/outcome"
COLLECT = "b0/collect"
CELLS = 12


@pytest.fixture
def copy(finished: "Finished", tmp_path: Path) -> Copy:
    shutil.copytree(finished.home, tmp_path / "runs")
    return Copy(tmp_path / "runs")


def set_item(name: str, place: int, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def apply(columns: dict[str, Any]) -> None:
        columns[name] = columns[name].copy()
        columns[name][place] = change(columns[name][place])

    return apply


def bytes_of(home: Path) -> dict[str, tuple[int, str]]:
    return {
        path.relative_to(home).as_posix(): (
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in home.rglob("*")
        if path.is_file()
    }


def test_a_finished_suite_is_whole_and_nothing_of_it_is_touched(copy: Copy) -> None:
    before = bytes_of(copy.home)
    verdict = copy.verdict()
    assert verdict.whole
    (suite,) = verdict.suites
    assert (suite.jobs, suite.done) == (20, 20)
    compared = suite.findings.compared
    assert compared["plans made again"] == CELLS
    assert compared["credit assigned again"] == 2
    assert compared["weights"] == CELLS + 2
    assert min(compared[kind] for kind in ("files", "outcomes", "ledger numbers", "counted", "matches")) > 0
    (why,) = suite.findings.skipped
    assert why == "credit that rests on measurements (truth) is held to its digest only"
    assert bytes_of(copy.home) == before


def test_a_number_of_the_ledger(copy: Copy) -> None:
    copy.execute("UPDATE run_ledgers SET slots=slots-1 WHERE job=:job", CELL)
    copy.execute("UPDATE run_steps SET weight_abs=weight_abs*1.5 WHERE job=:job AND step=2", CELL)
    first, second, third = copy.faults()
    assert first == f"{CELL}: run_ledgers, slots: expected 16, found 15"
    assert second.startswith(f"{CELL}: run_steps, step 2, weight_abs: expected ")
    assert third == f"{CELL}: counted slots, equal in its block: expected 16, found 15"


def test_a_row_of_a_plan(copy: Copy) -> None:
    def swap(columns: dict[str, Any]) -> None:
        columns["example"][[0, 1]] = columns["example"][[1, 0]]

    copy.columns(CELL, "plan.npz", swap)
    found = copy.faults()
    assert found[0].startswith(f"{CELL}: sha256 of plan.npz: expected ")
    assert any(fault.startswith(f"{CELL}: plan.npz, example, slot 0: expected ") for fault in found)


def test_a_weight_in_a_plan_even_if_all_sums_are_put_right(copy: Copy) -> None:
    from equipoise_budget import Plan

    copy.columns(CELL, "plan.npz", set_item("weight", 3, lambda weight: weight + 0.25))
    digest = Plan.load(copy.work(CELL) / "plan.npz").digest()
    copy.result(CELL, lambda result: result["digests"].update(plan=digest))
    copy.reseal(CELL, "plan.npz")
    found = copy.faults()
    assert found[0].startswith(f"{CELL}: plan.npz, weight, slot 3: expected ")
    assert any(f"{CELL}: step 1, weight_abs counted: expected " in fault for fault in found)


def test_a_byte_of_a_checkpoint(copy: Copy) -> None:
    path = copy.work(CELL) / "policy.safetensors"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    first, second = copy.faults()
    assert first.startswith(f"{CELL}: sha256 of policy.safetensors: expected ")
    assert second.startswith(f"{CELL}: digest of the weights in policy.safetensors: expected ")
    copy.reseal(CELL, "policy.safetensors")
    assert copy.faults() == [second]


def test_an_outcome_of_a_run_in_the_database(copy: Copy) -> None:
    copy.execute("UPDATE outcomes SET successes=4-successes WHERE job=:job AND split='pool' AND task=5", CELL)
    copy.execute("UPDATE outcomes SET episodes=5 WHERE job=:job AND split='pool' AND task=5", CELL)
    found = copy.faults()
    assert f"{CELL}: outcomes, pool task 5, episodes: expected 4, found 5" in found

    copy.result(CELL, lambda result: result["outcomes"][0].update(episodes=9))
    found = copy.faults()
    assert any(fault.startswith(f"{CELL}: sum of the result in the database: expected ") for fault in found)
    assert f"{CELL}: result in the database, outcomes.0.episodes: expected 4, found 9" in found


@pytest.mark.parametrize("thorough", [False, True])
def test_a_deleted_cell(copy: Copy, *, thorough: bool) -> None:
    tables = ("outcomes", "artifacts", "run_ledgers", "run_steps", "attempts", "job_dependencies")
    for table in tables if thorough else ():
        copy.execute(f"DELETE FROM {table} WHERE job=:job", CELL)
    copy.execute("DELETE FROM jobs WHERE id=:job", CELL)
    if thorough:
        shutil.rmtree(copy.work(CELL))
    found = copy.faults()
    (gone,) = (fault for fault in found if fault.startswith(f"{CELL}: registered run: "))
    assert re.search(r"as it was finished at 20\d\d-.*Z, found none: it is gone", gone)
    if thorough:
        assert found == [gone]
    else:
        assert any(
            "rows of run_steps: expected each with its row of jobs, found 2 without" in f for f in found
        )
        assert any(fault.startswith(f"{CELL}: folder of files: ") for fault in found)


def test_a_deleted_result(copy: Copy) -> None:
    copy.execute("UPDATE jobs SET result=NULL, state='queued' WHERE id=:job", CELL)
    (fault,) = copy.faults()
    assert fault.startswith(f"{CELL}: result: expected the one it left, as it was finished at ")


def test_a_deleted_row_of_a_step(copy: Copy) -> None:
    copy.execute("DELETE FROM run_steps WHERE job=:job AND step=2", CELL)
    assert f"{CELL}: row of run_steps, step 2: expected one, found none: it is gone" in copy.faults()


def test_a_value_of_credit_even_if_all_sums_are_put_right(copy: Copy) -> None:
    from equipoise_conditions.credit import Credit

    copy.columns(CREDIT, "credit.npz", set_item("value", 7, lambda value: value + 1.0))
    assert any(fault.startswith(f"{CREDIT}: sha256 of credit.npz: ") for fault in copy.faults())
    digest = Credit.load(copy.work(CREDIT) / "credit.npz").digest()
    copy.result(CREDIT, lambda result: result["credit"].update(digest=digest))
    copy.reseal(CREDIT, "credit.npz")
    found = copy.faults()
    assert re.match(rf"{CREDIT}: credit.npz, value, \w+ 7: expected .*, found ", found[0])
    assert any(fault.startswith(f"{CELL}: digest of the credit it trained on: ") for fault in found)


def test_a_reward_of_a_trajectory(copy: Copy) -> None:
    copy.columns(COLLECT, "trajectories.npz", set_item("reward", 3, lambda reward: 1.0 - reward))
    first, second = copy.faults()
    assert first.startswith(f"{COLLECT}: sha256 of trajectories.npz: expected ")
    assert second.startswith(f"{COLLECT}: digest of trajectories.npz: expected ")
    copy.reseal(COLLECT, "trajectories.npz")
    again = copy.faults()
    assert second in again
    assert any(fault.startswith(f"{CELL}: digest of the trajectories it trained on: ") for fault in again)


def test_a_line_of_the_registrations(copy: Copy, equipoise: "Equipoise") -> None:
    chain = copy.home / "registrations.jsonl"
    chain.write_text(chain.read_text().replace('"name":"small"', '"name":"smell"'))
    shown = equipoise("verify", "--home", copy.home)
    assert shown.returncode == 3
    assert "registrations.jsonl: broken at line 1: expected the entry hash" in shown.stderr
    assert "whole" not in shown.stdout


def test_a_registration_that_is_taken_out_of_the_chain(copy: Copy) -> None:
    registrations = copy.verdict().chain.registrations
    (copy.home / "registrations.jsonl").write_text("")
    around = registrations[0]
    from equipoise.suites.verifying import verify_home

    verdict = verify_home(copy.home)
    (fault,) = verdict.suites[0].findings.faults
    assert fault.sentence.startswith(
        f"small @ {around.hash8} in the database: registration: expected a line of "
    )


def test_a_run_that_was_not_registered(copy: Copy) -> None:
    added = "b0/cell/outcome/matched/9"
    with copy.database() as connection:
        connection.execute(
            "INSERT INTO jobs (suite, key, kind, block, position, payload, state, tries)"
            " SELECT suite, ?, kind, block, position, payload, 'queued', 0 FROM jobs WHERE key=?",
            (added, CELL),
        )
    shutil.copytree(copy.work(CELL), copy.work("b0/cell/outcome/matched/10"))
    run, folder = copy.faults()
    assert run == f"{added}: run: expected none that was not registered, found one of kind cell"
    assert folder.startswith(
        "b0/cell/outcome/matched/10: folder of files: expected none of a run that was not registered"
    )


def test_what_a_run_was_told(copy: Copy) -> None:
    copy.execute(
        "UPDATE jobs SET payload=replace(payload, '\"hidden\":16', '\"hidden\":32') WHERE id=:job", CELL
    )
    assert copy.faults()[0] == f"{CELL}: what it was told of its suite.policy.hidden: expected 16, found 32"


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (CELL, "plan.npz"),
        (CELL, "policy.safetensors"),
        (CELL, "ledger.csv"),
        (CELL, "result.json"),
        (CREDIT, "credit.npz"),
        (COLLECT, "transcripts.npz"),
    ],
)
def test_files_that_are_half_written_or_missing_are_faults(copy: Copy, key: str, name: str) -> None:
    path = copy.work(key) / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert any(fault.startswith(f"{key}: sha256 of {name}: expected ") for fault in copy.faults())
    path.unlink()
    (fault,) = copy.faults()
    assert fault.startswith(f"{key}: {name}: expected the file that the run left")


def test_an_input_that_is_gone_is_told_once_and_what_rests_on_it_is_named(copy: Copy) -> None:
    (copy.work(COLLECT) / "trajectories.npz").unlink()
    verdict = copy.verdict()
    (suite,) = verdict.suites
    (fault,) = suite.findings.faults
    assert (fault.where, fault.what) == (COLLECT, "trajectories.npz")
    why = "plans are not made again from trajectories or credit that were changed"
    assert CELL in suite.findings.skipped[why]


def test_rows_that_are_garbage_are_faults(copy: Copy) -> None:
    copy.execute('UPDATE jobs SET result=\'{"kind": "ce\' WHERE id=:job', CELL)
    copy.result(CREDIT, lambda result: result.pop("credit"))
    found = copy.faults()
    assert any(
        fault.startswith(f"{CELL}: result in the database: expected an object of JSON") for fault in found
    )
    assert any(
        fault.startswith(f"{CREDIT}: result and payload: expected the form that runs write")
        for fault in found
    )


def test_a_database_that_is_cut_is_a_fault_without_a_traceback(copy: Copy, equipoise: "Equipoise") -> None:
    path = copy.home / "equipoise.db"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    shown = equipoise("verify", "--home", copy.home)
    assert shown.returncode == 3
    assert "equipoise.db: database: expected one that can be read, found " in shown.stderr
    assert "Traceback" not in shown.stderr
    path.unlink()
    (fault,) = copy.faults()
    assert fault == "equipoise.db: database: expected one, for there are files of runs, found none"


def test_other_code_may_plan_otherwise_and_says_so(copy: Copy) -> None:
    copy.columns(CELL, "plan.npz", set_item("weight", 3, lambda weight: weight + 0.25))
    copy.reseal(CELL, "plan.npz")
    verdict = copy.verdict(same_code=False)
    (suite,) = verdict.suites
    assert next(fault.what for fault in suite.findings.faults if fault.where == CELL) == "digest of plan.npz"
    assert any(why.startswith("plans made again: ") for why in suite.findings.skipped)
    assert suite.findings.notes[0].startswith("registered under other code")


def test_a_suite_that_is_not_complete_has_no_fault(finished: "Finished", tmp_path: Path) -> None:
    from equipoise.suites.freezing import recorded

    whole = open_store(finished.home, create=False)
    _, frozen = recorded(whole, None)
    whole.close()
    for name in ("registrations.jsonl", "registered"):
        place = shutil.copytree if (finished.home / name).is_dir() else shutil.copy2
        place(finished.home / name, tmp_path / name)
    store = open_store(tmp_path)
    enqueue(store, frozen)
    store.close()
    assert Copy(tmp_path).faults() == []


def test_the_command_tells_all_faults_and_passes_what_is_whole(
    finished: "Finished", copy: Copy, equipoise: "Equipoise"
) -> None:
    shown = equipoise("verify", "small", "--home", finished.home)
    assert shown.returncode == 0, shown.stderr
    assert "20 of 20" in shown.stdout
    assert "not checked: training, evaluation and measurements are not repeated" in shown.stdout
    assert "whole: 1 registrations, head " in shown.stdout

    copy.execute("UPDATE run_ledgers SET slots=slots-1 WHERE job=:job", CELL)
    broken = equipoise("verify", "--home", copy.home, "--json")
    assert broken.returncode == 3
    assert (
        f"small @ {copy.verdict().suites[0].hash[4:12]}: {CELL}: run_ledgers, slots: expected 16, found 15"
        in broken.stderr
    )
    assert '"whole": false' in broken.stdout

    unknown = equipoise("verify", "nothing", "--home", copy.home)
    assert unknown.returncode == 4
    assert "expected a suite that was run in " in unknown.stderr
