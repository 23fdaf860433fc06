"""How often each verdict is wrong where it must not be given: at most at its level, whatever the runs are like.

The batch path judges here; tests/stats/test_simulate.py holds it to ``analyse``. The long version simulates five
times as many suites, and others: set EQUIPOISE_CALIBRATION=1.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from equipoise_stats import Hypothesis, Question, RunScore, analyse
from equipoise_stats.contrasts import judge_looks
from equipoise_stats.decomposition import KINDS
from equipoise_stats.drafts import choose_engine, draft_all, pooled_analysis, tabulate
from equipoise_stats.results import Finding, Verdict
from equipoise_stats.simulate import Plan, World, draw, native_claims, scenario, study
from equipoise_stats.simulate.calibration import (
    TOLERATED,
    Calibration,
    calibrate,
    calibration_plan,
    cases,
    other_designs,
)

SETS = 2_000
CASES = tuple(cases(calibration_plan(5)))
# Runs that do not vary alike: the pooled error alone must not decide there.
UNEQUAL = tuple(case for case in CASES if "3x" in case or "10x the run" in case or "divergence" in case)
HARDEST = (CASES[0], "half of the rules with 3x the run SD", "the baseline with 3x the run SD")
FINDINGS = {
    Verdict.SUPERIOR: Finding.CONFIRMED,
    Verdict.SUPERIOR_BY_MARGIN: Finding.CONFIRMED,
    Verdict.INFERIOR: Finding.REFUTED,
    Verdict.EQUIVALENT: Finding.EQUIVALENT,
    Verdict.INCONCLUSIVE: Finding.INCONCLUSIVE,
}
long = pytest.mark.skipif(
    not os.environ.get("EQUIPOISE_CALIBRATION"),
    reason="the long calibration takes minutes; set EQUIPOISE_CALIBRATION=1 to run it",
)


def most(sets: int) -> float:
    """The rate that chance alone passes once in 10,000 where the true one is the highest tolerated."""
    return float(stats.binom.ppf(0.9999, sets, TOLERATED)) / sets


def assert_calibrated(found: Calibration, looks: int = 1) -> None:
    for verdict, rate in found.rates.items():
        assert rate <= most(found.sets), (found.case, found.blocks, found.engine, verdict)
    assert found.coverage >= 0.94 - 0.004
    if looks == 1:  # repeated intervals cover more often
        assert found.coverage <= 0.96 + 0.004


@pytest.mark.parametrize("blocks", [5, 10, 20])
@pytest.mark.parametrize("engine", ["paired", "auto"])
@pytest.mark.parametrize("case", CASES)
def test_no_verdict_is_false_more_often_than_its_level(case: str, engine: str, blocks: int) -> None:
    plan = calibration_plan(blocks, engine)
    assert_calibrated(calibrate(plan, case, sets=SETS, seed=17 * blocks + CASES.index(case)))


@pytest.mark.parametrize("blocks", [5, 10, 20])
@pytest.mark.parametrize("case", [case for case in CASES if case not in UNEQUAL])
def test_the_pooled_error_alone_is_calibrated_where_all_runs_vary_alike(case: str, blocks: int) -> None:
    plan = calibration_plan(blocks, "exact-stratum")
    assert_calibrated(calibrate(plan, case, sets=SETS, seed=19 * blocks + CASES.index(case)))


@pytest.mark.parametrize("multiplicity", ["holm", "step-down-max-t"])
def test_looks_spend_no_more_than_the_level(multiplicity: str) -> None:
    plan = calibration_plan(20, "auto", multiplicity)
    question = replace(plan.question, looks=(5, 10, 15, 20), spending="obf")
    assert_calibrated(calibrate(Plan(question, 20), CASES[0], sets=SETS, seed=5), looks=4)


@pytest.mark.parametrize("case", HARDEST)
@pytest.mark.parametrize("design", [name for name in other_designs() if "one of 20" not in name])
def test_looks_twins_and_few_blocks_keep_the_level(design: str, case: str) -> None:
    plan = other_designs()[design]
    assert_calibrated(calibrate(plan, case, sets=SETS, seed=29), len(plan.looks))


@pytest.mark.parametrize("members", [2, 3, 12])
@pytest.mark.parametrize("noisy", ["one", "half", "baseline", "baseline and half"])
def test_families_of_other_sizes_keep_the_level(members: int, noisy: str) -> None:
    names = ("base", *(f"rule{i}" for i in range(members)))
    plan = Plan(Question("base", names, identical=frozenset({"base"})), 20)
    wide = {"one": names[1:2], "half": names[1 : 1 + members // 2], "baseline": names[:1]}
    spread = dict.fromkeys(wide.get(noisy, names[: 1 + members // 2]), 3.0)
    for rates in study(plan, World(spread=spread), SETS, members).values():
        assert rates.any_difference <= most(SETS)
        assert 0.936 <= rates.coverage <= 0.964


def ragged_claims(plan: Plan, world: World, sets: int, seed: int) -> tuple[dict[str, float], float]:
    """Shares of suites, a twentieth of whose runs is lost, with a false claim; by kind, and by M1 alone of content."""
    rng = np.random.default_rng(seed)
    y = draw(plan, world, sets, rng)
    names, question = plan.question.claimants, plan.question
    claims, alone = dict.fromkeys(KINDS, 0), 0
    for n in range(sets):
        lost = rng.random((len(plan.cells), plan.blocks)) < 0.05
        runs = [
            RunScore(c, arm, 0, block, float(y[n, i, block]), 100)
            for i, (c, arm) in enumerate(plan.cells)
            for block in range(plan.blocks)
            if not lost[i, block]
        ]
        table = tabulate(runs, question)
        drafts = draft_all(table, question, choose_engine(table, question))
        pooled = pooled_analysis(table)
        both, single = (judge_looks([drafts], question, pooled, None, guarded=g) for g in (True, False))
        for kind in KINDS:
            claims[kind] += any(
                p.p <= 0.05 for (c, k), p in both.adjusted.items() if k == kind and c in names
            )
        alone += any(p.p <= 0.05 for (c, k), p in single.adjusted.items() if k == "content" and c in names)
    return {kind: count / sets for kind, count in claims.items()}, alone / sets


def assert_ragged(blocks: int, noisy: str, sets: int) -> None:
    names = ("base", *(f"rule{i}" for i in range(6)))
    plan = Plan(Question("base", names, identical=frozenset({"base"}), multiplicity="holm"), blocks)
    claims, alone = ragged_claims(plan, World(spread={noisy: 3.0}), sets, seed=blocks)
    assert max(claims.values()) <= most(sets)
    if noisy != "base":
        assert alone > 0.12


@pytest.mark.slow
def test_the_mixed_model_of_incomplete_blocks_needs_the_pairs_to_keep_its_level() -> None:
    assert_ragged(5, "rule5", 200)


def test_the_pooled_error_alone_claims_the_noise_of_one_rule() -> None:
    found = calibrate(calibration_plan(10, "exact-stratum"), "one rule with 3x the run SD", sets=SETS, seed=3)
    assert found.rates["content"] > 0.15


@pytest.mark.parametrize(("blocks", "raw", "holm"), [(5, 0.930, 0.610), (10, 1.0, 0.988), (20, 1.0, 1.0)])
def test_native_runs_alone_claim_volume_as_a_better_rule(blocks: int, raw: float, holm: float) -> None:
    names = ("base", *(f"rule{i}" for i in range(6)))
    plan = Plan(Question("base", names, identical=frozenset({"base"})), blocks)
    y = draw(plan, scenario("S0", plan), 4_000, np.random.default_rng(blocks))
    assert native_claims(plan, y).any(axis=1).mean() == pytest.approx(raw, abs=0.02)
    assert native_claims(plan, y, adjusted=True).any(axis=1).mean() == pytest.approx(holm, abs=0.035)


@pytest.mark.parametrize("effect", [0.2, -0.2, 0.0])
def test_a_hypothesis_says_what_its_contrast_says(effect: float) -> None:
    names = ("base", "a", "b")
    question = Question(
        "base",
        names,
        identical=frozenset({"base"}),
        hypotheses=(Hypothesis("H1", "a places credit better", "content", "a"),),
    )
    plan = Plan(question, 6)
    world = World(effects={("a", "matched"): effect, ("a", "native"): effect}, run_sd=0.02)
    y = draw(plan, world, 1, np.random.default_rng(1))[0]
    runs = [
        RunScore(c, arm, 0, block, float(y[i, block]), 100)
        for i, (c, arm) in enumerate(plan.cells)
        for block in range(6)
    ]
    found = analyse(runs, (), question, {})
    (content,) = [c for c in found.contrasts if (c.condition, c.kind) == ("a", "content")]
    assert found.hypotheses[0].verdict == FINDINGS[content.verdict]


@long
@pytest.mark.parametrize("blocks", [5, 10, 20])
@pytest.mark.parametrize("engine", ["paired", "auto"])
@pytest.mark.parametrize("case", CASES)
def test_the_same_in_ten_thousand_suites(case: str, engine: str, blocks: int) -> None:
    plan = calibration_plan(blocks, engine)
    assert_calibrated(calibrate(plan, case, sets=5 * SETS, seed=23 * blocks + CASES.index(case)))


@long
@pytest.mark.parametrize("case", HARDEST)
@pytest.mark.parametrize("design", other_designs())
def test_looks_twins_and_few_blocks_in_ten_thousand_suites(design: str, case: str) -> None:
    plan = other_designs()[design]
    assert_calibrated(calibrate(plan, case, sets=5 * SETS, seed=31), len(plan.looks))


@long
@pytest.mark.parametrize("blocks", [5, 10])
@pytest.mark.parametrize("noisy", ["rule5", "base"])
def test_incomplete_blocks_in_hundreds_of_suites(blocks: int, noisy: str) -> None:
    assert_ragged(blocks, noisy, 400)
