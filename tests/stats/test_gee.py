"""Estimating equations with few blocks, by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise_stats import Question, RunScore, TaskScore, analyse
from equipoise_stats.errors import StatsError
from equipoise_stats.gee import Gee, of_runs, of_tasks, solve
from equipoise_stats.layout import lay_out
from equipoise_stats.serial import from_text, to_text

Runs = Callable[..., list[RunScore]]


def test_three_blocks_by_hand() -> None:
    # differences .1, .3, .2: mean .2, residuals -.1, .1, 0. Leverage 1/3, so that Mancl & DeRouen divide
    # residuals by 2/3: variance = sum((e / (2/3))^2) / 9 = .02 / 4 = .005, which is sum(e^2) / (S - 1)^2
    y = np.array([0.5, 0.4, 0.6, 0.3, 0.7, 0.5])
    solved = solve(y, np.array([0, 1] * 3), np.repeat([0, 1, 2], 2), ("a", "b"))
    found = solved.contrast(np.array([1.0, -1.0]), 0.05)
    assert found.estimate == pytest.approx(0.2)
    assert found.se == pytest.approx(math.sqrt(0.005))
    assert found.df == 2
    assert found.t == pytest.approx(0.2 / math.sqrt(0.005))
    # with two degrees of freedom p = 1 - t / sqrt(2 + t^2)
    t = 0.2 / math.sqrt(0.005)
    assert found.p == pytest.approx(1 - t / math.sqrt(2 + t * t))


def test_balanced_runs_give_the_paired_t_with_one_block_less_in_the_divisor(make_runs: Runs) -> None:
    rng = np.random.default_rng(4)
    runs = make_runs(("base", "rule"), 6, lambda *_: float(rng.uniform(0.3, 0.7)))
    question = Question("base", ("base", "rule"))
    layout = lay_out(runs, question)
    contrasts = _contrasts(runs, question)
    found = of_runs(runs, layout, contrasts, question)
    assert found.status == "fitted"
    assert (found.rows, found.blocks) == (36, 6)
    for ours, primary in zip(found.contrasts, [c for c in contrasts if c.m1h], strict=True):
        assert ours.figures.estimate == pytest.approx(primary.m1h.estimate)
        assert ours.figures.se == pytest.approx(primary.m1h.se * math.sqrt(6 / 5))
        assert ours.figures.df == primary.m1h.df


def test_a_block_missing_for_one_rule_still_counts_for_the_others(make_runs: Runs) -> None:
    rng = np.random.default_rng(5)
    runs = make_runs(("base", "rule"), 5, lambda *_: float(rng.uniform(0.3, 0.7)))
    question = Question("base", ("base", "rule"))
    contrasts = _contrasts(runs, question)
    short = [r for r in runs if not (r.condition == "rule" and r.arm == "native" and r.block == 4)]
    found = of_runs(short, lay_out(short, question), contrasts, question)
    assert (found.status, found.rows, found.blocks) == ("fitted", 29, 5)
    content = next(c for c in found.contrasts if (c.condition, c.kind) == ("rule", "content"))
    cell = [
        np.mean([r.y for r in runs if (r.condition, r.arm) == ("rule", arm)]) for arm in ("matched", "twin")
    ]
    assert content.figures.estimate == pytest.approx(cell[0] - cell[1])


def test_rows_in_another_order_give_the_same_figures(make_runs: Runs) -> None:
    rng = np.random.default_rng(6)
    runs = make_runs(("base", "rule"), 4, lambda *_: float(rng.uniform(0.3, 0.7)))
    question = Question("base", ("base", "rule"))
    contrasts = _contrasts(runs, question)
    shuffled = [runs[i] for i in rng.permutation(len(runs))]
    layout = lay_out(runs, question)
    assert of_runs(runs, layout, contrasts, question) == of_runs(shuffled, layout, contrasts, question)


def test_proportions_of_tasks_agree_with_runs_when_every_run_saw_every_task(make_runs: Runs) -> None:
    rng = np.random.default_rng(7)
    tasks = [
        TaskScore(c, arm, 0, block, task, int(rng.integers(0, 5)), 4)
        for c in ("base", "rule")
        for arm in ("native", "matched", "twin")
        for block in range(4)
        for task in range(6)
    ]
    by_run: dict[tuple[str, str, int], list[float]] = {}
    for t in tasks:
        by_run.setdefault((t.condition, t.arm, t.block), []).append(t.successes / t.episodes)
    runs = [RunScore(c, arm, 0, block, float(np.mean(y)), 24) for (c, arm, block), y in by_run.items()]
    question = Question("base", ("base", "rule"))
    contrasts, layout = _contrasts(runs, question), lay_out(runs, question)
    a, b = of_runs(runs, layout, contrasts, question), of_tasks(tasks, layout, contrasts, question)
    for x, y in zip(a.contrasts, b.contrasts, strict=True):
        assert x.figures.estimate == pytest.approx(y.figures.estimate)
        assert x.figures.se == pytest.approx(y.figures.se)


def test_faults_are_named_together() -> None:
    with pytest.raises(StatsError) as caught:
        solve(np.array([0.5, np.nan]), np.array([0, 1]), np.array([0, 0]), ("a", "b"))
    assert len(caught.value.faults) == 4
    assert "cell b: expected rows in at least 2 blocks, got 1" in caught.value.faults[3]


def test_it_refuses_with_the_reason_and_survives_json(make_runs: Runs) -> None:
    runs = make_runs(("base", "rule"), 1, lambda *_: 0.5)
    question = Question("base", ("base", "rule"))
    found = of_runs(runs, lay_out(runs, question), (), question)
    assert found.status == "refused"
    assert "expected at least 2 blocks, got 1" in found.reason
    assert from_text(Gee, to_text(found)) == found


def _contrasts(runs: list[RunScore], question: Question) -> Any:
    from equipoise_stats import analyse

    return analyse(runs, [], question, {}).contrasts


def test_names_of_conditions_change_no_digit() -> None:
    rng = np.random.default_rng(1)
    scores = [
        RunScore(c, arm, 0, b, float(rng.binomial(24, 0.5) / 24), 24)
        for c in ("base", "a", "b")
        for arm in ("native", "matched", "twin")
        for b in range(5)
    ]
    told = {"base": "10", "a": "2", "b": "zz"}
    renamed = [replace(score, condition=told[score.condition]) for score in scores]
    first = analyse(scores, (), Question("base", ("base", "a", "b")), {}).gee
    second = analyse(renamed, (), Question("10", ("10", "2", "zz")), {}).gee
    assert [c.figures for c in first.contrasts] == [c.figures for c in second.contrasts]
