"""From results to the analysis that was registered."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from equipoise.suites.judge import base_scores, judge, rate
from equipoise_preregistration import Suite
from equipoise_stats import StatsError
from equipoise_stats.results import Verdict

MakeSuite = Callable[..., Suite]
MadeUp = Callable[..., dict[str, Any]]


def _successes(condition: str, arm: str, block: int) -> int:
    """Of ten: blocks differ, gigpo's matched runs are better by two, the oracle's by four."""
    gain = {"gigpo": 2, "oracle": 4}.get(condition, 0) if arm == "matched" else 0
    wobble = (block + len(condition) + len(arm)) % 2
    return 2 + block + gain + wobble


@pytest.fixture
def suite(make_suite: MakeSuite) -> Suite:
    return make_suite()


@pytest.fixture
def results(suite: Suite, made_up: MadeUp) -> dict[str, Any]:
    return made_up(suite, _successes)


def test_rates_by_hand() -> None:
    outcomes = [
        {"split": "pool", "task": 0, "successes": 3, "episodes": 4},
        {"split": "pool", "task": 1, "successes": 1, "episodes": 6},
        {"split": "held_out", "task": 0, "successes": 1, "episodes": 1},
    ]
    assert rate(outcomes, "pool") == (0.4, 10)
    assert rate(outcomes, "held_out") == (1.0, 1)
    assert rate(outcomes[:2], "held_out") is None


def test_contrasts_are_differences_of_the_cells(suite: Suite, results: dict[str, Any]) -> None:
    analysis = judge(suite, results)
    assert analysis.blocks == (0, 1, 2)

    def mean(condition: str, arm: str) -> float:
        return sum(_successes(condition, arm, block) for block in range(3)) / 30

    content = analysis.contrast("gigpo", "content").estimate
    assert content == pytest.approx(mean("gigpo", "matched") - mean("gigpo", "twin"))
    total = analysis.contrast("gigpo", "total").estimate
    assert total == pytest.approx(mean("gigpo", "native") - mean("outcome", "native"))
    assert analysis.hypotheses[0].id == "H1"


def test_a_rule_whose_credit_never_varies_within_a_trajectory_has_no_content(
    make_suite: MakeSuite, made_up: MadeUp
) -> None:
    suite = make_suite()
    results = made_up(suite, _successes)
    for block in range(3):
        results[f"b{block}/signals/gigpo"]["credit"]["constant_within_trajectories"] = True
    settled = judge(suite, results).contrast("gigpo", "content")
    assert (settled.verdict, settled.estimate, settled.in_family) == (Verdict.BY_CONSTRUCTION, 0.0, False)
    results["b1/signals/gigpo"]["credit"]["constant_within_trajectories"] = False
    assert judge(suite, results).contrast("gigpo", "content").in_family


def test_a_breach_bars_the_contrasts_of_its_cell(suite: Suite, results: dict[str, Any]) -> None:
    results["b1/cell/gigpo/matched/0"]["breaches"] = ["expected 4 slots, counted 3"]
    analysis = judge(suite, results)
    assert analysis.contrast("gigpo", "content").verdict == Verdict.INADMISSIBLE
    assert analysis.hypotheses[0].verdict == "INADMISSIBLE"
    assert analysis.contrast("carl", "content").verdict != Verdict.INADMISSIBLE


def test_an_incomplete_block_is_left_out_and_named(suite: Suite, results: dict[str, Any]) -> None:
    del results["b2/cell/carl/twin/0"]
    analysis = judge(suite, results)
    assert analysis.blocks == (0, 1)
    assert [left.block for left in analysis.left_out] == [2]


def test_the_order_of_the_results_does_not_matter(suite: Suite, results: dict[str, Any]) -> None:
    turned = dict(reversed(copy.deepcopy(results).items()))
    assert judge(suite, turned).to_json() == judge(suite, results).to_json()


def test_a_run_that_diverged_is_scored_as_it_is(suite: Suite, results: dict[str, Any]) -> None:
    sound = judge(suite, results)
    results["b0/cell/carl/native/0"]["end"] = "diverged"
    marked = judge(suite, results)
    assert marked.contrast("carl", "total").estimate == sound.contrast("carl", "total").estimate
    assert any("diverged" in note for note in marked.notes)
    assert not any("diverged" in note for note in sound.notes)


def test_a_cell_that_was_refused_its_training_has_no_volume(suite: Suite, results: dict[str, Any]) -> None:
    refused = results["b0/cell/carl/matched/0"]
    refused["end"], refused["planned"]["optimizer_steps"] = "refused", 0
    dose_response = judge(suite, results).dose_response
    assert dose_response.status == "refused"
    assert "1 of " in dose_response.reason
    assert "assigned no steps" in dose_response.reason


def test_the_primary_split_is_the_one_registered(make_suite: MakeSuite, made_up: MadeUp) -> None:
    suite = make_suite(evaluation={"primary": "held_out"})
    results = made_up(suite, _successes)
    assert base_scores(results, "held_out") == dict.fromkeys(range(3), (1 / 3, 3))
    assert judge(suite, results).contrast("carl", "total").estimate == pytest.approx(0.0)


def test_nothing_that_was_run_is_no_analysis(suite: Suite) -> None:
    with pytest.raises(StatsError):
        judge(suite, {})
