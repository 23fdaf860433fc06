"""Tests, power and the largest t, each held against a second way to get it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from equipoise_stats import student
from equipoise_stats.multiplicity import holm, step_down_max_t


@pytest.mark.parametrize("df", [1, 2, 4, 24, 500])
def test_power_at_no_effect_is_the_level(df: int) -> None:
    assert student.power(0.0, df, student.critical(0.05, df)) == pytest.approx(0.05, abs=1e-10)


@pytest.mark.parametrize("df", [2, 4, 30])
def test_power_equals_a_simulated_noncentral_t(df: int) -> None:
    rng = np.random.default_rng(7)
    t = (rng.standard_normal(400_000) + 2.5) / np.sqrt(rng.chisquare(df, 400_000) / df)
    simulated = np.mean(np.abs(t) > student.critical(0.05, df))
    assert student.power(2.5, df, student.critical(0.05, df)) == pytest.approx(simulated, abs=0.004)


@pytest.mark.parametrize("rho", [0.0, 0.5])
@pytest.mark.parametrize("t", [0.3, 2.0, 4.0])
def test_quadrature_of_the_largest_t_equals_quasi_monte_carlo(rho: float, t: float) -> None:
    shared = np.full((4, 4), rho) + (1 - rho) * np.eye(4)
    box = np.full(4, t)
    inside = stats.multivariate_t.cdf(
        box, shape=shared, df=12, lower_limit=-box, random_state=np.random.default_rng(1), maxpts=200_000
    )
    assert student.max_t_p(t, shared, 12) == pytest.approx(1 - float(inside), abs=2e-5)


def test_quadrature_and_integration_over_directions_agree_far_into_the_tail() -> None:
    shared = np.full((5, 5), 0.5) + 0.5 * np.eye(5)
    for t in (0.5, 2.0, 4.0, 8.0):
        expected = student.max_t_p(t, shared, 20)
        assert student._general_max_t_p(t, shared, 20) == pytest.approx(expected, rel=1e-2)


def test_correlations_without_a_common_factor_are_integrated_with_a_fixed_seed() -> None:
    shared = np.array([[1.0, 0.5, -0.5], [0.5, 1.0, 0.2], [-0.5, 0.2, 1.0]])
    first, second = (student.max_t_p(2.2, shared, 9) for _ in range(2))
    assert first == second
    assert student.two_sided_p(2.2, 9) < first < 3 * student.two_sided_p(2.2, 9)


def test_the_critical_largest_t_has_its_level_and_lies_between_one_test_and_bonferroni() -> None:
    shared = np.full((6, 6), 0.5) + 0.5 * np.eye(6)
    c = student.max_t_critical(0.05, shared, 24)
    assert student.max_t_p(c, shared, 24) == pytest.approx(0.05, abs=1e-9)
    assert student.critical(0.05, 24) < c < student.critical(0.05 / 6, 24)


def test_dunnetts_table_is_met() -> None:
    # Dunnett (1964), two-sided 5 %, 3 comparisons with a control: 2.68 at 12 df, 2.51 at 24 df
    shared = np.full((3, 3), 0.5) + 0.5 * np.eye(3)
    assert student.max_t_critical(0.05, shared, 12) == pytest.approx(2.68, abs=0.006)
    assert student.max_t_critical(0.05, shared, 24) == pytest.approx(2.51, abs=0.006)


def test_holm_worked_by_hand() -> None:
    # sorted 0.01, 0.03, 0.04 times 3, 2, 1 gives 0.03, 0.06, 0.04; the running maximum 0.03, 0.06, 0.06
    assert holm(np.array([0.04, 0.01, 0.03])).tolist() == pytest.approx([0.06, 0.03, 0.06])


def test_holm_works_along_the_last_axis() -> None:
    p = np.random.default_rng(5).uniform(size=(7, 4))
    assert np.allclose(holm(p), [holm(row) for row in p])


def test_step_down_is_never_above_holm_and_keeps_the_order_of_t() -> None:
    t = np.array([0.5, -3.1, 2.2, 2.9])
    shared = np.full((4, 4), 0.5) + 0.5 * np.eye(4)
    stepped = step_down_max_t(t, shared, 20)
    assert (stepped <= holm(student.two_sided_p(t, 20)) + 1e-12).all()
    assert np.array_equal(np.argsort(-np.abs(t)), np.argsort(stepped))
