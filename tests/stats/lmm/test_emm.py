"""Marginal means, slopes, contrasts and their tests."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise_stats import StatsError, student
from equipoise_stats.lmm import anova, emm, emm_contrasts, emm_tests, formula
from equipoise_stats.lmm.fit import fit

BASE = {"rule": "grpo", "arm": "matched"}


def _frame(missing: tuple[str, str] | None = None) -> pd.DataFrame:
    generator = np.random.default_rng(4)
    rows = [
        (
            rule,
            arm,
            f"s{seed}",
            generator.normal({"grpo": 0.4, "prm": 0.5, "gae": 0.45}[rule], 0.05) + 0.02 * seed,
        )
        for rule in ("grpo", "prm", "gae")
        for arm in ("matched", "native")
        for seed in range(6)
        if (rule, arm) != missing
    ]
    frame = pd.DataFrame(rows, columns=["rule", "arm", "seed", "score"])
    frame["dose"] = np.where(frame["arm"] == "native", 3.0, 1.0) + np.tile(np.arange(6), len(frame) // 6)
    return frame


def _model(text: str = "score ~ rule * arm + (1 | seed)", frame: pd.DataFrame | None = None) -> emm.Model:
    reading = formula.read(
        text, _frame() if frame is None else frame, baseline=BASE if "arm" in text else {"rule": "grpo"}
    )
    return emm.model(reading, fit(reading))


def test_means_of_a_balanced_layout_are_the_means_of_its_cells() -> None:
    frame = _frame()
    cells = frame.groupby(["rule", "arm"])["score"].mean()
    for row in emm_tests.summary(emm.means(_model(), "rule", by="arm")):
        assert row.estimate == pytest.approx(cells[row.labels["rule"], row.labels["arm"]])


def test_means_average_other_factors_evenly_or_as_they_occur() -> None:
    frame = _frame().drop(index=[0, 1, 2])
    model = _model("score ~ rule + arm + (1 | seed)", frame)
    beta = dict(zip(model.fit.names, model.fit.beta, strict=True))
    even = emm_tests.summary(emm.means(model, "rule"))[0].estimate
    often = emm_tests.summary(emm.means(model, "rule", weights="proportional"))[0].estimate
    native = (frame["arm"] == "native").mean()
    assert even == pytest.approx(beta["(Intercept)"] + 0.5 * beta["armnative"])
    assert often == pytest.approx(beta["(Intercept)"] + native * beta["armnative"])


def test_covariates_stand_at_their_mean_or_where_they_are_put() -> None:
    model = _model("score ~ rule + dose + (1 | seed)")
    beta = dict(zip(model.fit.names, model.fit.beta, strict=True))
    mean = emm_tests.summary(emm.means(model, "rule"))[0].estimate
    put = emm_tests.summary(emm.means(model, "rule", at={"dose": 2.0}))[0].estimate
    assert mean == pytest.approx(beta["(Intercept)"] + _frame()["dose"].mean() * beta["dose"])
    assert put == pytest.approx(beta["(Intercept)"] + 2.0 * beta["dose"])


def test_a_slope_is_its_coefficient_and_each_rule_has_its_own() -> None:
    model = _model("score ~ rule * dose + (1 | seed)")
    beta = dict(zip(model.fit.names, model.fit.beta, strict=True))
    slopes = {row.labels["rule"]: row for row in emm_tests.summary(emm.slopes(model, "dose", "rule"))}
    assert slopes["grpo"].estimate == pytest.approx(beta["dose"])
    assert slopes["prm"].estimate == pytest.approx(beta["dose"] + beta["ruleprm:dose"])


def test_the_slope_of_a_factor_is_refused() -> None:
    with pytest.raises(StatsError, match="slope of rule: expected a covariate"):
        emm.slopes(_model(), "rule")


def test_contrasts_are_against_the_named_baseline_unless_another_is_named() -> None:
    means = emm.means(_model(), "rule")
    assert [c["contrast"] for c in emm_contrasts.contrasts(means).labels] == ["gae - grpo", "prm - grpo"]
    other = emm_contrasts.contrasts(means, ref="prm")
    assert [c["contrast"] for c in other.labels] == ["grpo - prm", "gae - prm"]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("pairwise", ["grpo - gae", "grpo - prm", "gae - prm"]),
        ("revpairwise", ["gae - grpo", "prm - grpo", "prm - gae"]),
        ("consec", ["gae - grpo", "prm - gae"]),
    ],
)
def test_methods_by_name(method: str, expected: list[str]) -> None:
    made = emm_contrasts.contrasts(emm.means(_model(), "rule"), method)
    assert [label["contrast"] for label in made.labels] == expected


def test_an_interaction_is_a_difference_in_differences() -> None:
    cells = _frame().groupby(["rule", "arm"])["score"].mean()
    did = emm_contrasts.interaction(
        emm.means(_model(), ["rule", "arm"]), {"rule": "trt.vs.ctrl", "arm": "revpairwise"}
    )
    row = emm_tests.summary(did)[1]
    assert row.labels == {"rule": "prm - grpo", "arm": "native - matched"}
    expected = (cells["prm", "native"] - cells["prm", "matched"]) - (
        cells["grpo", "native"] - cells["grpo", "matched"]
    )
    assert row.estimate == pytest.approx(expected)


def test_coefficients_by_name_are_taken_and_wrong_ones_refused() -> None:
    means = emm.means(_model(), "rule")
    mine = emm_tests.summary(emm_contrasts.contrasts(means, {"others": [-1, 0.5, 0.5]}))[0]
    values = [row.estimate or 0.0 for row in emm_tests.summary(means)]
    assert mine.estimate == pytest.approx((values[1] + values[2]) / 2 - values[0])
    with pytest.raises(
        StatsError, match=r"contrast others: expected 3 finite coefficients \(grpo, gae, prm\)"
    ):
        emm_contrasts.contrasts(means, {"others": [1, -1]})


def test_a_missing_cell_is_not_estimable_and_never_zero() -> None:
    model = _model(frame=_frame(missing=("prm", "native")))
    rows = {
        (r.labels["rule"], r.labels["arm"]): r for r in emm_tests.summary(emm.means(model, ["rule", "arm"]))
    }
    gone = rows["prm", "native"]
    assert (gone.estimable, gone.estimate, gone.se, gone.df, gone.p) == (False, None, None, None, None)
    assert all(row.estimable for cell, row in rows.items() if cell != ("prm", "native"))
    did = emm_contrasts.interaction(
        emm.means(model, ["rule", "arm"]), {"rule": "trt.vs.ctrl", "arm": "revpairwise"}
    )
    said = {row.labels["rule"]: row.estimable for row in emm_tests.summary(did, adjust="holm")}
    assert said == {"gae - grpo": True, "prm - grpo": False}


def test_type_three_is_refused_with_missing_cells() -> None:
    with pytest.raises(StatsError, match="type III"):
        anova.type_three(_model(frame=_frame(missing=("prm", "native"))))


@pytest.mark.parametrize("method", ["satterthwaite", "kenward-roger"])
def test_adjusted_p_values_are_ordered_and_intervals_agree_with_tests(method: emm_tests.Test) -> None:
    reading = formula.read("score ~ rule * arm + (1 | seed)", _frame(), baseline=BASE)
    contrasts = emm_contrasts.contrasts(emm.means(emm.model(reading, fit(reading), method), "rule"))  # type: ignore[arg-type]
    raw, mvt, bonferroni = (
        [row.p or 0.0 for row in emm_tests.summary(contrasts, adjust=adjust)]
        for adjust in ("none", "mvt", "bonferroni")
    )
    assert all(r <= m + 1e-12 <= b + 2e-12 for r, m, b in zip(raw, mvt, bonferroni, strict=True))
    for row in emm_tests.summary(contrasts, adjust="mvt"):
        assert ((row.p or 0.0) < 0.05) == (not ((row.lower or 0.0) <= 0 <= (row.upper or 0.0)))


def test_equivalence_is_the_worse_of_two_one_sided_tests() -> None:
    contrasts = emm_contrasts.contrasts(emm.means(_model(), "rule"))
    both, above, below = (
        emm_tests.summary(contrasts, test=test, delta=0.1) for test in ("equivalence", "greater", "less")
    )
    for row, low, high in zip(both, above, below, strict=True):
        assert row.p == pytest.approx(max(low.p or 0.0, high.p or 0.0))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"adjust": "sheffe"}, "adjust: expected one of"),
        ({"adjust": "tukey"}, "pairwise"),
        ({"test": "equivalence"}, "margin above 0"),
        ({"test": "equivalence", "delta": 0.1, "adjust": "mvt"}, "one-sided tests go with"),
        ({"delta": 0.1}, "name the test"),
        ({"level": 95}, "between 0 and 1"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, object], said: str) -> None:
    contrasts = emm_contrasts.contrasts(emm.means(_model(), "rule"))
    with pytest.raises(StatsError, match=said):
        emm_tests.summary(contrasts, **options)  # type: ignore[arg-type]


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(StatsError, match="got 'rul'; did you mean 'rule'"):
        emm.means(_model(), "rul")
    with pytest.raises(StatsError, match="did you mean 'pairwise'"):
        emm_contrasts.contrasts(emm.means(_model(), "rule"), "pairwse")
    with pytest.raises(StatsError, match="reference: expected one of grpo, gae, prm"):
        emm_contrasts.contrasts(emm.means(_model(), "rule"), ref="ppo")


@given(st.lists(st.floats(0.05, 0.95), min_size=2, max_size=5), st.floats(0.5, 4.0), st.floats(3.0, 200.0))
@settings(max_examples=10, deadline=None)
def test_one_common_factor_agrees_with_integration_over_directions(
    loadings: list[float], t: float, df: float
) -> None:
    factor = np.array(loadings)
    correlation = np.outer(factor, factor)
    np.fill_diagonal(correlation, 1.0)
    quadrature = student.max_t_p(t, correlation, df)
    general = student._general_max_t_p(t, correlation, df)
    assert quadrature == pytest.approx(general, abs=2e-3)


def test_tukeys_range_over_three_means_is_the_largest_of_their_three_t() -> None:
    pairs = np.array([[1, -1, 0], [1, 0, -1], [0, 1, -1]]) / np.sqrt(2)
    for t, df in ((3.66, 10.0), (2.733, 10.0), (1.2, 5.5)):
        assert student.studentized_range_p(np.sqrt(2) * t, 3, df) == pytest.approx(
            student.max_t_p(t, pairs @ pairs.T, df), abs=1e-4
        )


def test_tukeys_range_agrees_with_scipy_into_the_tails() -> None:
    from scipy.stats import studentized_range

    for q, means, df in ((3.5, 3, 10.0), (1.0, 5, 20.3), (6.0, 4, 3.2), (12.0, 7, 30.0)):
        assert student.studentized_range_p(q, means, df) == pytest.approx(
            float(studentized_range.sf(q, means, df)), rel=1e-6
        )
