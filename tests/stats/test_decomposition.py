"""The identity TOTAL = CONTENT + SHAPE + VOLUME, and what cannot be estimated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise_stats import Question, RunScore, Verdict, analyse
from equipoise_stats.decomposition import contrast, family, registered_contrasts

Runs = Callable[..., list[RunScore]]

NAMES = ("zeta", "10", "a.b", "base")


@given(
    identical=st.sets(st.sampled_from(NAMES)),
    baseline=st.sampled_from(NAMES),
)
def test_the_vectors_of_every_rule_add_up_exactly(identical: set[str], baseline: str) -> None:
    question = Question(baseline, NAMES, identical=frozenset(identical))
    for rule in NAMES:
        if rule == baseline:
            continue
        total: Counter[tuple[str, str]] = Counter()
        for kind in ("content", "shape", "volume"):
            for cell, weight in contrast(rule, kind, question).items():
                total[cell] += weight
        assert {c: w for c, w in total.items() if w} == contrast(rule, "total", question)
        assert sum(total.values()) == 0


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=36, max_size=36), st.sets(st.sampled_from(NAMES[:3])))
def test_the_estimates_of_any_scores_add_up(
    make_runs: Runs, values: list[float], identical: set[str]
) -> None:
    scores = iter(values)
    runs = make_runs(NAMES, 3, lambda *_: next(scores), identical=sorted(identical))
    analysis = analyse(runs, (), Question("base", NAMES, identical=frozenset(identical)), {})
    assert analysis.identity_gap is not None
    assert analysis.identity_gap < 1e-12


def test_the_contrasts_of_a_rule_worked_by_hand() -> None:
    question = Question("base", ("base", "rule"))
    native, matched, twin = (("rule", arm) for arm in ("native", "matched", "twin"))
    native_0, matched_0 = ("base", "native"), ("base", "matched")
    assert contrast("rule", "content", question) == {matched: 1, twin: -1}
    assert contrast("rule", "shape", question) == {twin: 1, matched_0: -1}
    assert contrast("rule", "volume", question) == {native: 1, matched: -1, native_0: -1, matched_0: 1}
    assert contrast("rule", "total", question) == {native: 1, native_0: -1}


def test_a_rule_that_is_its_own_twin_has_no_content_and_its_matched_cell_is_its_twin() -> None:
    question = Question("base", ("base", "rule"), identical=frozenset({"rule"}))
    assert contrast("rule", "content", question) == {}
    assert contrast("rule", "shape", question) == {("rule", "matched"): 1, ("base", "matched"): -1}


def test_families_hold_claimants_only() -> None:
    question = Question(
        "base",
        ("base", "a", "b", "same", "oracle", "random"),
        controls={"oracle": "positive", "random": "negative"},
        identical=frozenset({"base", "same"}),
    )
    assert family("content", question) == ("a", "b")
    assert family("volume", question) == ("a", "b", "same")
    assert ("base", "content") not in registered_contrasts(question)


def test_the_baseline_has_content_of_its_own_only_where_its_twin_differs() -> None:
    question = Question("base", ("base", "a"))
    assert [kind for condition, kind in registered_contrasts(question) if condition == "base"] == ["content"]


def test_without_a_native_arm_total_and_volume_are_not_estimable_and_never_zero(make_runs: Runs) -> None:
    scores = iter(range(100))
    runs = make_runs(("base", "a"), 3, lambda *_: next(scores) / 100, arms=("matched", "twin"))
    analysis = analyse(runs, (), Question("base", ("base", "a")), {})
    for kind in ("total", "volume"):
        found = analysis.contrast("a", kind)
        assert found.verdict is Verdict.NOT_ESTIMABLE
        assert found.estimate is None
        assert found.reasons[0] == "the native arm was not run"
    assert analysis.contrast("a", "content").estimate is not None
    assert analysis.identity_gap is None


def test_without_twins_content_and_shape_are_not_estimable(make_runs: Runs) -> None:
    scores = iter(range(100))
    runs = make_runs(("base", "a"), 3, lambda *_: next(scores) / 100, arms=("native", "matched"))
    analysis = analyse(runs, (), Question("base", ("base", "a")), {})
    assert analysis.contrast("a", "content").verdict is Verdict.NOT_ESTIMABLE
    assert analysis.contrast("a", "shape").verdict is Verdict.NOT_ESTIMABLE
    assert analysis.contrast("a", "total").estimate is not None
