"""Marginal success rates: the integral, its derivatives, and how they differ from those at zero."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from equipoise_stats import glmm
from equipoise_stats.errors import StatsError
from equipoise_stats.glmm import Counts, Fit
from equipoise_stats.glmm.marginal import _moments

Ragged = Callable[..., Counts]


@pytest.mark.parametrize(
    ("spread", "tolerance"), [(0.0, 1e-15), (1.3, 1e-12), (3.0, 1e-11), (5.0, 5e-8), (8.0, 5e-5)]
)
@pytest.mark.parametrize("log_odds", [-4.0, 0.0, 1.5])
def test_the_quadrature_is_the_integral(log_odds: float, spread: float, tolerance: float) -> None:
    from scipy.integrate import quad

    def integral(of: Callable[[float], float]) -> float:
        def weighted(z: float) -> float:
            p = 1 / (1 + math.exp(-(log_odds + spread * z)))
            return of(p) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

        return float(quad(weighted, -12, 12, epsabs=1e-14, limit=500, points=[0.0])[0])

    mean, slope, bend = (float(v[0]) for v in _moments(np.array([log_odds]), spread))
    assert mean == pytest.approx(integral(lambda p: p), abs=tolerance)
    assert slope == pytest.approx(integral(lambda p: p * (1 - p)), abs=tolerance)
    assert bend == pytest.approx(integral(lambda p: p * (1 - p) * (1 - 2 * p)), abs=tolerance)


@pytest.mark.parametrize("marginal", [True, False])
def test_standard_errors_are_those_of_the_delta_method_by_differences(
    ragged: Ragged, *, marginal: bool
) -> None:
    fit = glmm.fit(ragged(4))
    assert not any(c.boundary for c in fit.components[:2])

    def rates_at(shift: np.ndarray) -> np.ndarray:
        terms = len(fit.components)
        moved = [replace(c, sd=c.sd + d) for c, d in zip(fit.components, shift[:terms], strict=True)]
        other = replace(fit, components=tuple(moved), kept_beta=fit.kept_beta + shift[terms:])
        return glmm.rates(other, np.eye(3), fit.names, marginal=marginal).values

    size = len(fit.joint)
    jacobian = np.column_stack([(rates_at(e) - rates_at(-e)) / 2e-5 for e in np.eye(size) * 1e-5])
    found = glmm.rates(fit, np.eye(3), fit.names, marginal=marginal)
    assert found.covariance == pytest.approx(jacobian @ fit.joint @ jacobian.T, rel=1e-5, abs=1e-9)


def test_marginal_rates_lie_nearer_to_one_half_than_those_at_zero(ragged: Ragged) -> None:
    fit = glmm.fit(ragged(4))
    over = glmm.rates(fit, np.eye(3), fit.names)
    at_zero = glmm.rates(fit, np.eye(3), fit.names, marginal=False)
    assert np.all(np.abs(over.values - 0.5) < np.abs(at_zero.values - 0.5))
    assert at_zero.values == pytest.approx(1 / (1 + np.exp(-fit.beta)))
    assert (over.scale, at_zero.scale) == ("marginal", "conditional on random effects of 0")


def test_many_episodes_give_the_rate_that_was_counted() -> None:
    # balanced, many tasks: the marginal rate of the model is near the pooled rate, the one at zero is not
    rng = np.random.default_rng(8)
    tasks, cells = np.repeat(np.arange(300), 2), np.tile([0, 1], 300)
    eta = np.array([0.8, 1.6])[cells] + 1.5 * rng.normal(size=300)[tasks]
    from equipoise_stats.lmm.model import intercept

    data = Counts(
        rng.binomial(60, 1 / (1 + np.exp(-eta))).astype(float),
        np.full(600, 60.0),
        np.eye(2)[cells],
        ("a", "b"),
        (intercept("task", tasks),),
    )
    fit = glmm.fit(data)
    pooled = [data.successes[cells == c].sum() / (300 * 60) for c in (0, 1)]
    assert glmm.rates(fit, np.eye(2), fit.names).values == pytest.approx(pooled, abs=0.005)
    assert abs(glmm.rates(fit, np.eye(2), fit.names, marginal=False).values[0] - pooled[0]) > 0.02


def test_risk_differences_carry_the_covariance_of_their_cells(ragged: Ragged) -> None:
    fit = glmm.fit(ragged(4))
    rates = glmm.rates(fit, np.eye(3), fit.names)
    (found,) = glmm.risk_differences(rates, np.array([[-1.0, 0, 1]]), ("2 - 0",))
    v = rates.covariance
    assert found.estimate is not None
    assert found.se is not None
    assert found.estimate == pytest.approx(rates.values[2] - rates.values[0])
    assert found.se == pytest.approx(math.sqrt(v[0, 0] + v[2, 2] - 2 * v[0, 2]))
    assert found.scale == "risk difference (marginal)"
    assert found.ci == pytest.approx(
        (found.estimate - 1.959964 * found.se, found.estimate + 1.959964 * found.se)
    )


def test_intervals_of_rates_stay_between_zero_and_one(ragged: Ragged) -> None:
    for row in glmm.rate_table(glmm.rates(_fit(ragged), 3 * np.eye(3), ("a", "b", "c")), level=0.999):
        assert row.ci is not None
        assert 0 < row.ci[0] < (row.estimate or 0) < row.ci[1] < 1


def test_wrong_shapes_and_adjustments_are_named(ragged: Ragged) -> None:
    fit = _fit(ragged)
    with pytest.raises(StatsError, match=r"expected \(1, 3\) as labelled, got \(2, 3\)"):
        glmm.rates(fit, np.ones((2, 3)), ("a",))
    with pytest.raises(StatsError, match="adjust: expected one of none, holm, dunnettx, got 'sidak'"):
        glmm.contrasts(fit, np.eye(3), fit.names, adjust="sidak")


def _fit(ragged: Ragged) -> Fit:
    return glmm.fit(ragged(4))
