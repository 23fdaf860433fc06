"""The Laplace criterion by hand, and its gradient by differences."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from equipoise_stats.glmm import Counts
from equipoise_stats.glmm.laplace import Laplace, expit
from equipoise_stats.glmm.table import pool
from equipoise_stats.lmm.model import intercept

Ragged = Callable[..., Counts]


def test_one_group_a_row_is_the_sum_of_one_dimensional_approximations() -> None:
    successes, trials = np.array([3.0, 1.0]), np.array([4.0, 4.0])
    data = Counts(successes, trials, np.ones((2, 1)), ("mean",), (intercept("g", [0, 1]),))
    sd, beta = 0.8, 0.2
    expected = 0.0
    for s in (3, 1):
        u = 0.0
        for _ in range(50):  # Newton's method for the mode of one group
            p = 1 / (1 + math.exp(-beta - sd * u))
            u += (sd * (s - 4 * p) - u) / (1 + sd * sd * 4 * p * (1 - p))
        p = 1 / (1 + math.exp(-beta - sd * u))
        density = math.log(4) + s * math.log(p) + (4 - s) * math.log(1 - p)
        expected += density - u * u / 2 - 0.5 * math.log(1 + sd * sd * 4 * p * (1 - p))
    assert Laplace(pool(data)).mode(np.array([sd]), np.array([beta])).loglik == pytest.approx(
        expected, abs=1e-12
    )


def test_without_spread_it_is_the_binomial_log_likelihood(ragged: Ragged) -> None:
    from scipy.stats import binom

    data = ragged(1)
    beta = np.array([0.1, -0.3, 0.7])
    found = Laplace(pool(data)).mode(np.zeros(3), beta).loglik
    assert found == pytest.approx(
        float(np.sum(binom.logpmf(data.successes, data.trials, expit(data.X @ beta))))
    )


@pytest.mark.parametrize("sd", [(0.3, 0.8, 0.5), (0.0, 0.8, 0.5), (2.5, 0.01, 0.0)])
def test_the_gradient_is_that_of_differences(ragged: Ragged, sd: tuple[float, ...]) -> None:
    laplace = Laplace(pool(ragged(2)))
    x = np.array([*sd, 0.2, -0.1, 0.5])
    gradient = laplace.value_and_gradient(x)[1]
    for j, step in enumerate(np.eye(x.size) * 1e-5):
        slope = (laplace.value_and_gradient(x + step)[0] - laplace.value_and_gradient(x - step)[0]) / 2e-5
        assert gradient[j] == pytest.approx(slope, abs=1e-6)


def test_the_criterion_is_even_in_every_standard_deviation(ragged: Ragged) -> None:
    laplace = Laplace(pool(ragged(3)))
    x = np.array([0.3, 0.8, 0.5, 0.2, -0.1, 0.5])
    value = laplace.value_and_gradient(x)[0]
    for j in range(3):
        flipped = x.copy()
        flipped[j] *= -1
        assert laplace.value_and_gradient(flipped)[0] == pytest.approx(value, abs=1e-11)


def test_binary_rows_and_their_counts_differ_by_the_binomial_coefficients_only() -> None:
    rows = np.array([1.0, 1, 0, 0, 1, 0])
    group = [0, 0, 0, 1, 1, 1]
    binary = Counts(rows, np.ones(6), np.ones((6, 1)), ("mean",), (intercept("g", group),))
    counts = Counts(
        np.array([2.0, 1]), np.full(2, 3.0), np.ones((2, 1)), ("mean",), (intercept("g", [0, 1]),)
    )
    at = (np.array([0.7]), np.array([0.1]))
    gap = Laplace(pool(counts)).mode(*at).loglik - Laplace(pool(binary)).mode(*at).loglik
    assert gap == pytest.approx(2 * math.log(3))


def test_success_rates_at_extreme_log_odds_do_not_overflow() -> None:
    assert expit(np.array([-1000.0, 0.0, 1000.0])).tolist() == [0.0, 0.5, 1.0]
