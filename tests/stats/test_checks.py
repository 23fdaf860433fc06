"""Records that cannot be analysed are refused with every fault."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from equipoise_stats import Hypothesis, Question, RunScore, StatsError, TaskScore, analyse

Runs = Callable[..., list[RunScore]]

GOOD = Question("base", ("base", "a"))
EMPTY: Mapping[int, float] = {}


def faults(
    runs: Sequence[RunScore],
    question: Question = GOOD,
    tasks: Sequence[TaskScore] = (),
    base: Mapping[int, float] = EMPTY,
) -> tuple[str, ...]:
    with pytest.raises(StatsError) as caught:
        analyse(runs, tasks, question, base)
    return caught.value.faults


def test_all_faults_come_at_once(make_runs: Runs) -> None:
    runs = make_runs(("base", "a"), 2, lambda *_: 0.5)
    broken = [*runs, runs[0], replace(runs[1], condition="stranger"), replace(runs[2], block=9, y=math.nan)]
    found = faults(broken)
    nan = "run base.matched.0 of block 9: expected a success rate in [0, 1], got nan; "
    assert found == (
        "run's condition 'stranger' is not a condition; the conditions are base, a",
        "run base.native.0 of block 0 is given 2 times; give it once",
        nan + "score a diverged run with the policy it started from",
    )


def test_a_baseline_that_was_not_run_is_refused(make_runs: Runs) -> None:
    assert faults(make_runs(("a",), 2, lambda *_: 0.5)) == ("no run of the baseline 'base' among 6 runs",)


def test_an_unknown_baseline_is_refused(make_runs: Runs) -> None:
    found = faults(make_runs(("base", "a"), 2, lambda *_: 0.5), Question("best", ("base", "a")))
    assert "baseline 'best' is not a condition; the conditions are base, a" in found


def test_a_question_that_cannot_be_asked_is_refused(make_runs: Runs) -> None:
    question = Question(
        "base",
        ("base", "a", "a"),
        alpha=0.0,
        smallest_effect=1.5,
        multiplicity="none",
        controls={"base": "positive", "a": "odd"},
        hypotheses=(
            Hypothesis("H1", "", "shape", "base"),
            Hypothesis("H1", "", "depth", "b", "up"),
        ),
    )
    assert len(faults(make_runs(("base", "a"), 2, lambda *_: 0.5), question)) == 11


def test_a_score_outside_the_unit_interval_and_a_twin_in_the_wrong_arm_are_refused(make_runs: Runs) -> None:
    runs = make_runs(("base", "a"), 2, lambda *_: 0.5)
    found = faults([replace(runs[0], y=1.2, twin=1, episodes=0), *runs[1:]])
    assert len(found) == 3


def test_task_scores_without_their_run_or_beyond_their_episodes_are_refused(make_runs: Runs) -> None:
    found = faults(
        make_runs(("base", "a"), 2, lambda *_: 0.5),
        tasks=[
            TaskScore("a", "matched", 0, 7, 0, 1, 2),
            TaskScore("a", "matched", 0, 0, 1, 3, 2),
            TaskScore("a", "matched", 0, 1, 1, 1, 2),
            TaskScore("a", "matched", 0, 1, 1, 1, 2),
        ],
        base={0: math.inf},
    )
    assert len(found) == 4
