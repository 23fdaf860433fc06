"""The likelihood and its derivatives against a dense one and against differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.stats.lmm.designs import Dense, random_problem

from equipoise_stats.lmm.canonical import canonical
from equipoise_stats.lmm.cone import Block, block
from equipoise_stats.lmm.crossproducts import lay_out, sum_rows
from equipoise_stats.lmm.fit import fit
from equipoise_stats.lmm.likelihood import derivatives, entries, solve
from equipoise_stats.lmm.model import Problem
from equipoise_stats.lmm.system import System, standardise


def _system(problem: Problem) -> System:
    ordered = canonical(problem)
    return standardise(sum_rows(ordered, lay_out(ordered.terms)))


def _blocks(system: System, seed: int) -> tuple[Block, ...]:
    rng = np.random.default_rng(seed)
    return tuple(block((m := rng.normal(size=(k, k))) @ m.T) for k in system.layout.widths)


@pytest.mark.parametrize("reml", [True, False])
@pytest.mark.parametrize("seed", [3, 8, 46, 87])
def test_score_and_information_are_the_derivatives_of_the_likelihood(seed: int, reml: bool) -> None:
    system = _system(random_problem(seed))
    blocks = _blocks(system, seed)
    tau = np.array([0.8, *(blocks[t].matrix[a, b] for t, a, b in entries(system.layout))])

    def built(at: np.ndarray) -> tuple[Block, ...]:
        matrices = [np.zeros((k, k)) for k in system.layout.widths]
        for value, (t, a, b) in zip(at[1:], entries(system.layout), strict=True):
            matrices[t][a, b] = matrices[t][b, a] = value
        return tuple(block(m) for m in matrices)

    def loglik(at: np.ndarray) -> float:
        return solve(system, tuple(b.factor(at[0]) for b in built(at))).loglik(at[0], reml)

    def score(at: np.ndarray) -> np.ndarray:
        return derivatives(solve(system, tuple(b.factor(at[0]) for b in built(at))), at[0], reml).score

    found = derivatives(solve(system, tuple(b.factor(tau[0]) for b in blocks)), tau[0], reml)
    for i in range(tau.size):
        step = np.zeros(tau.size)
        step[i] = 1e-5
        assert (loglik(tau + step) - loglik(tau - step)) / 2e-5 == pytest.approx(
            found.score[i], rel=1e-6, abs=1e-6
        )
        row = -(score(tau + step) - score(tau - step)) / 2e-5
        np.testing.assert_allclose(row, found.observed[i], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("reml", [True, False])
def test_expected_information_is_the_mean_of_the_observed(reml: bool) -> None:
    problem = random_problem(3)
    rng = np.random.default_rng(0)
    system = _system(problem)
    blocks = _blocks(system, 1)
    factors = tuple(b.factor(1.0) for b in blocks)
    found = []
    for _ in range(120):
        y = rng.normal(size=problem.y.size)
        for term, own, white in zip(problem.terms, blocks, system.white, strict=True):
            effects = rng.normal(size=(len(term.levels), own.rank)) @ own.factor(1.0).T
            y = y + np.sum((term.design @ np.linalg.inv(white)) * effects[term.codes], axis=1)
        drawn = _system(replace(problem, y=y))
        at = derivatives(solve(drawn, factors), 1.0 / drawn.scale**2, reml)
        # V is 1 in units of the draw and 1 / scale^2 in standardised ones.
        found.append(at.observed / drawn.scale**4)
    expected = derivatives(solve(system, factors), 1.0, reml).expected
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(120)
    assert (np.abs(mean - expected) < 4.5 * error + 1e-9).all()


@pytest.mark.parametrize("reml", [True, False])
@pytest.mark.parametrize("seed", [0, 2, 3, 46])
def test_a_fit_reports_the_dense_likelihood_at_its_theta_weights_included(seed: int, reml: bool) -> None:
    problem = random_problem(seed)
    weights = np.random.default_rng(seed).integers(1, 9, problem.y.size).astype(float)
    problem = replace(problem, weights=weights)
    found = fit(problem, reml=reml)
    dense = Dense(problem, reml).loglik(np.array(list(found.theta.values())))
    assert found.loglik == pytest.approx(dense, abs=1e-8)
