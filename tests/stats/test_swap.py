"""The exact swap of rule and twin, by hand and by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from equipoise_stats.swap import swap_null, swap_tests


def test_three_blocks_worked_by_hand() -> None:
    # differences .1, .2, -.05: sum .25. All sign choices: ±.35, ±.25, ±.05, ±.15 -> |sum| >= .25 in 4 of 8
    null = swap_null(np.array([0.6, 0.7, 0.5]), np.array([[0.5], [0.5], [0.55]]))
    assert null.p_at(null.observed) == pytest.approx(0.5)
    assert null.floor == 2 / 2**3


def test_two_twins_equal_brute_force_over_which_run_is_the_rule() -> None:
    rng = np.random.default_rng(2)
    rule, twins = rng.uniform(size=4), rng.uniform(size=(4, 2))
    scores = np.column_stack([rule, twins])

    def statistic(choice: tuple[int, ...]) -> float:
        return float(abs(sum(s[c] - (s.sum() - s[c]) / 2 for s, c in zip(scores, choice, strict=True))))

    observed = statistic((0, 0, 0, 0))
    every = [statistic(choice) for choice in itertools.product(range(3), repeat=4)]
    null = swap_null(rule, twins)
    assert null.p_at(null.observed) == pytest.approx(np.mean([s >= observed - 1e-12 for s in every]))
    assert null.floor == 1 / 3**4


def test_five_blocks_with_one_twin_cannot_reject_and_the_sentence_says_so() -> None:
    null = swap_null(np.full(5, 0.9), np.full((5, 1), 0.1))
    test = swap_tests({"a": null}, ("a",), 0.05)["a"]
    assert test.p == pytest.approx(0.0625)
    assert test.floor == 0.0625
    assert test.sentence.endswith("the smallest possible p is 0.0625; this design cannot reject at 0.05")


def test_ties_count_against_the_rule() -> None:
    null = swap_null(np.full(4, 0.5), np.full((4, 1), 0.5))
    assert null.p_at(null.observed) == 1.0


def test_many_blocks_are_drawn_with_a_fixed_seed_and_never_give_zero() -> None:
    null = swap_null(np.full(24, 0.9), np.tile([[0.1, 0.2]], (24, 1)))
    assert not null.exact
    assert null.p_at(null.observed) == pytest.approx(1 / 100_001)
    assert np.array_equal(null.null, swap_null(np.full(24, 0.9), np.tile([[0.1, 0.2]], (24, 1))).null)


def test_the_family_adjustment_is_that_of_independent_swaps() -> None:
    rng = np.random.default_rng(9)
    nulls = {name: swap_null(rng.uniform(size=6), rng.uniform(size=(6, 1))) for name in "abc"}
    tests = swap_tests(nulls, ("a", "b"), 0.05)
    z = nulls["a"].observed
    joint = [max(x, y) >= z - 1e-9 for x in nulls["a"].null for y in nulls["b"].null]
    assert tests["a"].p_family == pytest.approx(np.mean(joint))
    assert tests["c"].p_family is None
