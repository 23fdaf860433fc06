"""Optuna as the sampler: the same proposals for every condition, whenever it is asked and however it was stopped."""

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import optuna
import pytest

from equipoise.errors import StoreError
from equipoise.tuning.studies import DATABASE_FILE, Proposed, Studies
from equipoise_preregistration import Suite
from equipoise_preregistration.points import draw_points

if TYPE_CHECKING:
    from tests.platform.tuning.conftest import MakeTuned

IDENTITY = "eq1:" + 64 * "a"


def search(home: Path, suite: Suite, upto: int, worth: float = 1.0) -> dict[str, list[Proposed]]:
    """Ask and tell, as a new process would, until so many trials of each condition have their value."""
    studies = open_studies(home, suite)
    found: dict[str, list[Proposed]] = {}
    for _ in range(upto + 1):
        with studies.held():
            for condition in suite.conditions:
                found[condition.id] = studies.propose(condition.id)
                for trial in found[condition.id][:upto]:
                    studies.tell(trial, value(trial, worth))
    return found


def open_studies(home: Path, suite: Suite, identity: str = IDENTITY) -> Studies:
    return Studies(home, identity, suite, draw_points(suite.tuning, suite.seed))


def value(trial: Proposed, worth: float = 1.0) -> float:
    rate = trial.values["training.learning_rate"]
    assert isinstance(rate, float)
    return worth * rate


def proposed(found: dict[str, list[Proposed]]) -> dict[str, list[dict[str, object]]]:
    return {name: [dict(trial.values) for trial in trials] for name, trials in found.items()}


def test_registered_points_are_there_at_once_and_shared_by_all_conditions(
    make_tuned: "MakeTuned", tmp_path: Path
) -> None:
    suite = make_tuned()
    points = draw_points(suite.tuning, suite.seed)
    found = proposed(search(tmp_path, suite, 0))
    assert found["gigpo"] == list(points)
    shared = ("training.clip", "training.learning_rate")
    assert found["outcome"] == [{name: point[name] for name in shared} for point in points]


def test_no_condition_gets_more_trials_than_registered(make_tuned: "MakeTuned", tmp_path: Path) -> None:
    for _ in range(3):
        found = search(tmp_path, make_tuned(), 4)
    assert {name: len(trials) for name, trials in found.items()} == {"outcome": 4, "gigpo": 4, "turns": 4}


def test_tpe_proposes_when_all_trials_before_have_their_value(
    make_tuned: "MakeTuned", tmp_path: Path
) -> None:
    suite = make_tuned(sampler="tpe", trials=6)
    assert len(search(tmp_path, suite, 0)["gigpo"]) == 3
    assert len(search(tmp_path, suite, 2)["gigpo"]) == 3
    assert len(search(tmp_path, suite, 3)["gigpo"]) == 4
    assert len(search(tmp_path, suite, 6)["gigpo"]) == 6


def test_tpe_learns_from_what_it_was_told(make_tuned: "MakeTuned", tmp_path: Path) -> None:
    suite = make_tuned(sampler="tpe", trials=8)
    (tmp_path / "up").mkdir()
    (tmp_path / "down").mkdir()
    up, down = (
        search(tmp_path / name, suite, 8, sign)["outcome"] for name, sign in (("up", 1), ("down", -1))
    )
    assert [trial.values for trial in up[:4]] == [trial.values for trial in down[:4]]
    assert max(map(value, up[4:])) > max(map(value, down[4:]))


def test_a_search_stopped_at_any_step_proposes_the_same(make_tuned: "MakeTuned", tmp_path: Path) -> None:
    suite = make_tuned(sampler="tpe", trials=4)
    (tmp_path / "whole").mkdir()
    whole = search(tmp_path / "whole", suite, 4)
    # The end came after Optuna had made the trial's row, and after its first dimension.
    for cut in (0, 1):
        home = tmp_path / f"cut{cut}"
        home.mkdir()
        search(home, suite, 3 - cut)
        studies = open_studies(home, suite)
        with studies.held():
            leave_half_a_trial(studies, "gigpo", cut)
        assert proposed(search(home, suite, 4)) == proposed(whole)


def leave_half_a_trial(studies: Studies, condition: str, dimensions: int) -> None:
    study = studies._studies[condition]
    last = study.get_trials(deepcopy=False)[-1]
    with sqlite3.connect(database(study)) as connection:
        names = [f"'{name}'" for name in sorted(last.params)[dimensions:]]
        connection.execute(
            f"delete from trial_params where trial_id = {last._trial_id} and param_name in ({','.join(names)})"
        )
    connection.close()


def database(study: optuna.Study) -> str:
    storage = study._storage
    backend = getattr(storage, "_backend", storage)
    assert isinstance(backend, optuna.storages.RDBStorage)
    return backend.url.removeprefix("sqlite:///")


def test_a_value_once_told_stands(make_tuned: "MakeTuned", tmp_path: Path) -> None:
    suite = make_tuned()
    found = search(tmp_path, suite, 1)
    trial = found["gigpo"][0]
    studies = open_studies(tmp_path, suite)
    with studies.held():
        studies.tell(trial, value(trial))
        with pytest.raises(StoreError, match=f"{DATABASE_FILE}: trial 0 of gigpo was told to be worth"):
            studies.tell(trial, 0.5)


def test_another_registration_has_studies_of_its_own(make_tuned: "MakeTuned", tmp_path: Path) -> None:
    suite = make_tuned()
    search(tmp_path, suite, 4)
    studies = open_studies(tmp_path, suite, "eq1:" + 64 * "b")
    with studies.held():
        assert [trial.value for trial in studies.propose("gigpo")] == [None] * 4


def test_choices_come_back_as_the_suite_writes_them(make_tuned: "MakeTuned", tmp_path: Path) -> None:
    clips = [trial.values["training.clip"] for trial in search(tmp_path, make_tuned(), 0)["turns"]]
    assert None in clips
    assert [0.2, 0.2] in clips
