"""One number, row or file that is changed in a finished suite is told, with what it was and what it is."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.suites.corruptions import Case, copied, expect_told, rows
from tests.platform.suites.tampering import Copy

if TYPE_CHECKING:
    from tests.platform.suites.conftest import Finished

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("verified")]

CELL = "b0/cell/outcome/matched/0"
TWIN = "b0/cell/oracle/twin/0"
CREDIT = "b0/signals/outcome"
COLLECT = "b0/collect"


def shifted(name: str, place: int, by: float) -> Callable[[dict[str, Any]], None]:
    def change(columns: dict[str, Any]) -> None:
        columns[name] = columns[name].copy()
        columns[name][place] += by

    return change


def an_example(copy: Copy) -> None:
    copy.columns(CELL, "plan.npz", shifted("example", 0, 1))
    copy.reseal(CELL, "plan.npz")


def a_checkpoint(copy: Copy) -> None:
    path = copy.work(CELL) / "policy.safetensors"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    copy.reseal(CELL, "policy.safetensors")


def a_table(copy: Copy) -> None:
    path = copy.work(CELL) / "ledger.csv"
    head, first, second = path.read_text().splitlines()
    cells = first.split(",")
    cells[head.split(",").index("tokens")] = "47"
    path.write_text("\n".join((head, ",".join(cells), second)) + "\n")
    copy.reseal(CELL, "ledger.csv")


def a_cost(copy: Copy) -> None:
    path = copy.work(CREDIT) / "cost.json"
    path.write_text(path.read_text().replace('"scoring_tokens": 0', '"scoring_tokens": 7'))
    copy.reseal(CREDIT, "cost.json")


def a_transcript(copy: Copy) -> None:
    """The prompt of a turn, with the digest that the collection tells of it: only the cells know what they read."""
    from equipoise.policies.transcripts import Transcripts

    copy.columns(COLLECT, "transcripts.npz", shifted("tokens", 0, 1))
    digest = Transcripts.load(copy.work(COLLECT) / "transcripts.npz").digest()
    copy.result(COLLECT, lambda result: result["digests"].update(transcripts=digest))
    copy.reseal(COLLECT, "transcripts.npz")


def a_base(copy: Copy) -> None:
    (first, second) = sorted((copy.home / "cache" / "base").iterdir())
    for name in ("base.safetensors", "cloning.json"):
        shutil.copy2(first / name, second / name)


def a_twin(copy: Copy) -> None:
    copy.execute("UPDATE run_ledgers SET allocated_weight_mass=allocated_weight_mass+1 WHERE job=:job", TWIN)


def case(name: str, change: Callable[[Copy], object], told: str) -> Case:
    """A corruption of the cell, where the pattern names nothing else."""
    return Case(name, change, told if told.startswith(("b0/", "suites", "cache")) else f"{CELL}: {told}")


def of_cell(statement: str) -> Callable[[Copy], object]:
    return rows(statement, CELL)


SMALL = [
    case(
        "ledger number",
        of_cell("UPDATE run_ledgers SET slots=15 WHERE job=:job"),
        "run_ledgers, slots: expected 16, found 15",
    ),
    case(
        "step number",
        of_cell("UPDATE run_steps SET weight_abs=0.5 WHERE job=:job AND step=2"),
        "run_steps, step 2, weight_abs: ",
    ),
    case(
        "step gone",
        of_cell("DELETE FROM run_steps WHERE job=:job AND step=2"),
        "row of run_steps, step 2: expected one, found none",
    ),
    case("plan row", an_example, r"plan\.npz, example, slot 0: expected \d+, found \d+"),
    case(
        "plan weight",
        lambda copy: copy.columns(CELL, "plan.npz", shifted("weight", 3, 0.25)),
        r"plan\.npz, weight, slot 3: ",
    ),
    case("checkpoint", a_checkpoint, r"digest of the weights in policy\.safetensors: "),
    case(
        "outcome",
        of_cell("UPDATE outcomes SET episodes=5 WHERE job=:job AND split='pool' AND task=5"),
        "outcomes, pool task 5, episodes: expected 4, found 5",
    ),
    case(
        "cell gone",
        of_cell("DELETE FROM jobs WHERE id=:job"),
        "registered run: expected a row of the database, as it was finished at",
    ),
    case(
        "result gone",
        of_cell("UPDATE jobs SET result=NULL, state='queued' WHERE id=:job"),
        "result: expected the one it left",
    ),
    case(
        "credit",
        lambda copy: copy.columns(CREDIT, "credit.npz", shifted("value", 7, 1.0)),
        rf"{CREDIT}: credit\.npz, value, \w+ 7: ",
    ),
    case(
        "reward",
        lambda copy: copy.columns(COLLECT, "trajectories.npz", shifted("reward", 3, 1.0)),
        rf"{COLLECT}: digest of trajectories\.npz: ",
    ),
    case("table", a_table, r"ledger\.csv, row 1, tokens: expected \d+, found 47"),
    case("cost", a_cost, rf"{CREDIT}: cost\.json, scoring_tokens: expected 0, found 7"),
    case("transcript", a_transcript, "digest of the transcripts it trained on: expected [0-9a-f]+, found "),
    case(
        "state",
        of_cell("UPDATE jobs SET state='queued' WHERE id=:job"),
        "state: expected done, for there is a result, found queued",
    ),
    case(
        "position", of_cell("UPDATE jobs SET position=1 WHERE id=:job"), r"position: expected \d+, found 1$"
    ),
    case("block", of_cell("UPDATE jobs SET block=1 WHERE id=:job"), "block: expected 0, found 1"),
    case(
        "dependency",
        of_cell(
            "DELETE FROM job_dependencies WHERE job=:job AND needs=(SELECT id FROM jobs WHERE key='b0/base')"
        ),
        "needs: expected .*b0/base.*, found ",
    ),
    case(
        "payload",
        of_cell("UPDATE jobs SET payload=replace(payload, '\"hidden\":16', '\"hidden\":32') WHERE id=:job"),
        "what it was told of its suite.policy.hidden: expected 16, found 32",
    ),
    case(
        "attempt gone",
        of_cell("DELETE FROM attempts WHERE job=:job"),
        "attempts that ended with a result: expected 1, found 0",
    ),
    case(
        "suite",
        of_cell("UPDATE suites SET registered_at='2020-01-01T00:00:00+00:00' WHERE :job>0"),
        "suites, eq1:[0-9a-f]+: registered_at: expected 20",
    ),
    case(
        "begun before",
        of_cell("UPDATE attempts SET started_at=5.0 WHERE job=:job"),
        "suites, eq1:[0-9a-f]+: first attempt: expected no earlier than the registration",
    ),
    case("base kept", a_base, "cache/base/[0-9a-f]{8}: weights, as those of b[01]/base: "),
    case("twin", a_twin, f"{TWIN}: weight_mass allocated in all, as its rule's: "),
]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_a_change_of_a_finished_suite_is_told(finished: "Finished", tmp_path: Path, case: Case) -> None:
    expect_told(copied(finished.home, tmp_path), case)


def test_a_change_of_a_report_is_told(finished: "Finished", tmp_path: Path) -> None:
    copy = copied(finished.home, tmp_path, reports=True)
    assert copy.faults() == []
    assert copy.verdict().suites[0].findings.compared["reports"] == 5
    (folder,) = (path.relative_to(copy.home).as_posix() for path in (copy.home / "reports").iterdir())
    copy.text(f"{folder}/runs.csv", lambda text: text.replace(",16,2,", ",17,2,", 1))
    copy.text(
        f"{folder}/report.html", lambda text: text.replace("two blocks", "three blocks").replace("%", "&", 1)
    )
    found = copy.faults()
    assert any(
        re.match(rf"{folder}/runs\.csv: row 1, planned_slots: expected 16, found 17", fault)
        for fault in found
    )
    assert any(re.match(rf"{folder}/report\.html: line \d+: expected ", fault) for fault in found)


def test_examples_of_rules_and_twins_are_told_beside_each_other(finished: "Finished") -> None:
    (suite,) = Copy(finished.home).verdict().suites
    told = [
        note for note in suite.findings.notes if note.startswith("oracle: unique examples of rule | twin")
    ]
    assert re.search(r"b0 \d+ \(\d\.\d\dx, \d+ tokens\) \| \d+ \(", told[0])


def test_what_was_not_recorded_is_unchecked_and_no_pass(finished: "Finished", tmp_path: Path) -> None:
    copy = copied(finished.home, tmp_path)
    copy.result(CELL, lambda result: result["digests"].pop("transcripts"))
    copy.reseal(CELL)
    assert copy.faults() == []
    (suite,) = copy.verdict().suites
    why = "runs of an earlier version did not record the digest of the transcripts they trained on"
    assert suite.findings.skipped[why] == [CELL]
