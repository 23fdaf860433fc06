"""What single sections say when a study is not as it should be."""

import dataclasses
from collections.abc import Callable

from equipoise_reports import Study, render
from equipoise_reports.sections import budget, dose, naive, result, runs
from equipoise_stats import Analysis, Hypothesis


def short_of_a_slot(study: Study) -> Study:
    """The same study, in which one twin of gigpo received 639 slots."""
    place = next(i for i, run in enumerate(study.runs) if run.key == "b2/cell/gigpo/twin/0")
    run = study.runs[place]
    counted = dataclasses.replace(run.dose, slots=639)
    broken = dataclasses.replace(run, dose=counted, breaches=("expected 640 slots, counted 639",))
    return dataclasses.replace(study, runs=(*study.runs[:place], broken, *study.runs[place + 1 :]))


def test_a_held_budget_is_said_with_its_numbers(study: Study) -> None:
    view = budget.view(study)
    assert view.held
    assert "640 examples in 40 optimizer steps of 16" in view.statement


def test_a_breach_is_named_and_bars_what_needs_the_cell(
    study: Study, concluder: Callable[..., Analysis]
) -> None:
    broken = short_of_a_slot(study)
    analysis = concluder(broken, barred=frozenset({("gigpo", "twin", 2)}))
    page = render(dataclasses.replace(broken, analysis=analysis))
    assert "The budget did not hold" in page
    assert "b2/cell/gigpo/twin/0: expected 640 slots, counted 639" in page
    assert "1 of 5 differ" in page
    assert "INADMISSIBLE" in page


def test_a_short_count_is_a_breach_even_if_nobody_reported_it(study: Study) -> None:
    broken = short_of_a_slot(study)
    silent = tuple(dataclasses.replace(run, breaches=()) for run in broken.runs)
    view = budget.view(dataclasses.replace(broken, runs=silent))
    assert not view.held
    assert view.breaches == ("b2/cell/gigpo/twin/0: expected 640 slots in 40 steps, counted 639 in 40",)


def test_a_diverged_run_that_stopped_early_is_no_breach_but_is_told(study: Study) -> None:
    broken = short_of_a_slot(study)
    diverged = tuple(
        dataclasses.replace(run, breaches=(), end="diverged") if run.dose.slots == 639 else run
        for run in broken.runs
    )
    view = budget.view(dataclasses.replace(broken, runs=diverged))
    assert view.held
    assert "69 of 70 matched and twin runs received exactly that, 1 run diverged" in view.statement


def test_the_dose_sentence_compares_densest_with_sparsest(study: Study) -> None:
    view = dose.view(study)
    assert view is not None
    # gigpo leaves 2300 + 7 * block, oracle 480 + 7 * block; means over blocks 0..4 are 2314 and 494
    assert "4.7 times the examples of oracle (2,314 against 494 a block" in view.statement


def test_the_naive_box_counts_claims_of_both_readings(study: Study) -> None:
    view = naive.view(study)
    assert view is not None
    assert "of 4 rules better than outcome" in view.sentence
    assert view.sentence.endswith("the credit content of gigpo and carl helps.")


def test_runs_link_to_their_tracking_page_only_where_there_is_one(study: Study) -> None:
    bare = tuple(dataclasses.replace(run, mlflow_url=None) for run in study.runs)
    assert "MLflow" in [column.label for column in runs.view(study).table.columns]
    without = runs.view(dataclasses.replace(study, runs=bare)).table
    assert "MLflow" not in [column.label for column in without.columns]


def test_a_claim_names_estimate_interval_and_p(study: Study) -> None:
    claims = {claim.id: claim for claim in result.view(study).claims}
    assert claims["H1"].word == "CONFIRMED"
    assert claims["H1"].sentence.startswith("CONTENT of gigpo: +")
    assert "simultaneous 95\u00a0% interval +" in claims["H1"].sentence
    assert "adjusted p\u00a0=\u00a00.012" in claims["H1"].sentence


def test_a_claim_on_a_twin_that_is_the_rule_shows_no_figure(
    study: Study, concluder: Callable[..., Analysis]
) -> None:
    claim = Hypothesis("H1", "reinforce helps", "content", "reinforce")
    view = result.view(dataclasses.replace(study, analysis=concluder(study, (claim,))))
    assert view.claims[0].word == "EQUIVALENT"
    assert "by construction" in view.claims[0].sentence
    assert "interval" not in view.claims[0].sentence


def test_a_study_without_hypotheses_points_to_the_decomposition(
    study: Study, concluder: Callable[..., Analysis]
) -> None:
    page = render(dataclasses.replace(study, analysis=concluder(study, ())))
    assert "No hypothesis was registered." in page
