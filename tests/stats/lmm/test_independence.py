"""What a fit must not depend on: the order of rows, the names and order of levels, BLAS threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.stats.lmm.designs import random_problem

from equipoise_stats.lmm.fit import fit
from equipoise_stats.lmm.model import Problem
from equipoise_stats.lmm.results import Fit
from equipoise_stats.lmm.satterthwaite import df


def _bits(found: Fit) -> list[float]:
    values = [found.loglik, found.sigma2, *found.beta, *found.vcov.ravel(), *found.theta.values()]
    return [float(v) for v in (*values, *df(found, np.eye(found.beta.size)))]


def _shuffled(problem: Problem, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    rows = rng.permutation(problem.y.size)
    terms = []
    for term in problem.terms:
        number = rng.permutation(len(term.levels))
        levels = tuple(f"renamed {i}" for i in rng.permutation(len(term.levels)))
        terms.append(replace(term, codes=number[term.codes][rows], levels=levels, design=term.design[rows]))
    return replace(problem, y=problem.y[rows], X=problem.X[rows], terms=tuple(terms))


@pytest.mark.parametrize("seed", range(8))
def test_permuted_rows_and_renamed_levels_give_the_same_bits(seed: int) -> None:
    problem = random_problem(seed)
    expected = _bits(fit(problem))
    for again in range(3):
        assert _bits(fit(_shuffled(problem, again))) == expected


@pytest.mark.parametrize("seed", range(6))
def test_binary_outcomes_with_many_ties_give_the_same_numbers(seed: int) -> None:
    problem = random_problem(seed, slopes=False)
    tied = replace(problem, y=(problem.y > 0).astype(float), X=problem.X[:, :1], names=problem.names[:1])
    expected = _bits(fit(tied))
    for again in range(3):
        np.testing.assert_allclose(_bits(fit(_shuffled(tied, again))), expected, rtol=1e-9, atol=1e-12)


THREADS = """
import json, numpy as np
from equipoise_stats.lmm.fit import fit
from equipoise_stats.lmm.model import Problem, intercept
rng = np.random.default_rng(0)
n = 2000
codes = [rng.integers(0, k, n) for k in (120, 90, 9)]
y = rng.normal(size=n) + sum(rng.normal(size=120)[c] * s for c, s in zip(codes, (0.5, 0.3, 0.0)))
X = np.column_stack([np.ones(n), *(rng.normal(size=(4, n)))])
terms = tuple(intercept(f"f{i}", c) for i, c in enumerate(codes))
found = fit(Problem(y, X, tuple("abcde"), terms))
print(json.dumps([found.loglik, *found.beta, *found.vcov.ravel(), *(c.value for c in found.components)]))
"""


def test_the_number_of_blas_threads_does_not_matter() -> None:
    found = []
    for threads in ("1", "2"):
        env = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", THREADS], capture_output=True, text=True, check=True, env=env
        )
        found.append(json.loads(done.stdout))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10, atol=1e-14)
