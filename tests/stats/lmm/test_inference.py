"""Degrees of freedom, F tests, predictions and profile intervals against R."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.stats.lmm.designs import slope

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import kenward_roger, satterthwaite
from equipoise_stats.lmm.blup import blup
from equipoise_stats.lmm.fit import fit
from equipoise_stats.lmm.ftest import f_test, pooled_df, type_one, type_three
from equipoise_stats.lmm.model import Problem, RandomTerm, intercept
from equipoise_stats.lmm.profile import intervals
from equipoise_stats.lmm.results import Fit

SLOPES: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "slopes.json").read_text())
SINGULAR = ("rank13", "interonly1", "slopeonly5", "small1", "zero2")


def _problem(name: str) -> Problem:
    data = SLOPES[name]["data"]
    y = np.array(data["y"])
    if name == "cbpp":
        period = np.array(data["period"])
        X = np.column_stack([np.ones(y.size), *(np.where(period == k, 1.0, 0.0) for k in (2, 3, 4))])
        weights = np.array(data["size"], dtype=float)
        return Problem(y, X, ("1", "2", "3", "4"), (intercept("herd", data["herd"]),), weights)
    x, f = np.array(data["x"]), np.array(data["f"])
    X = np.column_stack([np.ones(y.size), x, *(np.where(f == k, 1.0, 0.0) for k in ("b", "c"))])
    return Problem(y, X, ("1", "x", "b", "c"), (slope("g", data["g"], x),))


def _column(rows: list[dict[str, float]], name: str) -> np.ndarray:
    return np.array([row[name] for row in rows])


@pytest.mark.parametrize("which", ["reml", "ml"])
@pytest.mark.parametrize("name", [*SINGULAR, "rank12", "cbpp"])
def test_a_fit_is_lme4s_and_its_degrees_of_freedom_lmertests(name: str, which: str) -> None:
    truth = SLOPES[name][which]
    found = fit(_problem(name), reml=which == "reml")
    for key in ("loglik", "AIC", "BIC"):
        assert getattr(found, key) == pytest.approx(truth[key], abs=2e-6)
    np.testing.assert_allclose(list(found.theta.values()), list(truth["theta"].values()), atol=1e-5)
    table = truth["satterthwaite"]
    se = _column(table, "se")
    assert np.abs((found.beta - _column(table, "est")) / se).max() < 1e-6
    np.testing.assert_allclose(np.sqrt(np.diag(found.vcov)), se, rtol=1e-6)
    np.testing.assert_allclose(satterthwaite.df(found, np.eye(4)), _column(table, "df"), rtol=1e-5)
    assert found.singular == (name in SINGULAR)


@pytest.mark.parametrize("name", [*SINGULAR, "rank12"])
def test_kenward_roger_keeps_components_at_the_boundary_as_pbkrtest_does(name: str) -> None:
    table = SLOPES[name]["reml"]["kenward_roger"]
    adjusted = kenward_roger.adjust(fit(_problem(name)))
    np.testing.assert_allclose(np.sqrt(np.diag(adjusted.vcov)), _column(table, "se"), rtol=1e-6)
    np.testing.assert_allclose(adjusted.df(np.eye(4)), _column(table, "df"), rtol=1e-5)


def _one_way() -> Fit:
    # Group means 1, 4, 7 of two values each: MS between 18 on 2 degrees of freedom.
    y = np.array([0.0, 2, 3, 5, 6, 8])
    return fit(Problem(y, np.ones((6, 1)), ("(Intercept)",), (intercept("g", [2, 2, 10, 10, 1, 1]),)))


def test_the_mean_of_a_balanced_one_way_layout_has_the_groups_degrees_of_freedom() -> None:
    found = _one_way()
    assert satterthwaite.df(found, np.array([1.0])) == pytest.approx(2)
    assert kenward_roger.adjust(found).df(np.array([1.0])) == pytest.approx(2)
    test = f_test(found, np.array([[1.0]]))
    assert test.statistic == pytest.approx(16 / 3)
    assert test.denominator == pytest.approx(2)
    # F(1, 2): P(|t| > s) = 1 - s / sqrt(2 + s^2), s^2 = 16 / 3.
    assert test.p == pytest.approx(1 - np.sqrt(16 / 3 / (2 + 16 / 3)))


def test_predictions_shrink_group_means_by_their_reliability() -> None:
    # Reliability 2 * 8 / (2 * 8 + 2) = 8 / 9 of the deviations -3, 0, 3; conditional variance 8 * 2 / 18.
    found = blup(_one_way(), "g")
    shrunk = dict(zip(found.levels, found.values[:, 0], strict=True))
    assert shrunk == pytest.approx({"2": -8 / 3, "10": 0, "1": 8 / 3})
    np.testing.assert_allclose(found.covariances[:, 0, 0], 8 / 9)
    with pytest.raises(StatsError, match="one of the terms"):
        blup(_one_way(), "other")


def test_rows_that_say_the_same_twice_test_one_thing() -> None:
    found = fit(_problem("rank12"))
    one = f_test(found, np.array([[0, 1.0, 0, 0]]))
    for method in ("satterthwaite", "kenward-roger"):
        twice = f_test(found, np.array([[0, 1.0, 0, 0], [0, -2.0, 0, 0]]), method)
        assert twice.numerator == 1
        if method == "satterthwaite":
            assert (twice.statistic, twice.denominator) == pytest.approx((one.statistic, one.denominator))


def test_pooled_degrees_of_freedom_are_those_of_equal_ones_and_two_when_one_is_below() -> None:
    assert pooled_df(np.array([7.0, 7.0])) == 7.0
    assert pooled_df(np.array([1.9, 50.0])) == 2.0
    # 4 / 2 + 6 / 4 = 3.5; 2 * 3.5 / (3.5 - 2) = 14 / 3.
    assert pooled_df(np.array([4.0, 6.0])) == pytest.approx(14 / 3)


def test_type_three_averages_evenly_and_a_single_term_is_sequential() -> None:
    a, b = np.array([0, 0, 0, 1, 1, 1, 1.0]), np.array([0, 0, 1, 0, 1, 1, 1.0])
    X = np.column_stack([np.ones(7), a, b, a * b])
    sums = np.column_stack([np.ones(7), 1 - 2 * a, 1 - 2 * b, (1 - 2 * a) * (1 - 2 * b)])
    found = type_three(X, sums, {"a": (1,), "b": (2,), "a:b": (3,)})
    np.testing.assert_allclose(found["a"], [[0, 1, 0, 0.5]], atol=1e-12)
    np.testing.assert_allclose(found["a:b"], [[0, 0, 0, 1]], atol=1e-12)
    level = np.array([0, 0, 1, 1, 1, 2])
    one = np.column_stack([np.ones(6), np.equal(level, 1), np.equal(level, 2)]).astype(np.float64)
    # Beside the constant the column of level 1 has square 3 - 9/6 and product 0 - 3/6 with that of level 2.
    expected = np.array([[0, 1, -1 / 3], [0, 0, 1]])
    np.testing.assert_allclose(type_one(one, {"f": (1, 2)})["f"], expected, atol=1e-12)
    with pytest.raises(StatsError, match="empty cells"):
        type_three(X, np.ones((7, 4)), {"a": (1,)})


def test_kenward_roger_of_a_likelihood_fit_is_refused() -> None:
    with pytest.raises(StatsError, match="REML"):
        kenward_roger.adjust(fit(_problem("rank12"), reml=False))


def _dyestuff2() -> Problem:
    # Box & Tiao (1973), as in lme4: six batches of five.
    text = """7.298 3.846 2.434 9.566 7.99 5.22 6.556 0.608 11.788 -0.892 0.11 10.386 13.434 5.51 8.166
        2.212 4.852 7.092 9.288 4.98 0.282 9.014 4.458 9.446 7.198 1.722 4.782 8.106 0.758 3.758"""
    y = np.array([float(word) for word in text.split()])
    return Problem(y, np.ones((30, 1)), ("(Intercept)",), (intercept("batch", np.repeat(np.arange(6), 5)),))


def test_a_profile_at_the_boundary_begins_at_zero() -> None:
    batch, residual = intervals(fit(_dyestuff2()))
    # lme4's confint, which interpolates the profile.
    assert (batch.estimate, batch.low) == (0.0, 0.0)
    assert batch.high == pytest.approx(2.084043489, abs=2e-5)
    assert (residual.low, residual.high) == pytest.approx((2.892831020, 4.815832552), abs=2e-5)


@pytest.mark.slow
def test_profiles_of_a_correlated_slope_hold_to_the_deviance() -> None:
    found = fit(_problem("rank12"))
    names = [(i.term, i.columns) for i in intervals(found)]
    assert names == [("g", ("(Intercept)",)), ("g", ("(Intercept)", "x")), ("g", ("x",)), ("Residual", ())]


def test_a_term_of_three_columns_fits_but_has_no_profile() -> None:
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(15), 10)
    design = np.column_stack([np.ones(150), rng.normal(size=(150, 2))])
    y = np.sum(design * rng.normal(size=(15, 3))[group], axis=1) + rng.normal(size=150)
    base = intercept("g", group)
    term = RandomTerm("g", base.codes, base.levels, design, ("1", "u", "v"))
    found = fit(Problem(y, design, ("1", "u", "v"), (term,)))
    assert found.certificate.kkt
    with pytest.raises(StatsError, match="one or two columns"):
        intervals(found)


def test_kenward_roger_of_weighted_rows_follows_the_dense_formulas() -> None:
    # pbkrtest 0.5.2 leaves the weights out of V and finds thousands of degrees of freedom here; no truth of R's then.
    problem = _problem("cbpp")
    found = fit(problem)
    X, phi, weights = problem.X, found.vcov, problem.weights
    assert weights is not None
    codes = problem.terms[0].codes
    parts = [np.equal.outer(codes, codes).astype(float), np.diag(1 / weights)]
    inverse = np.linalg.inv(found.components[0].value * parts[0] + found.sigma2 * parts[1])
    by = [inverse @ part for part in parts]
    slopes = [-X.T @ side @ inverse @ X for side in by]
    projected = inverse - inverse @ X @ phi @ X.T @ inverse
    information = np.array([[np.trace(projected @ a @ projected @ b) for b in parts] for a in parts])
    w = 2 * np.linalg.inv(information)
    core = np.zeros((4, 4))
    for i in range(2):
        for j in range(2):
            core += w[i, j] * (X.T @ by[i] @ by[j] @ inverse @ X - slopes[i] @ phi @ slopes[j])
    np.testing.assert_allclose(
        kenward_roger.adjust(found).vcov, phi + 2 * phi @ core @ phi, rtol=1e-8, atol=1e-14
    )
