"""The expected best of n trials, by hand and against every subset."""

from itertools import combinations, pairwise
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.tuning.curves import best_so_far, expected_best


def test_the_expected_best_of_three_trials_is_worked_out_by_hand() -> None:
    # One of 1, 2, 6: 3. Two of them: (2 + 6 + 6) / 3. All three: 6.
    assert expected_best([6.0, 1.0, 2.0]) == pytest.approx((3.0, 14 / 3, 6.0))


def test_one_trial_finds_itself_and_none_finds_nothing() -> None:
    assert expected_best([0.25]) == (0.25,)
    assert expected_best([]) == ()


def test_the_best_so_far_keeps_the_order() -> None:
    assert best_so_far([0.2, 0.1, 0.5, 0.4]) == (0.2, 0.2, 0.5, 0.5)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8))
def test_it_is_the_mean_over_all_subsets_of_that_size(values: list[float]) -> None:
    curve = expected_best(values)
    for n in range(1, len(values) + 1):
        assert curve[n - 1] == pytest.approx(
            mean(max(chosen) for chosen in combinations(values, n)), abs=1e-12
        )
    assert all(later >= earlier - 1e-12 for earlier, later in pairwise(curve))
