"""The logit model of a suite's task scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equipoise_stats import Question, RunScore, TaskScore, analyse
from equipoise_stats.glmm import LogitModel, logit_model
from equipoise_stats.layout import lay_out
from equipoise_stats.results import Contrast
from equipoise_stats.serial import from_text, to_text

QUESTION = Question("base", ("base", "rule"))


def suite(seed: int = 0, blocks: int = 4) -> tuple[list[RunScore], list[TaskScore]]:
    rng = np.random.default_rng(seed)
    tasks, difficulty = [], rng.normal(0, 1, 10)
    for c in ("base", "rule"):
        for arm in ("native", "matched", "twin"):
            for b in range(blocks):
                eta = 0.8 * (c == "rule") * (arm != "twin") + difficulty + rng.normal(0, 0.2)
                wins = rng.binomial(8, 1 / (1 + np.exp(-eta)))
                tasks += [TaskScore(c, arm, 0, b, t, int(w), 8) for t, w in enumerate(wins)]
    return _runs(tasks), tasks


def _runs(tasks: list[TaskScore]) -> list[RunScore]:
    wins: dict[tuple[str, str, int], list[int]] = {}
    for t in tasks:
        wins.setdefault((t.condition, t.arm, t.block), []).append(t.successes)
    return [RunScore(c, arm, 0, b, sum(w) / 80, 80) for (c, arm, b), w in wins.items()]


def primary(runs: list[RunScore]) -> tuple[Contrast, ...]:
    return analyse(runs, [], QUESTION, {}).contrasts


def test_marginal_risk_differences_are_near_the_primary_estimates_and_conditional_ones_are_larger() -> None:
    runs, tasks = suite()
    contrasts = primary(runs)
    found = logit_model(tasks, lay_out(runs, QUESTION), contrasts, QUESTION)
    assert (found.status, found.rows, found.episodes) == ("fitted", 240, 1920)
    assert [c.term for c in found.components] == ["block", "task", "run"]
    own = {(c.condition, c.kind): c for c in found.contrasts}["rule", "content"]
    linear = next(c for c in contrasts if (c.condition, c.kind) == ("rule", "content")).estimate
    assert own.risk_difference.estimate == pytest.approx(linear, abs=0.01)
    assert own.conditional.estimate is not None
    assert own.risk_difference.estimate is not None
    assert own.conditional.estimate > own.risk_difference.estimate > 0
    assert own.log_odds.scale == "log odds"
    assert own.conditional.scale == "risk difference (conditional on random effects of 0)"


def test_order_of_scores_does_not_matter_and_json_gives_the_same_back() -> None:
    runs, tasks = suite()
    contrasts = primary(runs)
    found = logit_model(tasks, lay_out(runs, QUESTION), contrasts, QUESTION)
    assert logit_model(tasks[::-1], lay_out(runs, QUESTION), contrasts, QUESTION) == found
    assert from_text(LogitModel, to_text(found)) == found


def test_a_cell_that_always_succeeds_is_named_and_its_contrasts_have_no_figure() -> None:
    _, tasks = suite()
    tasks = [replace(t, successes=8) if (t.condition, t.arm) == ("rule", "matched") else t for t in tasks]
    runs = _runs(tasks)
    found = logit_model(tasks, lay_out(runs, QUESTION), primary(runs), QUESTION)
    assert found.status == "fitted"
    assert found.separated == (
        "rule.matched: every episode succeeded (320 of 320), so its log odds are +infinity and have no standard error",
    )
    own = {(c.condition, c.kind): c for c in found.contrasts}
    assert own["rule", "content"].risk_difference.estimate is None
    assert own["rule", "shape"].risk_difference.estimate is not None
    assert from_text(LogitModel, to_text(found)) == found


def test_it_refuses_with_the_reason() -> None:
    runs, tasks = suite()
    layout = lay_out(runs, QUESTION)
    assert logit_model([], layout, (), QUESTION).reason.startswith(
        "no task scores of base.native, base.matched"
    )
    one = [t for t in tasks if t.task == 0]
    found = logit_model(one, layout, (), QUESTION)
    assert found.status == "refused"
    assert "term 'task': expected at least 2 groups with rows, got 1" in found.reason
