"""What a logit mixed model refuses, with every fault at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equipoise_stats.errors import StatsError
from equipoise_stats.glmm import Counts, fit
from equipoise_stats.lmm.model import RandomTerm, intercept

SAME_GROUPS = (
    "terms 'block' and 'run' split the rows in the same groups; "
    "keep one of them, their variances cannot be told apart"
)
BLOCK = intercept("block", [0, 0, 1, 1])
GOOD = Counts(np.array([1.0, 2, 0, 1]), np.full(4, 3.0), np.ones((4, 1)), ("(Intercept)",), (BLOCK,))


def faults(data: Counts) -> tuple[str, ...]:
    with pytest.raises(StatsError) as caught:
        fit(data)
    return caught.value.faults


def test_shapes_are_named_together() -> None:
    found = faults(replace(GOOD, trials=np.ones(3), X=np.ones((4, 2)), terms=(intercept("block", [0, 1]),)))
    assert len(found) == 3
    assert found[0] == "X: expected shape (4, 1) from successes and names, got (4, 2)"
    assert found[2] == "term 'block': expected 4 codes as in successes, got 2"


def test_a_model_without_random_intercepts_is_another_model() -> None:
    assert "use a logistic regression" in faults(replace(GOOD, terms=()))[0]


@pytest.mark.parametrize(
    ("successes", "trials"), [(0.5, 1.0), (2.0, 1.0), (-1.0, 3.0), (0.0, 0.0), (np.nan, 3.0)]
)
def test_counts_must_be_counts(successes: float, trials: float) -> None:
    bad = replace(GOOD, successes=np.array([1.0, successes, 0, 1]), trials=np.array([3.0, trials, 3, 3]))
    (found,) = faults(bad)
    assert found.startswith("1 rows, the first at 1: expected whole successes")


def test_designs_must_be_finite_and_names_different() -> None:
    found = faults(replace(GOOD, X=np.array([[1, np.inf]] * 4), names=("a", "a")))
    assert found == (
        "X: 4 rows are not finite, the first at 0; give every row its design",
        "column 'a' is named 2 times; name it once",
    )


def test_terms_that_cannot_be_told_apart_are_named() -> None:
    found = faults(
        replace(GOOD, terms=(BLOCK, intercept("run", ["x", "x", "y", "y"]), intercept("one", [1] * 4)))
    )
    assert found == (
        SAME_GROUPS,
        "term 'one': expected at least 2 groups with rows, got 1; its spread is unknown",
    )


def test_slopes_and_wrong_codes_and_repeated_terms_are_refused() -> None:
    slope = RandomTerm(
        "block", BLOCK.codes, BLOCK.levels, np.column_stack([np.ones(4), np.arange(4)]), ("1", "x")
    )
    wrong = replace(BLOCK, name="wrong", codes=np.array([0, 1, 2, 0]))
    found = faults(replace(GOOD, terms=(slope, wrong, wrong)))
    assert found[0] == "term 'wrong' is given 2 times; give it once"
    assert "expected an intercept, got columns ('1', 'x')" in found[1]
    assert found[2] == "term 'wrong': expected codes from 0 to 1, got 0 to 2"
