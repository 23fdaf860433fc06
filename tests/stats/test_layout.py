"""Which runs enter the exact analysis, and why the others do not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from equipoise_stats import Question, RunScore, analyse
from equipoise_stats.layout import lay_out

Runs = Callable[..., list[RunScore]]


def steady(condition: str, arm: str, twin: int, block: int) -> float:
    # distinct by cell and block, and not additive
    return (len(condition) * 7 + len(arm) * 3 + block * block * (1 + len(arm) % 4) + twin) % 41 / 41


def test_a_block_with_a_cell_missing_is_left_out_with_the_reason(make_runs: Runs) -> None:
    runs = [
        r for r in make_runs(("base", "a"), 4, steady) if (r.condition, r.arm, r.block) != ("a", "twin", 2)
    ]
    layout = lay_out(runs, Question("base", ("base", "a")))
    assert layout.blocks == (0, 1, 3)
    assert [(left.block, left.reason) for left in layout.left_out] == [(2, "a.twin is missing")]


def test_a_block_with_too_few_twins_is_left_out(make_runs: Runs) -> None:
    runs = [
        r
        for r in make_runs(("base", "a"), 3, steady, twins=2)
        if (r.condition, r.twin, r.block) != ("a", 1, 0)
    ]
    layout = lay_out(runs, Question("base", ("base", "a")))
    assert [(left.block, left.reason) for left in layout.left_out] == [(0, "a.twin has 1 of 2 twins")]


def test_twins_of_a_block_are_averaged(make_runs: Runs) -> None:
    runs = make_runs(("base", "a"), 2, lambda c, a, t, b: 0.2 + 0.4 * t if a == "twin" else 0.5, twins=2)
    layout = lay_out(runs, Question("base", ("base", "a")))
    assert layout.y[layout.cells.index(("a", "twin"))].tolist() == pytest.approx([0.4, 0.4])
    assert layout.twins["a"].tolist() == [[0.2, pytest.approx(0.6)]] * 2


def test_the_duplicate_cell_of_a_rule_that_is_its_own_twin_never_shrinks_the_error(make_runs: Runs) -> None:
    names = ("base", "a", "same")
    question = Question("base", names, identical=frozenset({"same"}))
    with_twin = [
        r if (r.condition, r.arm) != ("same", "twin") else type(r)("same", "twin", 0, r.block, matched, 100)
        for r in make_runs(names, 4, steady)
        for matched in [steady("same", "matched", 0, r.block)]
    ]
    without = [r for r in with_twin if (r.condition, r.arm) != ("same", "twin")]
    first, second = (analyse(runs, (), question, {}) for runs in (with_twin, without))
    assert first.contrasts == second.contrasts
    assert first.stratum == second.stratum
    assert first.contrast("same", "content").estimate == 0.0
    assert first.contrast("same", "content").se is None
    assert first.contrast("same", "content").verdict == "by construction"


def test_a_cell_with_a_broken_budget_leaves_the_layout_and_bars_its_contrasts(make_runs: Runs) -> None:
    names = ("base", "a", "b")
    question = Question("base", names, barred=frozenset({("a", "matched", 1)}))
    analysis = analyse(make_runs(names, 4, steady), (), question, {})
    barred = analysis.contrast("a", "content")
    assert barred.verdict == "inadmissible"
    assert barred.reasons == ("a.matched broke its budget in block 1",)
    assert barred.estimate is None
    assert analysis.contrast("a", "total").estimate is not None
    content = analysis.contrast("b", "content")
    assert content.m0 is not None
    assert (content.m0.df, content.df) == ((8 - 1) * (4 - 1), 4 - 1)


def test_one_complete_block_leaves_nothing_to_test_with(make_runs: Runs) -> None:
    analysis = analyse(make_runs(("base", "a"), 1, steady), (), Question("base", ("base", "a")), {})
    assert analysis.contrast("a", "content").verdict == "not estimable"
    assert analysis.stratum is None
    assert analysis.cross_check.flag == "not comparable"
    assert analysis.mde.content is None
    assert type(analysis).from_json(analysis.to_json()) == analysis


def test_no_complete_block_is_said_and_not_hidden(make_runs: Runs) -> None:
    runs = [
        r
        for r in make_runs(("base", "a"), 2, steady)
        if not (r.arm == "twin" and r.block == r.condition.count("a"))
    ]
    runs = [r for r in runs if not (r.condition == "a" and r.arm == "native" and r.block == 0)]
    assert "mixed model of runs" in analyse(runs, (), Question("base", ("base", "a")), {}).engine_sentence
    analysis = analyse(runs, (), Question("base", ("base", "a"), engine="exact-stratum"), {})
    assert analysis.blocks == ()
    assert len(analysis.left_out) == 2
    assert analysis.contrast("a", "content").verdict == "not estimable"


def test_scores_that_never_vary_are_not_tested(make_runs: Runs) -> None:
    analysis = analyse(make_runs(("base", "a"), 3, lambda *_: 1.0), (), Question("base", ("base", "a")), {})
    content = analysis.contrast("a", "content")
    assert (content.estimate, content.p, content.verdict) == (0.0, None, "inconclusive")
    assert "nothing varies" in content.sentence
    assert analysis.cross_check.flag == "not comparable"
