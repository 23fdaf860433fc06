"""Looks that were registered: what is analysed, what stays unseen, and amendments that came too late."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from equipoise.suites.judge import judge
from equipoise.suites.looking import late, look_reached, seen_at
from equipoise.suites.study import study_of
from equipoise_preregistration import Suite
from equipoise_preregistration.amendment import Amendment
from equipoise_preregistration.registration import freeze, surroundings
from equipoise_stats import Finding, StatsError

MakeSuite = Callable[..., Suite]
MadeUp = Callable[..., dict[str, Any]]
PLAN = {"looks": [2, 3], "spending": "obf"}


def _successes(condition: str, arm: str, block: int) -> int:
    return (
        2 + block + (block + len(condition) + len(arm)) % 2 + 3 * ((condition, arm) == ("oracle", "matched"))
    )


@pytest.fixture
def suite(make_suite: MakeSuite) -> Suite:
    return make_suite(analysis=PLAN)


@pytest.fixture
def results(suite: Suite, made_up: MadeUp) -> dict[str, Any]:
    return made_up(suite, _successes)


def test_a_look_is_reached_when_all_its_blocks_are_complete(suite: Suite, results: dict[str, Any]) -> None:
    assert look_reached(suite, results) == 3
    del results["b2/cell/carl/twin/0"]
    assert look_reached(suite, results) == 2
    del results["b1/cell/carl/twin/0"]
    assert look_reached(suite, results) is None


def test_without_looks_only_all_blocks_are_one(make_suite: MakeSuite, results: dict[str, Any]) -> None:
    plain = make_suite()
    assert look_reached(plain, results) == 3
    del results["b2/cell/carl/twin/0"]
    assert look_reached(plain, results) is None


def test_a_study_at_a_look_shows_nothing_of_later_blocks(suite: Suite, results: dict[str, Any]) -> None:
    registration = freeze(suite, surroundings(), "0" * 64, datetime(2026, 5, 4, tzinfo=UTC), "")
    del results["b2/cell/carl/twin/0"]
    study = study_of(registration, "", results)
    assert (study.look, study.interim, study.missing) == (2, False, ())
    assert {run.block for run in study.runs} == set(study.base) == {0, 1}
    assert study.analysis is not None
    assert study.analysis.sequential is not None
    assert study.analysis.sequential.sentence.startswith("look 1 of 2, after 2 of 3 blocks")
    assert study.analysis.to_json() == judge(suite, seen_at(2, results), look=2).to_json()


def test_a_look_that_was_not_registered_is_refused(make_suite: MakeSuite, results: dict[str, Any]) -> None:
    with pytest.raises(StatsError, match=r"look: expected a registered number of blocks \(none\), got 2"):
        judge(make_suite(), results, look=2)


def test_an_amendment_after_a_run_had_ended_makes_the_findings_exploratory(
    suite: Suite, results: dict[str, Any]
) -> None:
    amendment = Amendment("eq1:0", "the margin was too wide", datetime(2026, 5, 4, 12, tzinfo=UTC), "")
    noon = amendment.amended_at.timestamp()
    assert late((amendment,), None) == late((amendment,), noon + 1) == ()
    said = late((amendment,), noon - 1)
    assert said == (
        "the registration was amended on 2026-05-04 12:00 UTC, after a run had ended: the margin was too wide",
    )
    found = judge(suite, results, deviations=said)
    assert {h.verdict for h in found.hypotheses} <= {Finding.DEVIATED, Finding.INADMISSIBLE}
    assert any(note.endswith("the margin was too wide") for note in found.notes)
