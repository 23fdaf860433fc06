"""Diverged runs under every scoring, by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise_stats import Question, RunScore, analyse
from equipoise_stats.divergence import divergence_tests, exact_p, mantel_haenszel
from equipoise_stats.failures import Failures, failures, lee_bounds, rescored, scored, tipping
from equipoise_stats.results import Verdict
from equipoise_stats.serial import from_text, to_text

QUESTION = Question("base", ("base", "rule"), smallest_effect=0.05)
CONTENT = {("rule", "matched"): 1, ("rule", "twin"): -1}


def content(rule: Sequence[float], twin: Sequence[float], diverged: Sequence[int] = ()) -> list[RunScore]:
    """Matched runs and twins of one rule by block; the named matched runs diverged."""
    own = [RunScore("rule", "matched", 0, b, y, 100, b in diverged) for b, y in enumerate(rule)]
    return own + [RunScore("rule", "twin", 0, b, y, 100) for b, y in enumerate(twin)]


def test_every_scoring_of_four_blocks_by_hand() -> None:
    # block 3 diverged with the score .2 of the policy it started from
    runs = content([0.6, 0.7, 0.65, 0.2], [0.5, 0.5, 0.5, 0.5], [3])
    runs += [RunScore("base", arm, 0, b, 0.5, 100) for arm in ("native", "matched", "twin") for b in range(4)]
    found = next(
        c for c in failures(runs, QUESTION).contrasts if (c.condition, c.kind) == ("rule", "content")
    )
    # .1, .2, .15, -.3
    assert found.intention_to_treat.figures is not None
    assert found.intention_to_treat.figures.estimate == pytest.approx(0.0375)
    assert found.intention_to_treat.blocks == 4
    # without block 3, which leaves its twin too: mean .15, SD .05, se .05 / sqrt(3)
    assert found.per_protocol.figures is not None
    assert found.per_protocol.blocks == 3
    assert found.per_protocol.figures.estimate == pytest.approx(0.15)
    assert found.per_protocol.figures.se == pytest.approx(0.05 / math.sqrt(3))
    # the diverged run at 0 gives -.5, at 1 gives +.5
    assert found.worst.figures is not None
    assert found.best.figures is not None
    assert found.worst.figures.estimate == pytest.approx((0.45 - 0.5) / 4)
    assert found.best.figures.estimate == pytest.approx((0.45 + 0.5) / 4)


def test_a_diverged_run_of_the_side_that_is_taken_away_moves_the_bounds_the_other_way() -> None:
    runs = [replace(r, diverged=r.arm == "twin" and r.block == 0) for r in content([0.6, 0.6], [0.5, 0.5])]
    found = failures([*runs, RunScore("base", "matched", 0, 0, 0.5, 100)], QUESTION)
    own = next(c for c in found.contrasts if c.kind == "content" and c.condition == "rule")
    assert own.worst.figures is not None
    assert own.best.figures is not None
    # the twin at 1: -.4 and .1; the twin at 0: .6 and .1
    assert own.worst.figures.estimate == pytest.approx(-0.15)
    assert own.best.figures.estimate == pytest.approx(0.35)


def test_twins_of_a_block_are_averaged_and_only_the_diverged_one_is_left_out() -> None:
    runs = [
        *(RunScore("rule", "matched", 0, b, 0.6, 100) for b in range(2)),
        *(
            RunScore("rule", "twin", k, b, 0.3 + 0.2 * k, 100, k == 1 and b == 0)
            for b in range(2)
            for k in range(2)
        ),
    ]
    all_runs = scored("", runs, CONTENT, QUESTION)
    survivors = scored("", [r for r in runs if not r.diverged], CONTENT, QUESTION)
    assert all_runs.figures is not None
    assert survivors.figures is not None
    assert all_runs.figures.estimate == pytest.approx(0.2)
    # block 0 keeps the twin at .3, block 1 both: .3 and .2
    assert survivors.figures.estimate == pytest.approx(0.25)


def test_too_few_blocks_give_no_figure_and_never_a_zero() -> None:
    found = scored("", content([0.5], [0.4]), CONTENT, QUESTION)
    assert (found.figures, found.verdict, found.blocks) == (None, Verdict.NOT_ESTIMABLE, 1)


def test_a_contrast_that_never_varies_is_not_tested() -> None:
    found = scored("", content([0.6, 0.6], [0.5, 0.5]), CONTENT, QUESTION)
    assert found.figures is not None
    assert (found.figures.p, found.verdict) == (None, Verdict.INCONCLUSIVE)


def test_lee_bounds_by_hand() -> None:
    # rule: 3 of 4 survive (.4, .5, .9), twin: 2 of 4 (.3, .5). Trim 1 - .5/.75 = 1/3 of the rule's: one run
    runs = content([0.4, 0.5, 0.9, 0.0], [0.3, 0.5, 0.0, 0.0], [3])
    runs = [replace(r, diverged=True) if r.arm == "twin" and r.block >= 2 else r for r in runs]
    found = lee_bounds(runs, CONTENT)
    assert found.trimmed == "rule.matched"
    assert found.share == pytest.approx(1 / 3)
    # without the best .45 - .4, without the worst .7 - .4
    assert found.bounds == pytest.approx((0.05, 0.3))


def test_lee_counts_the_run_at_the_edge_in_part_and_trims_the_other_side_when_that_survives() -> None:
    # the rule loses 1 of 5, the twin none: trim 1/5 of the twin's five runs
    runs = content([0.5, 0.5, 0.5, 0.5, 0.0], [0.1, 0.2, 0.3, 0.4, 0.5], [4])
    found = lee_bounds(runs, CONTENT)
    assert found.trimmed == "rule.twin"
    # the twin's mean lies between mean(.1 .2 .3 .4) and mean(.2 .3 .4 .5)
    assert found.bounds == pytest.approx((0.15, 0.25))
    # 3 of 4 against 2 of 3: trim 1/9 of three runs, a third of a run
    odd = content([0.3, 0.6, 0.9, 0.0], [0.2, 0.2, 0.0], [3])
    odd = [replace(r, diverged=True) if r.arm == "twin" and r.block == 2 else r for r in odd]
    low = (0.3 + 0.6 + 0.9 * 2 / 3) / (8 / 3)
    high = (0.3 * 2 / 3 + 0.6 + 0.9) / (8 / 3)
    assert lee_bounds(odd, CONTENT).bounds == pytest.approx((low - 0.2, high - 0.2))


def test_lee_without_selection_is_the_difference_of_means() -> None:
    found = lee_bounds(content([0.5, 0.7], [0.4, 0.4]), CONTENT)
    assert found.bounds == pytest.approx((0.2, 0.2))
    assert (found.trimmed, found.share) == ("", 0.0)


def test_lee_says_why_there_are_no_bounds() -> None:
    four = {("rule", "native"): 1, ("rule", "matched"): -1, ("base", "native"): -1, ("base", "matched"): 1}
    assert lee_bounds(content([0.5], [0.5]), four).reason.endswith("this contrast has 4")
    gone = lee_bounds(content([0.5, 0.5], [0.5, 0.5], [0, 1]), CONTENT)
    assert (gone.bounds, gone.reason) == (None, "a cell has no run that did not diverge")


def test_the_tipping_point_is_where_the_interval_reaches_zero() -> None:
    twin, rule = [0.5] * 6, [0.6, 0.62, 0.58, 0.61, 0.59, 0.6]
    runs = content(rule, twin, [5])
    judge = lambda fresh: scored("", fresh, CONTENT, QUESTION).verdict  # noqa: E731
    found = tipping(runs, [("rule", "matched")], CONTENT, QUESTION, judge)
    assert found.diverged == 1
    assert found.verdict is Verdict.SUPERIOR_BY_MARGIN
    assert found.below is not None
    # at the tipping point the lower end of the interval is the smallest effect
    just_above = scored(
        "", [replace(r, y=found.below + 2e-4) if r.diverged else r for r in runs], CONTENT, QUESTION
    )
    assert just_above.figures is not None
    assert just_above.figures.ci[0] == pytest.approx(0.05, abs=2e-4)
    assert len(found.rows) == 21
    assert found.rows[0].verdict is Verdict.INCONCLUSIVE
    assert "would change if the diverged runs of rule.matched had scored" in found.sentence


def test_a_verdict_that_stands_whatever_the_score_says_so() -> None:
    found = tipping(
        content([0.6, 0.7], [0.5, 0.5], [1]),
        [("rule", "matched")],
        CONTENT,
        QUESTION,
        lambda _: Verdict.SUPERIOR,
    )
    assert (found.below, found.above) == (None, None)
    assert found.sentence == "'superior' stands whatever score the diverged runs of rule.matched are given"


def test_the_primary_analysis_may_judge() -> None:
    runs = [*content([0.6, 0.7], [0.5, 0.5], [1]), RunScore("base", "matched", 0, 0, 0.5, 100)]
    judges = {("rule", "content"): lambda fresh: Verdict.INFERIOR if fresh[0].y < 0 else Verdict.SUPERIOR}
    found = failures(runs, QUESTION, judges)
    own = next(c for c in found.contrasts if c.kind == "content" and c.condition == "rule")
    assert own.tipping[0].verdict is Verdict.SUPERIOR


def diverging(seed: int) -> list[RunScore]:
    """Six blocks of a baseline and three rules, of which one lost half of its runs."""
    rng = np.random.default_rng(seed)
    runs = []
    for c, arm in ((c, arm) for c in ("base", "rule", "a", "b") for arm in ("native", "matched", "twin")):
        gain = 0.12 * (c == "rule" and arm != "twin")
        for block, noise in enumerate(rng.normal(0.5, 0.02, 6)):
            lost = c == "rule" and arm == "matched" and block % 2 == 0
            runs.append(RunScore(c, arm, 0, block, float(noise + gain * (not lost)), 100, diverged=lost))
    return runs


@pytest.mark.parametrize("engine", ["auto", "exact-stratum", "paired"])
def test_tipping_verdicts_of_a_suite_are_those_of_its_primary_analysis(engine: str) -> None:
    question = Question("base", ("base", "rule", "a", "b"), engine=engine)
    runs = diverging(4)
    found = analyse(runs, (), question, {})
    judged = {(c.condition, c.kind): c.tipping for c in found.failures.contrasts}
    assert set(judged) == {("rule", "content"), ("rule", "volume"), ("rule", "matched")}
    for (condition, kind), tables in judged.items():
        assert [t.verdict for t in tables] == [found.contrast(condition, kind).verdict]
    (table,) = judged["rule", "content"]
    assert table.above is not None
    for score in (0.0, 0.5, 0.65):
        fresh = analyse(rescored(runs, [("rule", "matched")], score), (), question, {})
        assert table.rows[round(20 * score)].verdict == fresh.contrast("rule", "content").verdict
    assert len({row.verdict for row in table.rows}) > 2


def test_scores_that_leave_nothing_to_vary_tip_to_no_verdict() -> None:
    runs = [replace(r, y=0.5, diverged=True) if r.condition == "a" else r for r in diverging(4)]
    found = analyse(runs, (), Question("base", ("base", "rule", "a", "b")), {})
    content = next(c for c in found.failures.contrasts if (c.condition, c.kind) == ("a", "content"))
    assert {row.verdict for table in content.tipping for row in table.rows} == {Verdict.INCONCLUSIVE}


def test_contrasts_without_diverged_runs_are_left_out_and_counts_are_not() -> None:
    runs = [*content([0.6, 0.7], [0.5, 0.5]), RunScore("base", "matched", 0, 0, 0.5, 100)]
    found = failures(runs, QUESTION)
    assert found.contrasts == ()
    assert [(c.condition, c.arm, c.runs, c.diverged) for c in found.counts] == [
        ("base", "matched", 1, 0),
        ("rule", "matched", 2, 0),
        ("rule", "twin", 2, 0),
    ]


def test_order_does_not_matter_and_json_gives_the_same_back() -> None:
    rng = np.random.default_rng(3)
    runs = [
        RunScore(c, arm, 0, b, float(rng.uniform()), 50, bool(rng.random() < 0.3))
        for c in ("base", "rule")
        for arm in ("native", "matched", "twin")
        for b in range(5)
    ]
    found = failures(runs, QUESTION)
    assert failures([runs[i] for i in rng.permutation(len(runs))], QUESTION) == found
    assert from_text(Failures, to_text(found)) == found


def test_mcnemar_by_hand() -> None:
    # six discordant blocks, the rule diverged in five of them: 2 * (6 + 1) / 64; concordant ones say nothing
    strata = [(1, 1, 1, 0)] * 5 + [(1, 0, 1, 1)] + [(1, 1, 1, 1), (1, 0, 1, 0)]
    p, floor = exact_p(strata)
    assert p == pytest.approx(14 / 64)
    assert floor == pytest.approx(2 / 64)
    assert mantel_haenszel(strata) == pytest.approx(4 / 8)


def test_one_stratum_is_fishers_exact_test() -> None:
    from scipy.stats import fisher_exact

    p, _ = exact_p([(9, 7, 8, 2)])
    assert p == pytest.approx(float(fisher_exact(np.array([[7, 2], [2, 6]])).pvalue))


def test_the_stratified_test_equals_that_of_r() -> None:
    # mantelhaen.test(table, exact = TRUE) of R 4.2 on three strata
    p, _ = exact_p([(5, 4, 5, 1), (4, 3, 6, 2), (3, 1, 3, 1)])
    assert p == pytest.approx(0.123582766439909, rel=1e-9)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(0, 3), st.integers(1, 3), st.integers(0, 3)).map(
            lambda s: (s[0], min(s[1], s[0]), s[2], min(s[3], s[2]))
        ),
        min_size=1,
        max_size=3,
    )
)
def test_the_exact_p_is_that_of_every_rearrangement(strata: list[tuple[int, int, int, int]]) -> None:
    every: dict[int, int] = {0: 1}
    for n, d, m, e in strata:
        ways = [sum(c) for c in itertools.permutations([1] * (d + e) + [0] * (n + m - d - e), n)]
        fresh: dict[int, int] = {}
        for total, times in every.items():
            for x in ways:
                fresh[total + x] = fresh.get(total + x, 0) + times
        every = fresh
    mine = every[sum(s[1] for s in strata)]
    expected = sum(v for v in every.values() if v <= mine) / sum(every.values())
    p, floor = exact_p(strata)
    assert p == pytest.approx(expected)
    assert floor <= p


def test_each_condition_is_tested_against_the_baseline_with_blocks_and_arms_as_strata() -> None:
    def runs_of(name: str, diverged: int) -> list[RunScore]:
        return [
            RunScore(name, arm, 0, b, 0.5, 50, i < diverged)
            for i, (arm, b) in enumerate(itertools.product(("native", "matched"), range(4)))
        ]

    question = Question("base", ("base", "a", "b", "c"))
    tests = divergence_tests([*runs_of("base", 0), *runs_of("a", 8), *runs_of("b", 5)], question)
    assert [t.condition for t in tests] == ["a", "b", "c"]
    a, b, c = tests
    assert (a.strata, a.informative, a.diverged, a.baseline_diverged) == (8, 8, 8, 0)
    assert a.p == pytest.approx(2 / 2**8)
    assert a.p_adjusted == pytest.approx(3 * 2 / 2**8)
    assert a.difference == 1.0
    assert b.p == pytest.approx(2 / 2**5)
    assert "the smallest possible p is 0.0625: this cannot reject at 0.05" in b.sentence
    assert (c.p, c.difference, c.runs) == (1.0, None, 0)
    assert c.sentence == "c: no block holds runs of it and of base in one arm"


def test_a_baseline_that_always_diverges_beside_a_rule_that_does_is_no_information() -> None:
    runs = [RunScore(c, "matched", 0, b, 0.5, 50, diverged=True) for c in ("base", "rule") for b in range(3)]
    (test,) = divergence_tests(runs, QUESTION)
    assert (test.p, test.floor, test.informative, test.difference) == (1.0, 1.0, 0, 0.0)
    assert test.sentence.endswith("no stratum holds both outcomes, so nothing can be tested")


RUNS = st.lists(
    st.tuples(st.floats(0, 1), st.floats(0, 1), st.booleans(), st.booleans()), min_size=2, max_size=8
).map(
    lambda rows: [
        RunScore("rule", arm, 0, b, row[i], 50, bool(row[2 + i]))
        for b, row in enumerate(rows)
        for i, arm in enumerate(("matched", "twin"))
    ]
)


@settings(deadline=None, max_examples=25)
@given(RUNS)
def test_the_worst_and_the_best_case_hold_every_other_scoring_between_them(runs: list[RunScore]) -> None:
    base = [RunScore("base", "matched", 0, b, 0.5, 50) for b in range(2)]
    for c in failures([*runs, *base], QUESTION).contrasts:
        if c.intention_to_treat.figures is None or c.worst.figures is None or c.best.figures is None:
            continue
        middle = c.intention_to_treat.figures.estimate
        assert c.worst.figures.estimate - 1e-12 <= middle <= c.best.figures.estimate + 1e-12
        for side in c.tipping:
            for row in side.rows:
                assert c.worst.figures.estimate - 1e-9 <= row.estimate <= c.best.figures.estimate + 1e-9


@settings(deadline=None, max_examples=25)
@given(RUNS)
def test_lees_bounds_hold_the_difference_of_surviving_means(runs: list[RunScore]) -> None:
    found = lee_bounds(runs, CONTENT)
    alive = {arm: [r.y for r in runs if r.arm == arm and not r.diverged] for arm in ("matched", "twin")}
    if found.bounds is None:
        assert found.reason
        return
    middle = float(np.mean(alive["matched"]) - np.mean(alive["twin"]))
    assert found.bounds[0] - 1e-12 <= middle <= found.bounds[1] + 1e-12


def test_one_score_for_runs_that_had_several_may_tip_at_once() -> None:
    runs = content([0.6, 0.61, 0.59, 0.9, 0.1], [0.5] * 5, [3, 4])
    judge = lambda fresh: Verdict.SUPERIOR if sum(r.y for r in fresh[:5]) > 2.0 else Verdict.INCONCLUSIVE  # noqa: E731
    found = tipping(runs, [("rule", "matched")], CONTENT, QUESTION, judge)
    # 1.8 + 2 x .1 is not above 2, though 1.8 + .9 + .1 is: below the registered scores it has changed already
    assert (found.verdict, found.below, found.above) == (Verdict.SUPERIOR, 0.1, None)
