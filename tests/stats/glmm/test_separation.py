"""Cells with only successes or only failures are named, and leave the others as they were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from equipoise_stats import glmm
from equipoise_stats.errors import StatsError
from equipoise_stats.glmm import Counts
from equipoise_stats.lmm.model import intercept

Ragged = Callable[..., Counts]


def sure(data: Counts, cell: int, *, success: bool) -> Counts:
    """The data with only successes (or failures) in one cell."""
    inside = data.X[:, cell] == 1
    return replace(data, successes=np.where(inside, data.trials if success else 0.0, data.successes))


@pytest.mark.parametrize("success", [True, False])
def test_a_cell_of_one_outcome_has_no_log_odds_and_the_others_are_fitted_without_it(
    ragged: Ragged, *, success: bool
) -> None:
    data = sure(ragged(1), 1, success=success)
    fit = glmm.fit(data)
    episodes = int(data.trials[data.X[:, 1] == 1].sum())
    (gone,) = fit.separated
    assert (gone.cell, gone.trials, gone.successes) == ("rule1", episodes, episodes if success else 0)
    assert gone.direction == (1 if success else -1)
    assert np.isnan(fit.beta).tolist() == [False, True, False]
    rest = data.X[:, 1] == 0
    alone = Counts(
        data.successes[rest],
        data.trials[rest],
        data.X[rest][:, [0, 2]],
        ("rule0", "rule2"),
        tuple(intercept(t.name, t.codes[rest]) for t in data.terms),
    )
    assert fit.beta[[0, 2]] == pytest.approx(glmm.fit(alone).beta, abs=1e-8)


def test_it_is_the_limit_of_pushing_the_coefficient_to_infinity(ragged: Ragged) -> None:
    from equipoise_stats.glmm.laplace import Laplace
    from equipoise_stats.glmm.table import pool

    data = sure(ragged(1), 1, success=True)
    fit = glmm.fit(data)
    order = [[c.term for c in fit.components].index(data.terms[t].name) for t in pool(data).order]
    pushed = Laplace(pool(data)).mode(fit.sds[order], np.where(np.isnan(fit.beta), 40.0, fit.beta))
    assert pushed.loglik == pytest.approx(fit.loglik, abs=1e-9)


def test_contrasts_and_rates_of_such_a_cell_say_why_they_have_no_figure(ragged: Ragged) -> None:
    fit = glmm.fit(sure(ragged(1), 1, success=True))
    vectors = np.array([[-1.0, 1, 0], [-1, 0, 1]])
    lost, kept = glmm.contrasts(fit, vectors, ("1 - 0", "2 - 0"), adjust="holm")
    assert (lost.estimate, lost.p_adjusted) == (None, None)
    assert lost.reason.startswith("not estimable: rule1: every episode succeeded (")
    assert "log odds are +infinity and have no standard error" in lost.reason
    assert kept.p_adjusted == kept.p
    rates = glmm.rates(fit, np.eye(3), fit.names)
    assert np.isnan(rates.values).tolist() == [False, True, False]
    lost, kept = glmm.risk_differences(rates, vectors, ("1 - 0", "2 - 0"))
    assert lost.estimate is None
    assert kept.estimate is not None
    assert [row.reason != "" for row in glmm.rate_table(rates)] == [False, True, False]


def test_separation_by_a_combination_of_columns_is_found() -> None:
    # treatment coding: only the cell of both a and b never succeeds, so that the interaction is minus infinity
    a, b = np.repeat([0.0, 0, 1, 1], 8), np.tile([0.0, 1], 16)
    rng = np.random.default_rng(2)
    s = np.where((a == 1) & (b == 1), 0.0, rng.integers(1, 4, 32))
    data = Counts(
        s,
        np.full(32, 4.0),
        np.column_stack([np.ones(32), a, b, a * b]),
        ("(Intercept)", "a", "b", "a:b"),
        (intercept("block", np.arange(32) // 2 % 4),),
    )
    fit = glmm.fit(data)
    assert [g.cell for g in fit.separated] == ["(Intercept) + a + b + a:b"]
    assert np.isnan(fit.beta).tolist() == [False, False, False, True]


def test_a_covariate_that_splits_the_outcomes_leaves_nothing_to_fit() -> None:
    x = np.arange(8.0)
    data = Counts(
        (x > 3.5).astype(float),
        np.ones(8),
        np.column_stack([np.ones(8), x]),
        ("(Intercept)", "x"),
        (intercept("block", np.arange(8) % 2),),
    )
    with pytest.raises(StatsError) as caught:
        glmm.fit(data)
    assert caught.value.faults[-1] == "no cell is left that a logit model can be fitted to"
    assert len(caught.value.faults) == 9


def test_rare_success_is_not_separation(ragged: Ragged) -> None:
    data = sure(ragged(1), 1, success=False)
    first = int(np.flatnonzero(data.X[:, 1])[0])
    successes = data.successes.copy()
    successes[first] = 1.0
    fit = glmm.fit(replace(data, successes=successes))
    assert fit.separated == ()
    assert fit.beta[1] < -2


def test_terms_that_become_one_without_the_cell_are_named() -> None:
    cell, block = np.repeat([0, 1], 12), np.tile(np.repeat(range(4), 3), 2)
    data = Counts(
        np.where(cell == 1, 5.0, np.tile([1.0, 2, 4], 8)),
        np.full(24, 5.0),
        np.eye(2)[cell],
        ("a", "b"),
        (intercept("block", block), intercept("run", cell * 4 + block)),
    )
    with pytest.raises(StatsError, match="terms 'run' and 'block' have the same groups once separated cells"):
        glmm.fit(data)
