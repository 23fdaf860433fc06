"""How often each verdict is wrong where it must not be given: at most at its level, whatever the runs are like.

The batch path judges here; tests/stats/test_simulate.py holds it to ``analyse``. The long version simulates twenty
times as many suites: set EQUIPOISE_CALIBRATION=1.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from equipoise_stats import Hypothesis, Question, RunScore, analyse
from equipoise_stats.results import Finding, Verdict
from equipoise_stats.simulate import Plan, World, draw, native_claims, scenario
from equipoise_stats.simulate.calibration import TOLERATED, Calibration, calibrate, calibration_plan, cases

SETS = 2_000
CASES = tuple(cases(calibration_plan(5)))
# Runs that do not vary alike: the pooled error alone must not decide there.
UNEQUAL = tuple(case for case in CASES if "3x" in case or "divergence" in case)
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


def assert_calibrated(found: Calibration) -> None:
    for verdict, rate in found.rates.items():
        assert rate <= most(found.sets), (found.case, found.blocks, found.engine, verdict)
    assert 0.94 - 0.004 <= found.coverage <= 0.96 + 0.004


@pytest.mark.parametrize("blocks", [5, 10, 20])
@pytest.mark.parametrize("engine", ["paired", "both"])
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
    plan = calibration_plan(20, "both", multiplicity)
    question = replace(plan.question, looks=(5, 10, 15, 20), spending="obf")
    assert_calibrated(calibrate(Plan(question, 20), CASES[0], sets=SETS, seed=5))


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
@pytest.mark.parametrize("engine", ["paired", "both"])
@pytest.mark.parametrize("case", CASES)
def test_the_same_in_forty_thousand_suites(case: str, engine: str, blocks: int) -> None:
    plan = calibration_plan(blocks, engine)
    assert_calibrated(calibrate(plan, case, sets=20 * SETS, seed=23 * blocks + CASES.index(case)))
