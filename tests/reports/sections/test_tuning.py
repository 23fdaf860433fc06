"""What the report says of the search for hyper-parameters."""

import dataclasses

import pytest

from equipoise_reports import Study, render
from equipoise_reports.sections import tuning
from equipoise_reports.tuning import Dimension, Search, Trial, Tuning

RATE = "training.learning_rate"


def search(condition: str, *successes: float, **changes: object) -> Search:
    trials = tuple(
        Trial(
            number, {RATE: 0.001 * (number + 1), **({"gamma": 0.9} if condition == "gigpo" else {})}, success
        )
        for number, success in enumerate(successes)
    )
    best = max(trials, key=lambda trial: trial.success)
    whole = Search(condition, trials, best.number, tuple(sorted(successes)), granted=120, counted=120)
    return dataclasses.replace(whole, **changes)  # type: ignore[arg-type]


def searched(study: Study, *searches: Search, adaptive: bool = False) -> Study:
    space = (
        Dimension("gamma", "0.5 to 1", ("gigpo",)),
        Dimension(RATE, "0.0001 to 0.01", ("outcome", "gigpo")),
    )
    return dataclasses.replace(study, tuning=Tuning("points drawn once", adaptive, 2, space, searches))


@pytest.fixture
def equal(study: Study) -> Study:
    return searched(study, search("outcome", 0.25, 0.5, 0.375), search("gigpo", 0.5, 0.25, 0.625))


def test_a_study_without_a_search_has_no_section(study: Study, page: str) -> None:
    assert tuning.view(study) is None
    assert "How hyper-parameters were chosen" not in page


def test_the_search_that_every_condition_got_is_said_with_its_numbers(equal: Study) -> None:
    view = tuning.view(equal)
    assert view is not None
    assert view.statement == (
        "Every condition was tried at 3 points of the same space (points drawn once), each in 2 blocks that the "
        "comparison does not use, and the ledgers of its trials count 120 optimizer steps."
    )
    assert view.breaches == ()
    assert "flatters it" in view.reading


def test_every_condition_shows_what_was_chosen_and_a_dash_for_what_it_does_not_have(equal: Study) -> None:
    view = tuning.view(equal)
    assert view is not None
    rows = {row.head.text: [cell.text for cell in row.cells] for row in view.choices.rows}
    assert rows["outcome"] == ["–", "0.002", "1", "50.0\u00a0%", "120", "0", "equal"]
    assert rows["gigpo"] == ["0.9", "0.003", "2", "62.5\u00a0%", "120", "0", "equal"]
    assert [row.head.text for row in view.space.rows] == ["gamma", RATE]


def test_a_condition_that_got_another_search_is_named(study: Study) -> None:
    short = search(
        "gigpo", 0.5, 0.25, counted=119, breaches=("120 optimizer steps were granted, 119 counted",)
    )
    view = tuning.view(searched(study, search("outcome", 0.5, 0.25), short))
    assert view is not None
    assert "which grants 120 optimizer steps; what was counted is below" in view.statement
    assert view.breaches == ("gigpo: 120 optimizer steps were granted, 119 counted",)
    assert view.choices.rows[1].cells[-1].text == "breach"


def test_diverged_trials_are_told_as_results(study: Study) -> None:
    lost = search("gigpo", 0.5, trials=(Trial(0, {RATE: 0.1}, 0.5, diverged=2),))
    view = tuning.view(searched(study, search("outcome", 0.5), lost))
    assert view is not None
    assert "2 trial runs diverged; that is a result of the point, and was not repeated." in view.reading
    # Both blocks of its only trial.
    assert "Every trial run of gigpo diverged: no point of the space trains there" in view.reading
    some = search("gigpo", 0.5, trials=(Trial(0, {RATE: 0.1}, 0.5, diverged=1),))
    view = tuning.view(searched(study, search("outcome", 0.5), some))
    assert view is not None
    assert "Every trial run" not in view.reading


def test_steps_that_every_condition_left_alike_are_not_told_as_those_that_were_granted(study: Study) -> None:
    view = tuning.view(
        searched(
            study,
            search("outcome", 0.5, counted=30, forgone=90),
            search("gigpo", 0.5, counted=30, forgone=90),
        )
    )
    assert view is not None
    assert "which grants 120 optimizer steps; what was counted is below" in view.statement


def test_the_caption_says_whether_the_order_of_trials_counts(equal: Study) -> None:
    assert equal.tuning is not None
    drawn = tuning.view(equal)
    adaptive = tuning.view(searched(equal, *equal.tuning.searches, adaptive=True))
    assert drawn is not None
    assert adaptive is not None
    assert drawn.figure.caption.startswith("The expected best success after n trials, over all orders")
    assert adaptive.figure.caption.startswith("The best success after n trials, in the order")


def test_the_curves_stand_on_the_page_side_by_side_in_words_too_and_the_same_every_time(equal: Study) -> None:
    page = render(equal)
    assert "How hyper-parameters were chosen" in page
    assert "outcome: 25.0 % after one trial, 50.0 % after 3" in page
    assert page.count('id="tuning-wide-title"') == page.count('id="tuning-narrow-title"') == 1
    assert render(equal) == page


def test_one_trial_that_failed_everywhere_can_be_drawn(study: Study) -> None:
    assert tuning.view(searched(study, search("outcome", 0.0))) is not None


def test_an_interim_report_shows_the_search_for_it_is_no_outcome_of_the_comparison(
    interim: Study, equal: Study
) -> None:
    page = render(dataclasses.replace(interim, tuning=equal.tuning))
    assert "tuning-table" in page
