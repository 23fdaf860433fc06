"""Dose and response: a curve that was put in comes out, and too few volumes are refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.stats.dose_runs import dose_runs

from equipoise_stats import Question, RunScore, analyse

DATA = Path(__file__).parent / "data"
NAMES = ("base", "a", "b")
QUESTION = Question("base", NAMES)
NATIVE = {"base": 50.0, "a": 200.0, "b": 400.0}


def records(
    curve: float = 0.04, content: float = 0.08, blocks: int = 8, saturating: bool = False
) -> list[RunScore]:
    rng = np.random.default_rng(9)
    level = rng.normal(0.4, 0.03, blocks)
    runs = []
    for c in NAMES:
        for arm in ("native", "matched", "twin"):
            steps = NATIVE[c] if arm == "native" else 100.0
            ratio = steps / 100.0
            dose = curve * (3.0 * (1 - 1 / ratio) if saturating else math.log(ratio))
            gain = dose + content * (c == "a" and arm != "twin")
            runs += [
                RunScore(c, arm, 0, b, float(level[b] + gain + rng.normal(0, 0.01)), 100, steps=steps)
                for b in range(blocks)
            ]
    return runs


def test_slope_and_equivalent_steps_are_those_put_in() -> None:
    found = analyse(records(), (), QUESTION, {}).dose_response
    assert (found.status, found.volumes) == ("fitted", 4)
    assert found.slope is not None
    assert found.slope.ci[0] < 0.04 < found.slope.ci[1]
    assert [c for c, _ in found.slopes] == list(NAMES)
    assert found.lack_of_fit is not None
    assert found.lack_of_fit.p > 0.05
    ratios = {e.condition: e for e in found.equivalents}
    assert ratios["a"].ratio is not None
    assert ratios["a"].ci is not None
    assert ratios["a"].ci[0] < math.exp(0.08 / 0.04) < ratios["a"].ci[1]
    assert ratios["b"].ci is not None
    assert ratios["b"].ci[0] < 1.0 < ratios["b"].ci[1]


def test_a_saturating_curve_is_told_from_a_logarithmic_one() -> None:
    straight, bent = (analyse(records(saturating=s), (), QUESTION, {}).dose_response for s in (False, True))
    assert straight.saturating_gain is not None
    assert bent.saturating_gain is not None
    assert straight.saturating_gain < 0 < bent.saturating_gain
    assert bent.lack_of_fit is not None
    assert bent.lack_of_fit.p < 0.05


def test_a_flat_curve_buys_nothing() -> None:
    found = analyse(records(curve=0.0), (), QUESTION, {}).dose_response
    assert {e.ratio for e in found.equivalents} == {None}


def test_two_volumes_make_no_curve_and_unknown_steps_none_at_all() -> None:
    few = [replace(r, steps=100.0 if r.arm != "native" else 200.0) for r in records()]
    assert analyse(few, (), QUESTION, {}).dose_response.reason == (
        "2 different volumes were assigned; a curve needs 3"
    )
    unknown = [replace(r, steps=None) for r in records()]
    reason = analyse(unknown, (), QUESTION, {}).dose_response.reason
    assert reason == "72 of 72 runs were assigned no steps, or do not say them"


@pytest.mark.parametrize("dose", ["steps", "ess"])
def test_slopes_and_departures_of_both_doses_are_those_of_lmer_test(dose: str) -> None:
    expected = json.loads((DATA / "dose_response.json").read_text())[dose]
    analysis = analyse(dose_runs(), (), Question("base", ("base", "a", "b", "c")), {})
    found = analysis.dose_response if dose == "steps" else analysis.dose_response_ess
    assert (found.status, found.dose) == ("fitted", dose)
    assert found.slope is not None
    pairs = [(found.slope, expected["slope"])]
    pairs += [(slope, expected["slopes"][condition]) for condition, slope in found.slopes]
    for slope, row in pairs:
        assert slope.estimate == pytest.approx(row["estimate"], abs=1e-6 * row["se"])
        assert slope.se == pytest.approx(row["se"], rel=1e-5)
        assert slope.df == pytest.approx(row["df"], rel=1e-4)
        assert slope.p == pytest.approx(row["p"], abs=1e-6)
    assert found.saturating_gain == pytest.approx(expected["saturating_gain"], abs=1e-5)
    for name, row in expected["tests"].items():
        test = getattr(found, name)
        assert test.f == pytest.approx(row["f"], rel=1e-4)
        # lmerTest's numerical derivatives leave 2e-4 where volumes within a cell hardly differ
        assert test.df == pytest.approx(tuple(row["df"]), rel=5e-4)
        assert test.p == pytest.approx(row["p"], abs=1e-6)


def test_both_doses_need_their_own_amounts() -> None:
    found = analyse(records(), (), QUESTION, {})
    assert found.dose_response.status == "fitted"
    assert found.dose_response_ess.reason == (
        "72 of 72 runs were assigned no effective sample size, or do not say them"
    )
