"""Every verdict, every finding and every control, each from figures made for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from equipoise_stats import Finding, Hypothesis, Question, RunScore, Verdict, analyse, planned_mde
from equipoise_stats.families import Adjusted, Level
from equipoise_stats.figures import figures
from equipoise_stats.naive import naive
from equipoise_stats.verdicts import sentence, verdict

Runs = Callable[..., list[RunScore]]


@pytest.mark.parametrize(
    ("estimate", "p", "tost_p", "lower", "expected"),
    [
        (0.12, 0.001, 0.99, 0.06, Verdict.SUPERIOR_BY_MARGIN),
        (0.08, 0.010, 0.90, 0.02, Verdict.SUPERIOR),
        (0.02, 0.010, 0.01, 0.01, Verdict.SUPERIOR),  # real and small
        (-0.08, 0.010, 0.90, -0.14, Verdict.INFERIOR),
        (-0.02, 0.010, 0.01, -0.03, Verdict.INFERIOR),
        (0.01, 0.400, 0.02, -0.02, Verdict.EQUIVALENT),
        (0.04, 0.200, 0.40, -0.02, Verdict.INCONCLUSIVE),
    ],
)
def test_the_verdict_follows_the_adjusted_figures(
    estimate: float, p: float, tost_p: float, lower: float, expected: Verdict
) -> None:
    adjusted = Adjusted(p, tost_p, tost_p, (lower, 2 * estimate - lower))
    assert verdict(figures(estimate, 0.02, 20, 0.05), adjusted, 0.05, 0.05) is expected


# Block wobble of one run in a cell: sums to zero over four blocks, different in every cell.
WOBBLE = ((1, -1, 1, -1), (1, 1, -1, -1), (1, -1, -1, 1))


def scorer(gains: dict[tuple[str, str], float], size: float) -> Callable[[str, str, int, int], float]:
    cells: list[tuple[str, str]] = []

    def score(condition: str, arm: str, twin: int, block: int) -> float:
        if (condition, arm) not in cells:
            cells.append((condition, arm))
        wave = WOBBLE[cells.index((condition, arm)) % 3]
        return 0.5 + gains.get((condition, arm), 0.0) + size * wave[block % 4]

    return score


def judge(make_runs: Runs, gain: float, direction: str, size: float = 0.01, **changes: object) -> Finding:
    names = ("base", "a", "oracle", "random")
    gains = {("a", "matched"): gain, ("oracle", "matched"): 0.3, **changes.pop("gains", {})}  # type: ignore[dict-item]
    question = Question(
        "base",
        names,
        controls={"oracle": "positive", "random": "negative"},
        identical=frozenset({"base"}),
        hypotheses=(Hypothesis("H1", "a helps", "content", "a", direction),),
    )
    question = replace(question, **changes)  # type: ignore[arg-type]
    found = analyse(make_runs(names, 4, scorer(gains, size), identical=("base",)), (), question, {})
    result = found.hypotheses[0]
    if result.verdict is Finding.INADMISSIBLE:
        assert (result.estimate, result.p, result.p_adjusted, result.ci) == (None, None, None, None)
    return result.verdict


@pytest.mark.parametrize(
    ("gain", "direction", "expected"),
    [
        (0.2, "greater", Finding.CONFIRMED),
        (0.2, "less", Finding.REFUTED),
        (0.2, "two-sided", Finding.CONFIRMED),
        (-0.2, "greater", Finding.REFUTED),
        (-0.2, "less", Finding.CONFIRMED),
        (0.0, "greater", Finding.EQUIVALENT),
    ],
)
def test_the_finding_of_a_hypothesis(make_runs: Runs, gain: float, direction: str, expected: Finding) -> None:
    assert judge(make_runs, gain, direction) is expected


def test_noise_leaves_a_hypothesis_inconclusive(make_runs: Runs) -> None:
    gains = {("oracle", "matched"): 0.4}
    assert judge(make_runs, 0.02, "greater", size=0.1, gains=gains) is Finding.INCONCLUSIVE


def test_a_broken_budget_makes_its_hypothesis_inadmissible(make_runs: Runs) -> None:
    barred = frozenset({("a", "twin", 2)})
    assert judge(make_runs, 0.2, "greater", barred=barred) is Finding.INADMISSIBLE


@pytest.mark.parametrize("gains", [{("oracle", "matched"): 0.0}, {("random", "matched"): 0.3}])
def test_a_failed_control_makes_every_hypothesis_inadmissible(
    make_runs: Runs, gains: dict[tuple[str, str], float]
) -> None:
    assert judge(make_runs, 0.2, "greater", gains=gains) is Finding.INADMISSIBLE


def test_a_hypothesis_on_the_content_of_a_rule_that_is_its_own_twin_says_zero(make_runs: Runs) -> None:
    question = Question(
        "base",
        ("base", "a"),
        identical=frozenset({"a", "base"}),
        hypotheses=(Hypothesis("H1", "", "content", "a"), Hypothesis("H2", "", "content", "base")),
    )
    found = analyse(make_runs(("base", "a"), 4, scorer({}, 0.01), identical=("a", "base")), (), question, {})
    assert [h.verdict for h in found.hypotheses] == [Finding.EQUIVALENT] * 2
    assert all("is 0 by construction" in h.sentence for h in found.hypotheses)
    assert [h.id for h in found.hypotheses] == ["H1", "H2"]


def test_a_control_that_cannot_be_judged_admits_no_finding(make_runs: Runs) -> None:
    names = ("base", "a", "oracle")
    question = Question(
        "base",
        names,
        controls={"oracle": "positive"},
        hypotheses=(Hypothesis("H1", "", "content", "a"),),
        barred=frozenset({("oracle", "matched", 0)}),
    )
    found = analyse(make_runs(names, 6, scorer({("a", "matched"): 0.3}, 0.01)), (), question, {})
    assert [control.passed for control in found.controls] == [None]
    assert found.void
    assert [h.verdict for h in found.hypotheses] == [Finding.INADMISSIBLE]
    assert found.hypotheses[0].estimate is None


def test_a_suite_of_controls_alone_claims_no_detectable_content(make_runs: Runs) -> None:
    names = ("base", "oracle")
    question = Question("base", names, controls={"oracle": "positive"})
    found = analyse(make_runs(names, 6, scorer({("oracle", "matched"): 0.3}, 0.01)), (), question, {})
    assert found.mde.content is None
    assert found.mde.sentence.startswith("No detectable content can be given: no rule besides baseline")


def test_controls_are_judged_alone_and_losing_a_rule_does_not_ease_the_others(make_runs: Runs) -> None:
    names = ("base", "a", "b", "c", "oracle")
    question = Question("base", names, multiplicity="holm", controls={"oracle": "positive"})
    runs = make_runs(names, 4, scorer({("a", "matched"): 0.03, ("oracle", "matched"): 0.2}, 0.01))
    whole = analyse(runs, (), question, {})
    oracle = whole.contrast("oracle", "content")
    assert oracle.p == oracle.p_adjusted
    assert not oracle.in_family
    a = whole.contrast("a", "content")
    assert a.p is not None
    assert a.p_adjusted == pytest.approx(3 * a.p)
    thin = analyse(runs, (), replace(question, barred=frozenset({("c", "twin", 0)})), {}).contrast(
        "a", "content"
    )
    assert thin.p is not None
    assert thin.p_adjusted == pytest.approx(3 * thin.p)


def test_an_inconclusive_contrast_says_how_many_blocks_would_settle_it(make_runs: Runs) -> None:
    runs = make_runs(("base", "a"), 4, scorer({("a", "matched"): 0.03}, 0.05))
    found = analyse(runs, (), Question("base", ("base", "a")), {}).contrast("a", "content")
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.blocks_to_settle is not None
    assert found.blocks_to_settle > 4
    assert f"about {found.blocks_to_settle} blocks" in found.sentence


def test_the_blocks_that_settle_a_member_of_a_family_pay_for_the_family(make_runs: Runs) -> None:
    names = ("base", "a", "b", "c")
    runs = make_runs(names, 4, scorer({("a", "matched"): 0.03}, 0.05))
    analysis = analyse(runs, (), Question("base", names, engine="exact-stratum"), {})
    found, stratum = analysis.contrast("a", "content"), analysis.stratum
    assert stratum is not None
    assert found.blocks_to_settle is not None
    at, before = (
        planned_mde(stratum.error_sd, blocks, 3, cells=12)
        for blocks in (found.blocks_to_settle, found.blocks_to_settle - 1)
    )
    assert at <= 0.05 < before


def test_an_interval_of_one_contrast_that_leaves_out_zero_is_told_from_the_one_that_decides() -> None:
    # p 0.03 alone, 0.09 in its family of three
    adjusted = Adjusted(0.09, 0.5, 0.5, (-0.01, 0.09))
    figure = figures(0.04, 0.0174, 20, 0.05)
    said = sentence("content(a)", figure, adjusted, Verdict.INCONCLUSIVE, Level(0.05, 0.05), blocks=12)
    assert figure.ci[0] > 0
    assert said.endswith(
        "inconclusive; that interval is of this contrast alone, and the one that decides holds 0"
    )


def test_an_inconclusive_contrast_of_a_large_enough_suite_asks_for_no_more_blocks() -> None:
    # 0.03 against a standard error of 0.02: neither shown nor within the margin
    adjusted = Adjusted(0.15, 0.2, 0.2, (-0.02, 0.08))
    figure = figures(0.03, 0.02, 40, 0.05)
    said = sentence(
        "content(a)", figure, adjusted, Verdict.INCONCLUSIVE, Level(0.05, 0.05), blocks=12, settling=11
    )
    assert said.endswith("inconclusive; its 12 blocks suffice to detect an effect of 0.05")


def test_the_naive_comparison_names_what_it_would_have_claimed(make_runs: Runs) -> None:
    runs = make_runs(("base", "a", "b"), 4, scorer({("a", "native"): 0.2}, 0.01))
    found = naive(runs, Question("base", ("base", "a", "b")))
    assert found.claimed_holm == ("a",)
    assert found.best == "a"
    assert "claimed 1 of 2 rules better than base (a)" in found.sentence
    assert naive(runs[:1], Question("base", ("base", "a", "b"))).rules == ()
