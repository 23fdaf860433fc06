"""Families behind gates, any correlation, non-inferiority, shares of volume, flags and deviations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from equipoise_stats import (
    Finding,
    Hypothesis,
    Question,
    RunScore,
    Verdict,
    analyse,
    families,
    figures,
    student,
)
from equipoise_stats.families import Adjusted, Level
from equipoise_stats.multiplicity import step_down_max_t
from equipoise_stats.shares import fieller

Runs = Callable[..., list[RunScore]]
NAMES = ("base", "a", "b")


def adjusted(p: float) -> Adjusted:
    return Adjusted(p, 0.5, 0.5, (-1.0, 1.0))


def test_a_family_opens_only_when_all_of_the_one_before_is_shown() -> None:
    members = {"content": NAMES[1:], "volume": NAMES[1:], "shape": NAMES[1:]}
    found = {
        "content": {"a": adjusted(0.01), "b": adjusted(0.04)},
        "volume": {"a": adjusted(0.001), "b": adjusted(0.3)},
        "shape": {"a": adjusted(0.0001), "b": adjusted(0.0001)},
    }
    gated = families.gatekeep(found, members, ("content", "volume", "shape"))
    assert [gated["content"][c].p for c in "ab"] == [0.01, 0.04]
    assert [gated["volume"][c].p for c in "ab"] == [0.04, 0.3]  # open at 0.05: no smaller than before
    assert [gated["shape"][c].p for c in "ab"] == [0.3, 0.3]
    assert gated["shape"]["a"].gate == 0.3
    assert families.gatekeep(found, members, ()) == found


def test_a_member_without_a_figure_keeps_the_gate_shut() -> None:
    members = {"content": NAMES[1:], "volume": NAMES[1:]}
    found = {"content": {"a": adjusted(0.001)}, "volume": {"a": adjusted(0.001), "b": adjusted(0.001)}}
    assert families.gatekeep(found, members, ("content", "volume"))["volume"]["a"].p == 1.0


def scores(
    effects: dict[tuple[str, str], float], blocks: int = 8, sd: float = 0.02, seed: int = 11
) -> list[RunScore]:
    rng = np.random.default_rng(seed)
    noise = {(c, arm): rng.normal(0, sd, blocks) for c in NAMES for arm in ("native", "matched", "twin")}
    return [
        RunScore(c, arm, 0, block, float(0.5 + effects.get((c, arm), 0.0) + noise[c, arm][block]), 100)
        for c, arm in noise
        for block in range(blocks)
    ]


def test_a_shut_gate_is_said_and_an_open_one_costs_nothing() -> None:
    runs = scores({("a", "matched"): 0.1, ("a", "native"): 0.3, ("b", "native"): 0.2})
    plain = analyse(runs, (), Question("base", NAMES), {})
    gated = analyse(runs, (), Question("base", NAMES, gatekeeping=("content", "volume")), {})
    assert plain.contrast("a", "volume").verdict.startswith("superior")
    shut = gated.contrast("a", "volume")
    assert shut.verdict is Verdict.INCONCLUSIVE
    assert "the families before it were not all shown" in shut.sentence
    assert shut.gate_p == gated.contrast("b", "content").p_adjusted
    both = scores({("a", "matched"): 0.1, ("b", "matched"): 0.1, ("a", "native"): 0.3, ("b", "native"): 0.3})
    opened = analyse(both, (), Question("base", NAMES, gatekeeping=("content", "volume")), {})
    assert opened.contrast("a", "volume").verdict.startswith("superior")


def test_the_largest_t_under_an_unequal_correlation_is_that_of_scipy() -> None:
    shared = np.array([[1.0, 0.7, -0.2], [0.7, 1.0, 0.1], [-0.2, 0.1, 1.0]])
    for t in (1.5, 2.4):
        expected = 1 - stats.multivariate_t(shape=shared, df=9, seed=0).cdf(
            [t] * 3, lower_limit=[-t] * 3, maxpts=400_000
        )
        assert student.max_t_p(t, shared, 9) == pytest.approx(expected, abs=2e-3)
    steps = step_down_max_t(np.array([0.3, -3.0, 2.0]), shared, 9)
    assert steps[1] == pytest.approx(student.max_t_p(3.0, shared, 9), abs=1e-4)
    assert steps[2] == pytest.approx(student.max_t_p(2.0, shared[np.ix_([0, 2], [0, 2])], 9), abs=1e-3)
    assert steps[0] == pytest.approx(max(steps[2], float(student.two_sided_p(0.3, 9))))


def test_not_worse_is_less_than_equivalent_and_is_said() -> None:
    # 0.03 with SE 0.022 and 20 df: above -0.05 surely, below +0.05 not
    figure = figures.figures(0.03, 0.022, 20, 0.05)
    found = families.at_once(figure, 0.05)
    assert found.noninferior_p == pytest.approx(float(stats.t.sf(0.08 / 0.022, 20)))
    assert found.tost_p == pytest.approx(float(stats.t.sf(0.02 / 0.022, 20)))
    outcome = families.unadjusted(found, Level(0.05, 0.05))
    from equipoise_stats.verdicts import sentence, verdict

    word = verdict(figure, outcome, 0.05, 0.05)
    assert word is Verdict.INCONCLUSIVE
    assert "yet not worse by 0.05" in sentence(
        "content(a)", figure, outcome, word, Level(0.05, 0.05), blocks=9
    )


def test_fieller_by_hand_and_unbounded() -> None:
    # independent, variance 1 each, critical 2: (10 +- ...) / a with a = 25 - 4, b = 50, c = 100 - 4
    found = fieller(np.array([10.0, 5.0]), np.eye(2), 2.0)
    half = np.sqrt(50.0**2 - 21.0 * 96.0)
    assert found == pytest.approx(((50 - half) / 21, (50 + half) / 21))
    assert fieller(np.array([10.0, 2.0]), np.eye(2), 2.0) is None  # exactly at the level: not away from 0


def test_the_share_of_volume_keeps_its_sign_and_is_withheld_where_the_total_may_be_zero() -> None:
    runs = scores({("a", "native"): 0.4, ("a", "matched"): 0.3, ("a", "twin"): 0.0})
    shares = {s.condition: s for s in analyse(runs, (), Question("base", NAMES), {}).shares}
    assert shares["a"].share is not None
    assert shares["a"].share == pytest.approx(0.25, abs=0.1)
    assert shares["a"].ci is not None
    assert shares["a"].ci[0] < shares["a"].share < shares["a"].ci[1]
    assert shares["b"].share is None
    assert "not shown to differ from 0" in shares["b"].sentence


def test_matched_is_content_plus_shape() -> None:
    found = analyse(scores({("a", "matched"): 0.1}), (), Question("base", NAMES), {})
    parts = [found.contrast("a", kind) for kind in ("matched", "content", "shape")]
    whole, content, shape = (c.estimate or 0.0 for c in parts)
    assert whole == pytest.approx(content + shape)
    assert parts[0].vector == {"a.matched": 1, "base.matched": -1}
    assert parts[0].ci_simultaneous is not None


def test_a_rule_whose_runs_vary_more_carries_a_flag_beside_its_verdict() -> None:
    rng = np.random.default_rng(4)
    runs = [
        replace(r, y=r.y + (0.0 if r.condition != "a" else float(rng.normal(0, 0.1)))) for r in scores({})
    ]
    found = analyse(runs, (), Question("base", NAMES), {}).contrast("a", "content")
    assert found.sd_ratio is not None
    assert found.sd_ratio > 2
    assert any("times as much as the others" in flag for flag in found.flags)
    assert found.flags[-1] in found.sentence
    even = analyse(scores({}), (), Question("base", NAMES), {}).contrast("a", "content")
    assert even.sd_ratio is not None
    assert 0.5 < even.sd_ratio < 2


def test_run_variances_are_unbiased_whatever_the_others_are() -> None:
    rng = np.random.default_rng(6)
    sd = np.array([1.0, 1.0, 3.0, 0.5])
    draws = [figures.run_variances(rng.normal(size=(4, 6)) * sd[:, None]) for _ in range(4000)]
    assert np.mean(np.array(draws, dtype=np.float64), axis=0) == pytest.approx(sd**2, rel=0.06, abs=0.08)


def test_one_analysis_alone_claims_nothing_where_both_must_agree() -> None:
    runs = scores({("a", "matched"): 0.1}, blocks=3, sd=0.03, seed=8)
    content = analyse(runs, (), Question("base", NAMES), {}).contrast("a", "content")
    assert (content.engine, content.verdict) == ("both", Verdict.INCONCLUSIVE)
    assert content.flags == ("the exact error stratum says superior",)
    assert content.m1h is not None
    assert content.m1h.p is not None
    assert content.p_adjusted == pytest.approx(min(1.0, 2 * content.m1h.p))  # two members: both may be noisy


@pytest.mark.parametrize("engine", ["exact-stratum", "paired"])
def test_a_registered_engine_is_primary_and_the_other_stands_beside(engine: str) -> None:
    found = analyse(scores({("a", "matched"): 0.05}), (), Question("base", NAMES, engine=engine), {})
    content = found.contrast("a", "content")
    figure = content.m0 if engine == "exact-stratum" else content.m1h
    assert figure is not None
    assert (content.engine, content.p, content.df) == (engine, figure.p, figure.df)


def test_an_analysis_that_disagrees_is_named_in_the_verdict_and_in_the_finding() -> None:
    # three blocks: 16 degrees of freedom against 2
    runs = scores({("a", "matched"): 0.1}, blocks=3, sd=0.03, seed=8)
    hypotheses = (Hypothesis("H1", "", "content", "a"),)
    question = Question("base", NAMES, hypotheses=hypotheses, engine="exact-stratum")
    found = analyse(runs, (), question, {})
    content = found.contrast("a", "content")
    assert content.verdict.startswith("superior")
    assert content.flags == ("the paired analysis says inconclusive",)
    assert content.sentence.endswith("(but the paired analysis says inconclusive)")
    assert found.hypotheses[0].sentence.endswith("(but the paired analysis says inconclusive)")


def test_a_late_amendment_makes_findings_deviated_with_exploratory_figures() -> None:
    question = Question(
        "base",
        NAMES,
        hypotheses=(Hypothesis("H1", "a helps", "content", "a"),),
        deviations=("the margin was changed on day 3",),
    )
    found = analyse(scores({("a", "matched"): 0.1}), (), question, {})
    finding = found.hypotheses[0]
    assert (finding.verdict, finding.exploratory) == (Finding.DEVIATED, Finding.CONFIRMED)
    assert finding.estimate is not None
    assert finding.sentence.startswith("DEVIATED: the margin was changed on day 3. Exploratory: CONFIRMED")
    barred = replace(question, barred=frozenset({("a", "twin", 0)}))
    assert analyse(scores({}), (), barred, {}).hypotheses[0].verdict is Finding.INADMISSIBLE
