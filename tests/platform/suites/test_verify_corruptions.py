"""One number, row or file that is changed in a finished suite is told, with what it was and what it is."""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.suites.tampering import Copy

from equipoise_preregistration import Registration
from equipoise_preregistration.amendment import Amendment

if TYPE_CHECKING:
    from tests.platform.suites.conftest import Equipoise, Finished

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("verified")]

CELL = "b0/cell/outcome/matched/0"
TWIN = "b0/cell/oracle/twin/0"
CREDIT = "b0/signals/outcome"
COLLECT = "b0/collect"
TRIAL = "tuning/trial/states/0/0"
CHAIN = r"registrations\.jsonl: "


@dataclass(frozen=True)
class Case:
    """A corruption, and what the fault that tells it must begin with, as a pattern."""

    name: str
    change: Callable[[Copy], object]
    told: str


def shifted(name: str, place: int, by: float) -> Callable[[dict[str, Any]], None]:
    def change(columns: dict[str, Any]) -> None:
        columns[name] = columns[name].copy()
        columns[name][place] += by

    return change


def rows(statement: str, key: str = CELL) -> Callable[[Copy], object]:
    return lambda copy: copy.execute(statement, key)


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


SMALL = [
    Case(
        "ledger number",
        rows("UPDATE run_ledgers SET slots=15 WHERE job=:job"),
        "run_ledgers, slots: expected 16, found 15",
    ),
    Case(
        "step number",
        rows("UPDATE run_steps SET weight_abs=0.5 WHERE job=:job AND step=2"),
        "run_steps, step 2, weight_abs: ",
    ),
    Case(
        "step gone",
        rows("DELETE FROM run_steps WHERE job=:job AND step=2"),
        "row of run_steps, step 2: expected one, found none",
    ),
    Case("plan row", an_example, r"plan\.npz, example, slot 0: expected \d+, found \d+"),
    Case(
        "plan weight",
        lambda copy: copy.columns(CELL, "plan.npz", shifted("weight", 3, 0.25)),
        r"plan\.npz, weight, slot 3: ",
    ),
    Case("checkpoint", a_checkpoint, r"digest of the weights in policy\.safetensors: "),
    Case(
        "outcome",
        rows("UPDATE outcomes SET episodes=5 WHERE job=:job AND split='pool' AND task=5"),
        "outcomes, pool task 5, episodes: expected 4, found 5",
    ),
    Case(
        "cell gone",
        rows("DELETE FROM jobs WHERE id=:job"),
        "registered run: expected a row of the database, as it was finished at",
    ),
    Case(
        "result gone",
        rows("UPDATE jobs SET result=NULL, state='queued' WHERE id=:job"),
        "result: expected the one it left",
    ),
    Case(
        "credit",
        lambda copy: copy.columns(CREDIT, "credit.npz", shifted("value", 7, 1.0)),
        rf"{CREDIT}: credit\.npz, value, \w+ 7: ",
    ),
    Case(
        "reward",
        lambda copy: copy.columns(COLLECT, "trajectories.npz", shifted("reward", 3, 1.0)),
        rf"{COLLECT}: digest of trajectories\.npz: ",
    ),
    Case("table", a_table, r"ledger\.csv, row 1, tokens: expected \d+, found 47"),
    Case("cost", a_cost, rf"{CREDIT}: cost\.json, scoring_tokens: expected 0, found 7"),
    Case("transcript", a_transcript, "digest of the transcripts it trained on: expected [0-9a-f]+, found "),
    Case(
        "state",
        rows("UPDATE jobs SET state='queued' WHERE id=:job"),
        "state: expected done, for there is a result, found queued",
    ),
    Case("position", rows("UPDATE jobs SET position=1 WHERE id=:job"), r"position: expected \d+, found 1$"),
    Case("block", rows("UPDATE jobs SET block=1 WHERE id=:job"), "block: expected 0, found 1"),
    Case(
        "dependency",
        rows(
            "DELETE FROM job_dependencies WHERE job=:job AND needs=(SELECT id FROM jobs WHERE key='b0/base')"
        ),
        "needs: expected .*b0/base.*, found ",
    ),
    Case(
        "payload",
        rows("UPDATE jobs SET payload=replace(payload, '\"hidden\":16', '\"hidden\":32') WHERE id=:job"),
        "what it was told of its suite.policy.hidden: expected 16, found 32",
    ),
    Case(
        "attempt gone",
        rows("DELETE FROM attempts WHERE job=:job"),
        "attempts that ended with a result: expected 1, found 0",
    ),
    Case(
        "suite",
        rows("UPDATE suites SET registered_at='2020-01-01T00:00:00+00:00' WHERE :job>0"),
        "suites, eq1:[0-9a-f]+: registered_at: expected 20",
    ),
    Case(
        "begun before",
        rows("UPDATE attempts SET started_at=5.0 WHERE job=:job"),
        "suites, eq1:[0-9a-f]+: first attempt: expected no earlier than the registration",
    ),
    Case("base kept", a_base, "cache/base/[0-9a-f]{8}: weights, as those of b[01]/base: "),
    Case("twin", a_twin, f"{TWIN}: weight_mass allocated in all, as its rule's: "),
]


def without_amendment(item: Registration | Amendment) -> Registration | Amendment | None:
    return None if isinstance(item, Amendment) else item


def later(item: Registration | Amendment) -> Registration | Amendment:
    return (
        replace(item, amended_at=item.amended_at + timedelta(hours=1))
        if isinstance(item, Amendment)
        else item
    )


def earlier(item: Registration | Amendment) -> Registration | Amendment:
    return (
        replace(item, amended_at=item.amended_at - timedelta(hours=1))
        if isinstance(item, Amendment)
        else item
    )


def other_choice(item: Registration | Amendment) -> Registration | Amendment:
    if not isinstance(item, Amendment):
        return item
    content = dict(item.content["tuning"])
    content["chosen"] = {**content["chosen"], "states": {**content["chosen"]["states"], "gamma": 0.51}}
    return replace(item, content={"tuning": content})


def other_points(item: Registration | Amendment) -> Registration | Amendment:
    return (
        replace(item, points=({"gamma": 0.6, "training.learning_rate": 0.001},))
        if isinstance(item, Registration)
        else item
    )


def a_trial_more(copy: Copy) -> None:
    with copy.database() as connection:
        connection.execute(
            "INSERT INTO jobs (suite, key, kind, block, position, payload, state, tries)"
            " SELECT suite, 'tuning/trial/states/2/0', kind, block, position, payload, 'queued', 0"
            " FROM jobs WHERE key=?",
            (TRIAL,),
        )


def a_trial_less(copy: Copy) -> None:
    for table in ("outcomes", "artifacts", "run_ledgers", "run_steps", "attempts", "job_dependencies"):
        copy.execute(f"DELETE FROM {table} WHERE job=:job", TRIAL)
    copy.execute("DELETE FROM jobs WHERE id=:job", TRIAL)
    with copy.database() as connection:
        connection.execute("DELETE FROM events WHERE key=?", (TRIAL,))
    shutil.rmtree(copy.work(TRIAL))


def a_trial_told_otherwise(copy: Copy) -> None:
    with copy.database() as connection:
        connection.execute(
            "UPDATE jobs SET payload=json_set(payload, '$.values.gamma', 0.5) WHERE key=?", (TRIAL,)
        )


def a_trial_that_won(copy: Copy) -> None:
    """The result of a trial, with all that rests on it in the store put right."""

    def win(result: dict[str, Any]) -> None:
        for row in result["outcomes"]:
            row["successes"] = row["episodes"]

    copy.result(TRIAL, win)
    copy.execute("UPDATE outcomes SET successes=episodes WHERE job=:job", TRIAL)
    copy.reseal(TRIAL)


def in_studies(statement: str) -> Callable[[Copy], object]:
    trial = "(SELECT trial_id FROM trials JOIN studies USING (study_id) WHERE number=0 AND study_name LIKE '%/states')"

    def change(copy: Copy) -> None:
        with copy.studies() as connection:
            assert connection.execute(statement.replace(":trial", trial)).rowcount == 1

    return change


STATES = r"tuning\.db, states: "

TUNED = [
    Case(
        "amendment gone",
        lambda copy: copy.rechain(without_amendment),
        CHAIN + r"tuned @ \w+: expected an amendment with the choice .*, found none",
    ),
    Case(
        "amended later",
        lambda copy: copy.rechain(later),
        CHAIN + r"time of the amendment: expected before b0/\S+ began, ",
    ),
    Case(
        "amended earlier",
        lambda copy: copy.rechain(earlier),
        CHAIN + r"time of the amendment: expected after tuning/\S+ had ended, ",
    ),
    Case(
        "choice",
        lambda copy: copy.rechain(other_choice),
        CHAIN + r"amendment, chosen of states: expected .*, found \{'gamma': 0\.51, ",
    ),
    Case("points", lambda copy: copy.rechain(other_points), r"tuned @ \w+ in the database: registration: "),
    Case(
        "trial added",
        a_trial_more,
        r"tuning/trial/states/2/0: run: expected none that was not registered, found one of kind trial",
    ),
    Case(
        "trial deleted",
        a_trial_less,
        rf"{TRIAL}: registered run: expected a row of the database, found none: it is gone",
    ),
    Case(
        "trial queued",
        rows("UPDATE jobs SET state='queued', result=NULL WHERE id=:job", TRIAL),
        f"{TRIAL}: result: expected the one it left",
    ),
    Case(
        "trial's point",
        a_trial_told_otherwise,
        rf"{TRIAL}: what it was told of its values\.gamma: expected 0\.\d+, found 0\.5",
    ),
    Case(
        "trial's outcome", a_trial_that_won, STATES + r"trial 0, what its runs came to: expected 1\.0, found "
    ),
    Case(
        "study's value",
        in_studies("UPDATE trial_values SET value=0.999 WHERE trial_id=:trial"),
        STATES + r"trial 0, what its runs came to: expected .*, found 0\.999",
    ),
    Case(
        "study's point",
        in_studies("UPDATE trial_params SET param_value=0.777 WHERE param_name='gamma' AND trial_id=:trial"),
        STATES + r"trial 0, what is tried: expected .*, found \{'gamma': 0\.777, ",
    ),
    Case(
        "study's state",
        in_studies("UPDATE trials SET state='FAIL' WHERE trial_id=:trial"),
        STATES + r"trial 0, state: expected COMPLETE, found FAIL",
    ),
    Case(
        "study's trial gone",
        in_studies("DELETE FROM trials WHERE trial_id=:trial"),
        STATES + r"numbers of its trials: expected \[0, 1\], found \[1\]",
    ),
    Case(
        "studies gone",
        lambda copy: (copy.home / "tuning.db").unlink(),
        r"tuning\.db: database of the trials: expected one, .*, found none",
    ),
]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory, equipoise: "Equipoise") -> Path:
    """A suite with a search of two trials a condition, the second by TPE, in one block; registered and run."""
    home = tmp_path_factory.mktemp("searched") / "runs"
    text = (Path(__file__).parent / "data" / "tuned.yaml").read_text(encoding="utf-8")
    text = text.replace("trials: 4", "trials: 2\n  sampler: tpe").replace("blocks: 2", "blocks: 1")
    suite = home.parent / "tuned.yaml"
    suite.write_text(text, encoding="utf-8")
    for command in ("register", "run"):
        done = equipoise(command, suite, "--home", home)
        assert done.returncode == 0, done.stderr
    return home


def copied(home: Path, folder: Path) -> Copy:
    shutil.copytree(home, folder / "runs", ignore=shutil.ignore_patterns("mlflow*", "mlartifacts"))
    return Copy(folder / "runs")


def expect_told(copy: Copy, case: Case) -> None:
    case.change(copy)
    found = copy.faults()
    pattern = (
        case.told
        if case.told.startswith((CHAIN, "tun", "suites", "cache", "b0/"))
        else f"{CELL}: {case.told}"
    )
    assert any(re.match(pattern, fault) for fault in found), "\n".join(found)


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_a_change_of_a_finished_suite_is_told(finished: "Finished", tmp_path: Path, case: Case) -> None:
    expect_told(copied(finished.home, tmp_path), case)


@pytest.mark.parametrize("case", TUNED, ids=lambda case: case.name)
def test_a_change_of_a_finished_search_is_told(searched: Path, tmp_path: Path, case: Case) -> None:
    expect_told(copied(searched, tmp_path), case)


def test_a_finished_search_is_whole_and_nothing_of_it_is_skipped(searched: Path, tmp_path: Path) -> None:
    copy = copied(searched, tmp_path)
    assert copy.faults() == []
    (suite,) = copy.verdict().suites
    assert suite.findings.compared["trials"] > 0
    assert not any("propose" in why for why in suite.findings.skipped)


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
