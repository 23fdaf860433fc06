"""Fits worked by hand, units, aliased columns, chunks, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.stats.lmm.designs import Dense, random_problem, slope

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm.canonical import canonical
from equipoise_stats.lmm.crossproducts import lay_out, sum_rows
from equipoise_stats.lmm.fit import fit, fit_summaries
from equipoise_stats.lmm.model import Problem, intercept
from equipoise_stats.lmm.results import Fit


def _one_way(y: list[float], groups: list[int]) -> Problem:
    return Problem(np.array(y), np.ones((len(y), 1)), ("(Intercept)",), (intercept("g", groups),))


def test_a_balanced_one_way_layout_gives_the_analysis_of_variance() -> None:
    # Group means 1, 4, 7 of two values each, 1 apart from them: MS within 2, MS between 18; (18 - 2) / 2 = 8.
    found = fit(_one_way([0, 2, 3, 5, 6, 8], [0, 0, 1, 1, 2, 2]))
    assert found.components[0].value == pytest.approx(8)
    assert found.sigma2 == pytest.approx(2)
    assert found.beta[0] == pytest.approx(4)
    assert found.vcov[0, 0] == pytest.approx(18 / 6)
    assert found.certificate.kkt
    assert found.certificate.steps <= 1
    assert not found.singular


def test_a_negative_moment_estimate_is_a_variance_of_zero_with_its_certificate() -> None:
    # All group means are 1: the variance between them is 0 and y has variance 6 / 5 = MS total.
    found = fit(_one_way([0, 2, 0, 2, 0, 2], [0, 0, 1, 1, 2, 2]))
    assert found.components[0].value == 0.0
    assert found.components[0].boundary
    assert found.singular
    assert found.sigma2 == pytest.approx(6 / 5)
    assert found.certificate.active == ("g: rank 0 of 1",)
    assert found.certificate.pressure < 0


def test_aliased_columns_are_named_and_expressed_by_the_others() -> None:
    problem = random_problem(0)
    n = problem.y.size
    x = np.linspace(0, 1, n)
    X = np.column_stack([np.ones(n), x, 2 - 3 * x, x**2])
    found = fit(replace(problem, X=X, names=("one", "x", "again", "square")))
    assert found.aliased == ("again",)
    assert found.names == ("one", "x", "square")
    np.testing.assert_allclose(found.alias[:, 0], [2, -3, 0], atol=1e-9)
    plain = fit(replace(problem, X=X[:, [0, 1, 3]], names=("one", "x", "square")))
    np.testing.assert_allclose(found.beta, plain.beta, rtol=1e-12)


def _close(one: Fit, other: Fit, by: float = 1.0) -> None:
    np.testing.assert_allclose(one.beta, other.beta * by, rtol=1e-9)
    np.testing.assert_allclose(one.vcov, other.vcov * by**2, rtol=1e-8)
    np.testing.assert_allclose(
        [c.value for c in one.components], [c.value * by**2 for c in other.components], rtol=1e-7, atol=0
    )


@pytest.mark.parametrize("by", [1e6, 1e-6, 1e100])
def test_the_unit_of_y_changes_nothing_but_units(by: float) -> None:
    problem = random_problem(8)
    one, other = fit(problem), fit(replace(problem, y=problem.y * by))
    _close(other, one, by)
    freedom = problem.y.size - one.beta.size
    assert other.loglik == pytest.approx(one.loglik - freedom * np.log(by), abs=1e-7)


def test_a_covariate_in_years_fits_as_one_in_standard_units() -> None:
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(12), 8)
    year = 2020.0 + np.tile(np.arange(8), 12) / 100
    u = (year - year.mean()) / year.std()
    effects = rng.normal(size=(12, 2))
    y = 1 + u + effects[group, 0] + effects[group, 1] * u + rng.normal(size=96)
    ones = np.ones(96)
    raw = fit(Problem(y, np.column_stack([ones, year]), ("1", "x"), (slope("g", group, year),)))
    unit = fit(Problem(y, np.column_stack([ones, u]), ("1", "x"), (slope("g", group, u),)))
    # REML depends on the scale of X through log det X'V^-1X: the slope's column is divided by the spread.
    assert raw.loglik == pytest.approx(unit.loglik - np.log(year.std()), abs=1e-6)
    assert raw.beta[1] * year.std() == pytest.approx(unit.beta[1], rel=1e-8)
    assert np.sqrt(raw.vcov[1, 1]) * year.std() == pytest.approx(np.sqrt(unit.vcov[1, 1]), rel=1e-6)
    assert raw.sigma2 == pytest.approx(unit.sigma2, rel=1e-7)


def test_sums_taken_in_chunks_fit_as_all_rows_at_once() -> None:
    problem = canonical(random_problem(2))
    layout = lay_out(problem.terms)
    pieces = []
    for rows in np.array_split(np.random.default_rng(0).permutation(problem.y.size), 4):
        terms = tuple(replace(t, codes=t.codes[rows], design=t.design[rows]) for t in problem.terms)
        pieces.append(sum_rows(replace(problem, y=problem.y[rows], X=problem.X[rows], terms=terms), layout))
    _close(fit_summaries(pieces, problem), fit(problem))


def test_two_terms_on_one_grouping_share_the_lead() -> None:
    rng = np.random.default_rng(5)
    group, x = np.repeat(np.arange(10), 7), rng.normal(size=70)
    y = rng.normal(size=10)[group] + rng.normal(size=10)[group] * x + rng.normal(size=70)
    terms = (intercept("g", group), slope("g", group, x, alone=True))
    problem = Problem(y, np.column_stack([np.ones(70), x]), ("1", "x"), terms)
    found = fit(problem)
    assert lay_out(terms).lead == (0, 1)
    assert found.loglik == pytest.approx(Dense(problem).best(0, 3), abs=1e-6)


def test_a_response_that_the_fixed_effects_explain_is_refused() -> None:
    problem = random_problem(0)
    with pytest.raises(StatsError, match="perfect fit"):
        fit(replace(problem, y=problem.X @ np.arange(1.0, 1 + problem.X.shape[1])))


def test_groups_that_reproduce_the_response_are_refused() -> None:
    with pytest.raises(StatsError, match="perfect fit"):
        fit(_one_way([1, 1, 2, 2, 5, 5], [0, 0, 1, 1, 2, 2]))


def test_two_names_for_one_grouping_are_refused() -> None:
    problem = random_problem(0)
    again = replace(problem.terms[0], name="again")
    with pytest.raises(StatsError, match="explain the same variation"):
        fit(replace(problem, terms=(problem.terms[0], again)))


def test_all_faults_are_named_at_once() -> None:
    y = np.array([1.0, np.nan, 3.0, 4.0])
    terms = (intercept("row", range(4)), intercept("lone", [1, 1, 1, 1]))
    with pytest.raises(StatsError) as error:
        fit(Problem(y, np.ones((4, 1)), ("1",), terms, np.array([1.0, 0.0, 1.0, 1.0])))
    said = "\n".join(error.value.faults)
    assert len(error.value.faults) == 4
    for part in (
        "y: expected finite",
        "weights: expected > 0",
        "row: expected fewer",
        "lone: expected at least 2",
    ):
        assert part in said
