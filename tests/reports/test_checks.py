import dataclasses

import pytest

from equipoise_reports import IncoherentStudy, NothingToReport, ReportError, Slot, Study, render


def test_a_report_before_any_run_says_what_to_do(study: Study) -> None:
    empty = dataclasses.replace(study, runs=(), analysis=None)
    with pytest.raises(NothingToReport, match=r"found none.*Run the suite first \(equipoise run\)"):
        render(empty)


def test_an_analysis_of_unknown_conditions_is_refused(study: Study) -> None:
    kept = tuple(card for card in study.conditions if card.id != "carl")
    cells = tuple(cell for cell in study.design.cells if cell.condition != "carl")
    fewer = dataclasses.replace(
        study,
        conditions=kept,
        design=dataclasses.replace(study.design, cells=cells),
        runs=tuple(run for run in study.runs if run.condition != "carl"),
    )
    with pytest.raises(IncoherentStudy, match=r"the analysis names conditions .*\['carl'\]"):
        render(fewer)


def test_every_fault_is_told_at_once(study: Study) -> None:
    stray = dataclasses.replace(study.runs[0], condition="nobody", key="b0/cell/nobody/native/0")
    outside = dataclasses.replace(study.runs[1], block=9, key="b9/cell/outcome/matched/0")
    wrong = dataclasses.replace(
        study, runs=(*study.runs, stray, outside, study.runs[2]), conditions=study.conditions[1:]
    )
    with pytest.raises(IncoherentStudy) as caught:
        render(wrong)
    said = str(caught.value)
    assert "expected exactly one baseline condition, found 0" in said
    assert "the design runs conditions that have no card: ['outcome']" in said
    assert "'b0/cell/nobody/native/0' belongs to the cell nobody.native.0" in said
    assert "'b9/cell/outcome/matched/0' belongs to block 9" in said
    assert "expected one run of outcome.twin.0 in block 0, found 2" in said


def test_a_finished_study_without_analysis_is_refused(study: Study) -> None:
    with pytest.raises(ReportError, match="analyse the runs before reporting them"):
        render(dataclasses.replace(study, analysis=None))


def test_missing_runs_are_counted_from_the_design(study: Study) -> None:
    more = dataclasses.replace(
        study, design=dataclasses.replace(study.design, cells=(*study.design.cells, Slot("gigpo", "twin", 1)))
    )
    assert more.missing == tuple((block, Slot("gigpo", "twin", 1)) for block in range(5))
    assert more.complete_blocks == ()
    assert study.complete_blocks == (0, 1, 2, 3, 4)
