"""The section on dose and response: figures of both curves, or why there is none."""

import dataclasses

from tests.stats.dose_runs import dose_runs

from equipoise_reports import Study, render
from equipoise_reports.sections import curve
from equipoise_stats import Question, analyse


def _with_doses(study: Study, conditions: tuple[str, ...] = ("base", "a", "b", "c")) -> Study:
    found = analyse(dose_runs(), (), Question("base", ("base", "a", "b", "c")), {})
    assert study.analysis is not None
    swapped = dataclasses.replace(
        study.analysis,
        conditions=conditions,
        dose_response=found.dose_response,
        dose_response_ess=found.dose_response_ess,
    )
    return dataclasses.replace(study, analysis=swapped)


def test_slopes_stand_in_points_with_their_intervals_for_both_doses(study: Study) -> None:
    shown = curve.view(_with_doses(study))
    assert shown is not None
    assert shown.refused == ()
    assert shown.slopes is not None
    rows = [(row.head.text, *(cell.text for cell in row.cells)) for row in shown.slopes.rows]
    # lmerTest: slope 0.014008, SE 0.004425, df 77.006, p 0.00222
    assert rows[0][:6] == ("optimizer steps", "all together", "+1.40", "+0.52 to +2.28", "77.0", "0.002")
    assert [row[1] for row in rows] == ["all together", "base", "a", "b", "c"] * 2
    assert rows[5][0] == "effective sample size"
    worth = rows[2][6]
    assert worth == "not determined" or worth.endswith("×")


def test_departures_from_the_line_are_listed_with_f_df_and_p(study: Study) -> None:
    shown = curve.view(_with_doses(study))
    assert shown is not None
    assert shown.shape is not None
    first = shown.shape.rows[0]
    # lmerTest: F 2.12790 on 1 and 76.009 degrees of freedom, p 0.14876
    assert [cell.text for cell in first.cells][1:] == ["2.13", "1, 76.0", "0.149"]
    assert len(shown.shape.rows) == 8
    assert shown.saturating[0] == (
        "Over optimizer steps, a saturating curve fits better than a logarithmic one by 1.7 of AIC."
    )


def test_the_page_says_why_there_is_no_curve(study: Study) -> None:
    shown = curve.view(study)
    assert shown is not None
    assert shown.slopes is None
    assert [said.split(":")[0] for said in shown.refused] == [
        "No curve over optimizer steps",
        "No curve over effective sample size",
    ]
    assert "No curve over optimizer steps" in render(study)
    assert study.analysis is not None
    assert "curve-shape-table" in render(_with_doses(study, study.analysis.conditions))
