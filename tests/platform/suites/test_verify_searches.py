"""A finished search that is changed is told: its amendment, trials and points, and the trials in Optuna's database."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.suites.corruptions import Case, copied, expect_told, rows
from tests.platform.suites.tampering import Copy

from equipoise_preregistration import Registration
from equipoise_preregistration.amendment import Amendment

if TYPE_CHECKING:
    from tests.platform.suites.conftest import Equipoise

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("searched")]

TRIAL = "tuning/trial/states/0/0"
CHAIN = r"registrations\.jsonl: "


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
        rf"{TRIAL}: registered run: expected a row of the database, as it was finished at .*, found none: it is gone",
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


@pytest.mark.parametrize("case", TUNED, ids=lambda case: case.name)
def test_a_change_of_a_finished_search_is_told(searched: Path, tmp_path: Path, case: Case) -> None:
    expect_told(copied(searched, tmp_path), case)


def test_a_finished_search_is_whole_and_nothing_of_it_is_skipped(searched: Path, tmp_path: Path) -> None:
    copy = copied(searched, tmp_path)
    assert copy.faults() == []
    (suite,) = copy.verdict().suites
    assert suite.findings.compared["trials"] > 0
    assert not any("propose" in why for why in suite.findings.skipped)
