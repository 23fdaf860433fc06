"""Rounds and limits of generation on the page, from numbers made by hand."""

import csv
import dataclasses
import io

from equipoise_reports import GenerationUse, RoundRecord, RunRecord, Study, exports, render
from equipoise_reports.sections import generation, rounds


def in_two_rounds(study: Study, *, empty: str = "") -> Study:
    """Every run in two rounds; in the second one the runs of one condition have no example."""

    def told(run: RunRecord) -> RunRecord:
        half, steps = run.dose.slots // 2, run.dose.optimizer_steps // 2
        nothing = run.condition == empty
        first = RoundRecord(1, half, steps, 300, 900, 4, 256, 0.25, planned=True)
        second = RoundRecord(
            2,
            0 if nothing else half,
            0 if nothing else steps,
            250,
            0 if nothing else 800,
            5,
            256,
            0.5,
            not nothing,
        )
        return dataclasses.replace(run, rounds=(first, second))

    design = dataclasses.replace(study.design, rounds=2)
    return dataclasses.replace(study, design=design, runs=tuple(told(run) for run in study.runs))


def test_one_round_has_no_section(study: Study, page: str) -> None:
    assert rounds.view(study) is None
    assert rounds.note(study) == ""
    assert 'id="rounds"' not in page


def test_every_round_of_every_cell_has_a_row(study: Study) -> None:
    view = rounds.view(in_two_rounds(study))
    assert view is not None
    # Seven conditions, three arms, two rounds.
    assert len(view.table.rows) == 7 * 3 * 2
    row = next(r for r in view.table.rows if (r.head.text, r.cells[0].text) == ("gigpo", "matched"))
    assert [cell.text for cell in row.cells] == (
        ["matched", "1", "5", "320", "20", "300", "900", "4", "0", "25.0\xa0%"]
    )
    assert view.empty.startswith("No round was empty")


def test_empty_rounds_and_runs_that_end_there_are_counted(study: Study) -> None:
    view = rounds.view(in_two_rounds(study, empty="carl"))
    assert view is not None
    # Five blocks of three arms; the native runs go on.
    assert view.empty.startswith("15 rounds without any example")
    assert "10 runs ended before the last round" in view.empty
    marked = [row for row in view.table.rows if row.cells[8].mark == "bad"]
    assert {(row.head.text, row.cells[1].text, row.cells[8].text) for row in marked} == {("carl", "2", "5")}


def test_the_page_says_beside_the_contrasts_what_rounds_change(study: Study) -> None:
    page = render(in_two_rounds(study))
    contrasts = page[page.index('<section id="decomposition"') : page.index('<section id="budget"')]
    assert "see different trajectories" in contrasts
    assert "Round by round" in contrasts
    assert '<section id="rounds"' in page


def test_success_by_round_is_hidden_while_runs_are_missing(study: Study) -> None:
    whole = in_two_rounds(study)
    part = dataclasses.replace(whole, runs=whole.runs[:-1], analysis=None)
    view = rounds.view(part)
    assert view is not None
    assert {len(row.cells) for row in view.table.rows} == {9}
    assert "25.0\xa0%" not in {cell.text for row in view.table.rows for cell in row.cells}


def limited(study: Study) -> Study:
    use = GenerationUse(
        {"rollout_tokens": 5000.0, "flops": 1e9},
        {"rollout_tokens": 4800.0, "flops": 9e8},
        ("rollout_tokens",),
        20,
        32,
    )
    runs = tuple(
        dataclasses.replace(run, generation=use) if (run.condition, run.arm) == ("oracle", "native") else run
        for run in study.runs
    )
    return dataclasses.replace(study, runs=runs)


def test_limits_are_shown_beside_what_was_used_and_which_one_bound(study: Study) -> None:
    assert generation.view(study) is None
    table = generation.view(limited(study))
    assert table is not None
    assert [[row.head.text, *(cell.text for cell in row.cells)] for row in table.rows] == [
        ["oracle", "native", "rollout tokens", "5,000", "4,800", "20 of 32", "5 of 5"],
        ["oracle", "native", "flops", "1,000,000,000", "900,000,000", "20 of 32", "no"],
    ]
    assert '<section id="generation"' in render(limited(study))


def test_the_csv_tells_limit_use_and_binding_of_each_resource(study: Study) -> None:
    rows = {row["key"]: row for row in csv.DictReader(io.StringIO(exports.runs_csv(limited(study))))}
    row = rows["b0/cell/oracle/native/0"]
    assert (row["limit_rollout_tokens"], row["used_rollout_tokens"]) == ("5000.0", "4800.0")
    assert (row["limit_judge_calls"], row["used_judge_calls"], row["binding"]) == ("", "", "rollout_tokens")
    assert (row["prompts"], row["of_prompts"], row["rounds"]) == ("20", "32", "1")
    other = rows["b0/cell/gigpo/native/0"]
    assert (other["limit_rollout_tokens"], other["prompts"], other["binding"]) == ("", "", "")
