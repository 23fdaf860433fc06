"""What a page may say before every planned run has ended, or without a registration."""

import dataclasses

import pytest

from equipoise_reports import ReportError, Study, exports, render
from equipoise_stats import Analysis

VERDICTS = ("CONFIRMED", "REFUTED", "EQUIVALENT", "INCONCLUSIVE", "superior", "inferior")


def test_missing_runs_are_named_block_by_block(interim: Study) -> None:
    page = render(interim)
    assert "<strong>INTERIM</strong> 3 of 5 blocks complete, 35 runs missing." in page
    assert "Block 3: 14 runs of 21 (hindsight matched, " in page
    assert "and 8 more)" in page
    assert "Block 4: all 21 runs" in page


def test_no_verdict_is_given_while_runs_are_missing(interim: Study) -> None:
    page = render(interim)
    assert [word for word in VERDICTS if word in page] == []
    assert 'id="decomposition"' not in page


def test_an_analysis_of_the_complete_blocks_changes_nothing_in_an_interim_page(
    interim: Study, study: Study
) -> None:
    analysed = dataclasses.replace(interim, analysis=study.analysis)
    assert render(analysed) == render(interim)


def test_success_is_hidden_until_every_block_is_complete(interim: Study) -> None:
    page = render(interim)
    assert "Success is hidden until every block is complete." in page
    assert 'id="learning"' not in page
    assert 'id="runs-figure"' not in page
    line = exports.runs_csv(interim).splitlines()[1].split(",")
    assert line[5:7] == ["", ""]


def test_an_unblinded_interim_page_shows_runs_and_still_no_verdict(interim: Study) -> None:
    page = render(dataclasses.replace(interim, unblinded=True, deviations=("Outcomes were unblinded.",)))
    assert "Outcomes were unblinded." in page
    assert 'id="runs-figure"' in page
    assert [word for word in VERDICTS if word in page] == []


def test_exports_of_the_analysis_refuse_a_study_with_missing_runs(interim: Study) -> None:
    for export in (exports.analysis_json, exports.decomposition_latex, exports.decomposition_markdown):
        with pytest.raises(ReportError, match="35 are missing"):
            export(interim)


def test_an_exploratory_study_says_so_first(study: Study) -> None:
    page = render(dataclasses.replace(study, exploratory=True))
    assert page.index("<strong>EXPLORATORY</strong>") < page.index("CONFIRMED")
    assert "no registration preceded its runs" in page
    assert "were frozen before any run" not in page


def test_a_finished_registered_study_carries_no_banner(page: str) -> None:
    assert 'class="banner"' not in page


def test_a_failed_control_takes_every_verdict_away(study: Study) -> None:
    assert isinstance(study.analysis, Analysis)
    void = dataclasses.replace(study.analysis, void=True)
    page = render(dataclasses.replace(study, analysis=void))
    assert "<strong>INADMISSIBLE</strong> A control did not behave as registered" in page
    assert "inadmissible: a control failed" in page
    assert "superior" not in page
    assert "This suite claims nothing: a control failed." in page


def test_engines_that_disagree_are_told_on_the_first_screen(study: Study) -> None:
    assert isinstance(study.analysis, Analysis)
    check = dataclasses.replace(study.analysis.cross_check, flag="disagree")
    page = render(dataclasses.replace(study, analysis=dataclasses.replace(study.analysis, cross_check=check)))
    assert page.index("disagrees with the primary analysis") < page.index('id="decomposition"')
    assert "<strong>DISAGREEMENT</strong>" in page
