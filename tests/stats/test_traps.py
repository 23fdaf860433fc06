"""The traps of the design, one test each; those of the engine alone stand with the engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from equipoise_stats import Question, RunScore, StatsError, TaskScore, analyse
from equipoise_stats.balanced import balanced_reml
from equipoise_stats.crosscheck import PeerFit, compare
from equipoise_stats.stratum import fit_stratum
from equipoise_stats.swap import swap_null, swap_tests

NAMES = ("base", "a", "b")
QUESTION = Question("base", NAMES)
CELLS = tuple((c, arm) for c in NAMES for arm in ("native", "matched", "twin"))


def records(seed: int = 1, blocks: int = 5, spread: float = 0.03) -> list[RunScore]:
    rng = np.random.default_rng(seed)
    level = rng.normal(0.5, spread, blocks)
    return [
        RunScore(c, arm, 0, b, float(level[b] + rng.normal(0, 0.02)), 100)
        for c, arm in CELLS
        for b in range(blocks)
    ]


def tasks_of(runs: list[RunScore], tasks: int = 5, k: int = 20) -> list[TaskScore]:
    rng = np.random.default_rng(2)
    ease = rng.normal(0, 0.1, tasks)
    return [
        TaskScore(
            r.condition, r.arm, r.twin, r.block, t, int(rng.binomial(k, np.clip(r.y + ease[t], 0, 1))), k
        )
        for r in runs
        for t in range(tasks)
    ]


def test_seed_variance_of_exactly_zero_stays_in_the_model_and_is_named() -> None:
    # blocks centred: no variance between them at all
    runs = records(spread=0.0)
    mean = {b: np.mean([r.y for r in runs if r.block == b]) for b in range(5)}
    flat = [replace(r, y=float(r.y - mean[r.block] + 0.5)) for r in runs]
    found = analyse(flat, (), QUESTION, {})
    assert found.run_level.boundary == ("block",)
    assert found.run_level.components is not None
    assert found.run_level.components["block"] == 0.0
    assert found.run_level.certificate is not None
    assert found.run_level.certificate.kkt
    content = found.contrast("a", "content")
    assert content.m0 is not None
    assert content.m0.df == 8 * 4  # the exact stratum is not pooled with the blocks


def test_one_seed_missing_for_one_rule_costs_only_that_rule() -> None:
    runs = [r for r in records() if (r.condition, r.block) != ("a", 3)]
    found = analyse(runs, (), QUESTION, {})
    assert "mixed model of runs" in found.engine_sentence
    pairs = {c: found.contrast(c, "content").m1h for c in ("a", "b")}
    assert {c: f.df if f else None for c, f in pairs.items()} == {"a": 3, "b": 4}


def test_a_condition_with_one_run_gets_its_error_from_the_others() -> None:
    runs = [r for r in records() if (r.condition, r.arm) != ("a", "matched") or r.block == 0]
    content = analyse(runs, (), QUESTION, {}).contrast("a", "content")
    assert content.se is not None
    assert content.se > 0
    assert content.m1h is None


def test_all_success_cells_are_neither_dropped_nor_sure() -> None:
    runs = [replace(r, y=1.0) if (r.condition, r.arm) == ("a", "matched") else r for r in records()]
    tasks = [
        replace(t, successes=t.episodes) if (t.condition, t.arm) == ("a", "matched") else t
        for t in tasks_of(runs)
    ]
    found = analyse(runs, tasks, QUESTION, {})
    content = found.contrast("a", "content")
    assert content.se is not None
    assert content.se > 0
    assert found.cell_level.status == "fitted"
    assert any("a.matched" in said for said in found.logit.separated)


def test_numeric_looking_labels_are_labels_and_the_baseline_is_named() -> None:
    names = {"base": "10", "a": "9", "b": "1e1"}
    runs = records()
    one = analyse(runs, (), QUESTION, {})
    renamed = [replace(r, condition=names[r.condition]) for r in runs]
    two = analyse(renamed, (), Question("10", ("10", "9", "1e1")), {})
    assert [c.estimate for c in one.contrasts] == [c.estimate for c in two.contrasts]
    assert two.contrast("9", "shape").vector == {"9.twin": 1, "10.matched": -1}


def test_the_order_of_conditions_decides_nothing_but_the_order_of_the_tables() -> None:
    runs = records()
    last = analyse(runs, (), Question("base", ("b", "a", "base")), {})
    first = analyse(runs, (), QUESTION, {})
    for c in first.contrasts:
        other = last.contrast(c.condition, c.kind)
        assert other.estimate == pytest.approx(c.estimate, abs=1e-14)
        assert other.p_adjusted == pytest.approx(c.p_adjusted, abs=1e-6)


def test_an_interaction_with_a_missing_cell_is_not_estimable_and_not_zero() -> None:
    runs = [r for r in records() if (r.condition, r.arm) != ("a", "native")]
    volume = analyse(runs, (), QUESTION, {}).contrast("a", "volume")
    assert (volume.verdict, volume.estimate, volume.reasons) == (
        "not estimable",
        None,
        ("a.native has no run",),
    )


def test_episodes_may_vary_by_task() -> None:
    runs = records()
    tasks = [replace(t, episodes=20 + 7 * t.task, successes=min(t.successes, 20)) for t in tasks_of(runs)]
    found = analyse(runs, tasks, QUESTION, {})
    assert found.cell_level.status == found.logit.status == "fitted"
    assert found.logit.episodes == sum(t.episodes for t in tasks)


def test_a_run_given_twice_is_refused() -> None:
    runs = records()
    with pytest.raises(StatsError, match=r"run base.native.0 of block 0 is given 2 times"):
        analyse([*runs, runs[0]], (), QUESTION, {})


def test_scores_that_are_not_numbers_are_refused_and_never_left_out() -> None:
    runs = records()
    with pytest.raises(StatsError, match=r"got nan; score a diverged run with the policy it started from"):
        analyse([replace(runs[0], y=float("nan")), *runs[1:]], (), QUESTION, {})


def test_floors_of_exact_p_values_are_printed() -> None:
    for twins, floor in ((1, 2 / 2**5), (2, 1 / 3**5), (3, 1 / 4**5)):
        null = swap_null(np.full(5, 0.9), np.full((5, twins), 0.1))
        test = swap_tests({"a": null}, ("a",), 0.05)["a"]
        assert test.floor == floor
        assert f"the smallest possible p is {floor:.4g}" in test.sentence


def test_ties_count_against_the_rule() -> None:
    null = swap_null(np.array([0.6, 0.6, 0.5]), np.array([[0.5], [0.5], [0.5]]))
    # sums of ±.1 ±.1 ±0: as extreme as .2 in both directions, each twice
    assert null.p_at(null.observed) == pytest.approx(4 / 8)


def test_drawn_p_values_count_the_data_themselves() -> None:
    null = swap_null(np.full(30, 0.9), np.full((30, 1), 0.1))
    assert null.p_at(null.observed) == pytest.approx(1 / 100_001)


def test_the_order_of_rows_changes_no_byte_of_a_ragged_analysis() -> None:
    runs = [r for r in records() if (r.condition, r.arm, r.block) != ("a", "twin", 2)]
    tasks = tasks_of(runs)
    order = np.random.default_rng(3)
    shuffled = analyse(
        [runs[i] for i in order.permutation(len(runs))],
        [tasks[i] for i in order.permutation(len(tasks))],
        QUESTION,
        {},
    )
    assert shuffled.to_json() == analyse(runs, tasks, QUESTION, {}).to_json()


def test_zero_coefficients_of_the_second_engine_are_caught() -> None:
    y = np.array([[r.y for r in records() if (r.condition, r.arm) == cell] for cell in CELLS])
    stratum = fit_stratum(y)
    own = balanced_reml(stratum)
    zeros = PeerFit(np.zeros(9), stratum.covariance(), own.loglik, own.block_variance, converged=True)
    check = compare(stratum, own, zeros)
    assert check.flag == "disagree"
    assert any("exactly 0.0 for 9 of 9 cell means" in sentence for sentence in check.sentences)


def test_conditional_and_marginal_risk_differences_are_told_apart() -> None:
    rng = np.random.default_rng(5)
    ease = rng.normal(0, 2.0, 12)
    runs, tasks = [], []
    for c, arm in CELLS:
        for b in range(4):
            chance = 1 / (1 + np.exp(-(ease + 1.0 * ((c, arm) == ("a", "matched")))))
            wins = rng.binomial(30, chance)
            runs.append(RunScore(c, arm, 0, b, float(wins.sum() / 360), 360))
            tasks += [TaskScore(c, arm, 0, b, t, int(w), 30) for t, w in enumerate(wins)]
    found = analyse(runs, tasks, QUESTION, {})
    logit = next(c for c in found.logit.contrasts if (c.condition, c.kind) == ("a", "content"))
    content = found.contrast("a", "content").estimate
    assert logit.risk_difference.estimate == pytest.approx(content, abs=0.015)
    assert logit.conditional.estimate is not None
    assert content is not None
    assert logit.conditional.estimate > content + 0.03


@pytest.mark.slow
def test_the_number_of_blas_threads_moves_no_figure_beyond_rounding() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_traps as t; from equipoise_stats import analyse;"
        "runs = [r for r in t.records() if (r.condition, r.arm, r.block) != ('a', 'twin', 2)];"
        "sys.stdout.write(analyse(runs, t.tasks_of(runs), t.QUESTION, {}).to_json())"
    )
    written = []
    for threads in ("1", "2"):
        surroundings = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        command = [sys.executable, "-c", code, str(Path(__file__).parent)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=surroundings)
        written.append(json.loads(done.stdout))
    one, two = (analysis["contrasts"] for analysis in written)
    for ours, theirs in zip(one, two, strict=True):
        for name in ("verdict", "sentence"):
            assert ours[name] == theirs[name]
        for name in ("estimate", "se", "df", "p", "p_adjusted"):
            assert ours[name] == pytest.approx(theirs[name], rel=1e-9)
