"""What a search came to: values, steps, choice and breaches from the results of its runs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.tuning.tally import Search, searches

if TYPE_CHECKING:
    from tests.platform.tuning.conftest import MakeTuned

Results = Callable[..., dict[str, Any]]


@pytest.fixture
def results(trial_results: Results) -> dict[str, Any]:
    """Three conditions alike: means 0.2, 0.6, 0.6 and 0.1."""
    found: dict[str, Any] = {}
    for condition in ("outcome", "gigpo", "turns"):
        for number, successes in enumerate(([1, 3], [5, 7], [6, 6], [1, 1])):
            found |= trial_results(condition, number, successes)
    return found


def gigpo(found: tuple[Search, ...] | None) -> Search:
    assert found is not None
    return found[1]


def test_the_best_mean_over_blocks_is_chosen_and_of_equal_ones_the_first(
    make_tuned: "MakeTuned", results: dict[str, Any]
) -> None:
    search = gigpo(searches(make_tuned(), results))
    assert [trial.value for trial in search.trials] == pytest.approx([0.2, 0.6, 0.6, 0.1])
    assert search.chosen.number == 1
    assert search.chosen.values == {"gamma": 0.6}


def test_every_condition_is_counted_the_steps_that_it_was_granted(
    make_tuned: "MakeTuned", results: dict[str, Any]
) -> None:
    found = searches(make_tuned(), results)
    assert found is not None
    assert [search.condition for search in found] == ["outcome", "gigpo", "turns"]
    # Four trials in two blocks of two steps.
    assert {(search.granted, search.counted, search.forgone) for search in found} == {(16, 16, 0)}
    assert not any(search.breaches for search in found)


def test_a_search_is_none_before_its_last_run_ended(make_tuned: "MakeTuned", results: dict[str, Any]) -> None:
    del results["tuning/trial/turns/3/1"]
    assert searches(make_tuned(), results) is None


def test_a_suite_without_a_search_has_none(make_tuned: "MakeTuned") -> None:
    assert searches(make_tuned(trials=0, space={}), {}) is None


def test_a_diverged_trial_is_a_result_and_no_breach(make_tuned: "MakeTuned", results: dict[str, Any]) -> None:
    results["tuning/trial/gigpo/2/0"] |= {"end": "diverged", "steps": {"slots": [2]}}
    search = gigpo(searches(make_tuned(), results))
    assert search.trials[2].value == pytest.approx(0.6)
    assert (search.trials[2].diverged, search.counted, search.forgone) == (1, 15, 1)
    assert search.breaches == ()


def test_a_run_that_took_too_few_or_too_many_steps_breaks_the_search(
    make_tuned: "MakeTuned", results: dict[str, Any]
) -> None:
    results["tuning/trial/gigpo/2/0"]["steps"] = {"slots": [2]}
    assert gigpo(searches(make_tuned(), results)).breaches == (
        "16 optimizer steps were granted, the ledgers count 15",
    )
    results["tuning/trial/gigpo/2/0"]["steps"] = {"slots": [2, 2, 2]}
    assert "count 17" in gigpo(searches(make_tuned(), results)).breaches[0]


def test_a_breach_of_a_run_is_one_of_its_search(make_tuned: "MakeTuned", results: dict[str, Any]) -> None:
    results["tuning/trial/gigpo/0/1"]["breaches"] = ["tokens differ"]
    assert gigpo(searches(make_tuned(), results)).breaches == ("trial 0: block 1: tokens differ",)


def test_points_drawn_beforehand_have_an_expected_curve_and_adaptive_ones_the_one_that_came(
    make_tuned: "MakeTuned", results: dict[str, Any]
) -> None:
    drawn = gigpo(searches(make_tuned(), results)).curve
    # The mean, and all pairs but {0.2, 0.1} find 0.6.
    assert drawn == pytest.approx((0.375, (5 * 0.6 + 0.2) / 6, 0.6, 0.6))
    came = gigpo(searches(make_tuned(sampler="tpe"), results)).curve
    assert came == pytest.approx((0.2, 0.6, 0.6, 0.6))
