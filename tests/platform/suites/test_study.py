"""Results as a report sees them: as they were written, and without verdicts before the end."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from equipoise.suites.jobs import cells_of
from equipoise.suites.judge import judge
from equipoise.suites.study import study_of
from equipoise_preregistration import Registration, Suite
from equipoise_preregistration.registration import freeze, surroundings

MakeSuite = Callable[..., Suite]
MadeUp = Callable[..., dict[str, Any]]


@pytest.fixture
def registration(make_suite: MakeSuite) -> Registration:
    return freeze(make_suite(), surroundings(), "0" * 64, datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC), "")


@pytest.fixture
def results(registration: Registration, made_up: MadeUp) -> dict[str, Any]:
    return made_up(
        registration.model, lambda condition, arm, block: len(condition) % 3 + len(arm) % 2 + block
    )


def test_every_run_is_shown_as_it_was_written(registration: Registration, results: dict[str, Any]) -> None:
    study = study_of(registration, "name: made-up\n", results)
    assert len(study.runs) == len(cells_of(registration.model)) == 36
    for run in study.runs:
        written = results[run.key]
        assert (run.condition, run.arm, run.twin, run.block) == tuple(
            written["cell"][name] for name in ("condition", "arm", "twin", "block")
        )
        assert run.primary == written["outcomes"][0]["successes"] / 10
        assert run.held_out == pytest.approx(1 / 3)
        assert run.dose.to_json() == written["dose"]
        assert run.planned.slots == 4
        assert (run.plan_digest, run.weights_digest) == (written["digests"]["plan"], "w")
        assert (run.seconds, run.end, run.breaches) == (1.5, "ok", ())


def test_a_run_costs_its_collection_its_signals_and_its_training(
    registration: Registration, results: dict[str, Any]
) -> None:
    cost = study_of(registration, "", results).runs[0].cost
    assert (cost.rollout_tokens, cost.scoring_tokens, cost.forward_tokens_train) == (100, 10, 40)


def test_a_complete_study_carries_the_analysis(registration: Registration, results: dict[str, Any]) -> None:
    study = study_of(registration, "", results)
    assert study.analysis is not None
    assert study.analysis.to_json() == judge(registration.model, results).to_json()


@pytest.mark.parametrize("missing", ["b2/cell/carl/twin/0", "b0/cell/outcome/native/0"])
def test_a_study_of_which_a_cell_is_missing_is_interim(
    registration: Registration, results: dict[str, Any], missing: str
) -> None:
    del results[missing]
    study = study_of(registration, "", results)
    assert study.analysis is None
    assert len(study.runs) == 35


def test_the_design_is_the_registered_one(registration: Registration, results: dict[str, Any]) -> None:
    study = study_of(registration, "name: made-up\n", results)
    assert study.design.blocks == (0, 1, 2)
    assert len(study.design.cells) == 12
    assert (study.design.examples, study.design.optimizer_steps, study.design.twins) == (4, 2, 1)
    assert study.design.held_out == "held_out"
    assert study.registration.hash == registration.hash
    assert study.registration.registered_at == "2026-05-04T03:02:01Z"
    assert study.registration.suite_yaml == "name: made-up\n"
    assert [(card.id, card.card.name, card.baseline, card.control) for card in study.conditions] == [
        ("outcome", "grpo", True, None),
        ("gigpo", "gigpo", False, None),
        ("carl", "carl", False, None),
        ("oracle", "exact", False, "positive"),
    ]
    assert study.conditions[2].parameters["forks"] == 16
    assert [(block, score.primary) for block, score in study.base.items()] == [(0, 0.2), (1, 0.2), (2, 0.2)]
    assert [score.held_out for score in study.base.values()] == pytest.approx([1 / 3] * 3)


def test_what_a_reader_must_know_is_passed_on(registration: Registration, results: dict[str, Any]) -> None:
    study = study_of(registration, "", results, exploratory=True, deviations=("It rained.",))
    assert study.exploratory
    assert study.deviations[-1] == "It rained."
    assert (len(study.deviations) == 2) == bool(registration.code.as_json().get("dirty"))
