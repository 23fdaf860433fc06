"""The optimum: certified, at the boundary where it belongs, and the same however rows are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from equipoise_stats import glmm
from equipoise_stats.errors import StatsError
from equipoise_stats.glmm import Counts
from equipoise_stats.glmm.laplace import Laplace
from equipoise_stats.glmm.table import pool
from equipoise_stats.lmm.model import RandomTerm, intercept

Ragged = Callable[..., Counts]


def test_equal_groups_are_the_boundary_and_the_pooled_log_odds() -> None:
    # 4 groups with 3 of 6 and 4 groups with 4 of 8: no spread at all, log odds 0, variance 1 / (56 / 4)
    data = Counts(
        np.array([3.0] * 4 + [4.0] * 4),
        np.array([6.0] * 4 + [8.0] * 4),
        np.ones((8, 1)),
        ("(Intercept)",),
        (intercept("g", range(8)),),
    )
    fit = glmm.fit(data)
    (component,) = fit.components
    assert (component.sd, component.boundary, fit.singular) == (0.0, True, True)
    assert component.slope is not None
    assert component.slope > 0
    assert fit.beta[0] == pytest.approx(0.0, abs=1e-12)
    assert fit.vcov[0, 0] == pytest.approx(4 / 56, rel=1e-6)
    assert fit.effects["g"].tolist() == [0.0] * 8


def test_no_term_is_dropped_at_the_boundary(ragged: Ragged) -> None:
    fit = glmm.fit(ragged(5, sds=(0.0, 1.0, 0.0)))
    assert [c.term for c in fit.components] == ["block", "task", "run"]
    assert all(c.slope is not None and c.slope > 0 for c in fit.components if c.boundary)
    assert fit.certificate.kkt
    assert fit.certificate.decrement < 1e-12


def test_rows_in_another_order_and_levels_of_other_names_give_the_same_figures(ragged: Ragged) -> None:
    data = ragged(6)
    order = np.random.default_rng(0).permutation(len(data.successes))
    fit, other = glmm.fit(data), glmm.fit(_rewritten(data, order))
    assert other.loglik == pytest.approx(fit.loglik, abs=1e-9)
    assert other.beta[::-1] == pytest.approx(fit.beta, abs=1e-8)
    assert other.sds[::-1] == pytest.approx(fit.sds, abs=1e-7)
    assert np.diag(other.vcov)[::-1] == pytest.approx(np.diag(fit.vcov), rel=1e-5)


def _rewritten(data: Counts, order: np.ndarray) -> Counts:
    """Other rows first, other columns first, other terms first, levels named the other way round."""
    terms = []
    for term in reversed(data.terms):
        last = len(term.levels) - 1
        names = tuple(f"x{i}" for i in range(last + 1))
        terms.append(RandomTerm(term.name, (last - term.codes)[order], names, term.design[order]))
    columns = data.X[order][:, ::-1]
    return Counts(data.successes[order], data.trials[order], columns, data.names[::-1], tuple(terms))


def test_binary_rows_give_what_their_counts_give(ragged: Ragged) -> None:
    data = ragged(7)
    repeats = data.trials.astype(int)
    row = np.repeat(np.arange(len(repeats)), repeats)
    within = np.concatenate([np.arange(k) for k in repeats])
    binary = Counts(
        (within < data.successes[row]).astype(float),
        np.ones(row.size),
        data.X[row],
        data.names,
        tuple(replace(t, codes=t.codes[row], design=t.design[row]) for t in data.terms),
    )
    fit, other = glmm.fit(data), glmm.fit(binary)
    assert other.beta == pytest.approx(fit.beta, abs=1e-9)
    assert other.sds == pytest.approx(fit.sds, abs=1e-8)
    assert other.rows == repeats.sum() == fit.trials


def test_another_coding_of_the_same_cells_is_the_same_model(ragged: Ragged) -> None:
    data = ragged(8)
    coded = replace(
        data, X=np.column_stack([np.ones(len(data.X)), data.X[:, 1:]]), names=("(Intercept)", "b", "c")
    )
    fit, other = glmm.fit(data), glmm.fit(coded)
    assert other.loglik == pytest.approx(fit.loglik, abs=1e-9)
    assert other.beta[1:] == pytest.approx(fit.beta[1:] - fit.beta[0], abs=1e-7)
    assert other.vcov[1, 1] == pytest.approx(fit.vcov[1, 1] + fit.vcov[0, 0] - 2 * fit.vcov[0, 1], rel=1e-5)


def test_columns_that_depend_on_others_are_named_and_their_coefficients_undefined(ragged: Ragged) -> None:
    data = ragged(9)
    wide = replace(
        data, X=np.column_stack([np.ones(len(data.X)), data.X]), names=("(Intercept)", *data.names)
    )
    fit = glmm.fit(wide)
    assert fit.aliased == ("rule2",)
    assert np.isnan(fit.beta).all()
    assert fit.loglik == pytest.approx(glmm.fit(data).loglik, abs=1e-9)
    difference, mean = glmm.contrasts(
        fit, np.array([[0.0, -1, 1, 0], [1, 0, 0, 0]]), ("rule1 - rule0", "(Intercept)")
    )
    assert difference.estimate == pytest.approx(float(np.diff(glmm.fit(data).beta[:2])[0]), abs=1e-7)
    assert (mean.estimate, mean.se, mean.p) == (None, None, None)
    assert mean.reason == "not estimable: no row tells rule2 apart from the other columns"


@pytest.mark.parametrize("seed", range(12))
def test_no_general_optimiser_finds_more(ragged: Ragged, seed: int) -> None:
    from scipy.optimize import minimize

    sds = tuple(
        np.random.default_rng(seed).uniform(0, 1.5, 3) * (np.random.default_rng(seed + 99).random(3) < 0.6)
    )
    data = ragged(seed, sds=sds)
    fit = glmm.fit(data)
    laplace = Laplace(pool(data))
    for start in ((0.1, 0.1, 0.1), (2.0, 2.0, 2.0), (1.0, 0.1, 1.0)):
        found = minimize(laplace.value_and_gradient, [*start, 0, 0, 0], jac=True, method="BFGS")
        assert -found.fun < fit.loglik + 1e-7


def test_a_spread_without_bound_is_an_error_and_names_its_term() -> None:
    # ten groups of eight episodes each: five with nothing but successes, five with nothing but failures
    data = Counts(
        np.array([8.0] * 5 + [0.0] * 5),
        np.full(10, 8.0),
        np.ones((10, 1)),
        ("mean",),
        (intercept("task", range(10)),),
    )
    with pytest.raises(StatsError, match="likelihood keeps rising as the SD of 'task' passes 15"):
        glmm.fit(data)


def test_effects_are_the_modes_on_the_logit_scale(ragged: Ragged) -> None:
    data = ragged(11)
    fit = glmm.fit(data)
    # at the mode every level's pull of the data equals its effect over the variance
    eta = data.X @ fit.beta + sum(fit.effects[t.name][t.codes] for t in data.terms)
    residual = data.successes - data.trials / (1 + np.exp(-eta))
    for term, component in zip(data.terms, fit.components, strict=True):
        pull = np.bincount(term.codes, residual, len(term.levels))
        assert fit.effects[term.name] == pytest.approx(component.variance * pull, abs=1e-8)
