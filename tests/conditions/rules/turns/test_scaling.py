import math
from typing import Any

import numpy as np
import pytest

from equipoise_conditions.groups import discounted, standardised
from equipoise_conditions.rules.turns.scaling import (
    returns_to_go,
    trained_trajectories,
    trained_turns,
    weighted_zscore,
)


@pytest.mark.parametrize("std", ["sample", "population", "none"])
def test_one_vote_each_is_the_usual_z_score_whatever_the_order_of_the_groups(std: str) -> None:
    rng = np.random.default_rng(1)
    value, group = rng.normal(size=40), np.sort(rng.integers(0, 6, 40))
    expected = standardised(value, group, 7, std=std, eps=1e-6)
    order = rng.permutation(40)
    for n_groups in (6, 7):  # with and without a group that nobody is in
        got = weighted_zscore(value, group, n_groups, std=std, eps=1e-6)
        np.testing.assert_allclose(got, expected, atol=1e-12)
        mixed = weighted_zscore(value[order], group[order], n_groups, std=std, eps=1e-6)
        np.testing.assert_allclose(mixed, expected[order], atol=1e-12)
        weighted = weighted_zscore(value, group, n_groups, std=std, eps=1e-6, weight=np.ones(40))
        np.testing.assert_allclose(weighted, expected, atol=1e-12)


@pytest.mark.parametrize("group", [[0, 0, 0, 1, 1], [0, 1, 0, 1, 0]])
def test_equal_values_give_exactly_zero_with_no_epsilon_at_all(group: list[int]) -> None:
    value = np.full(5, 0.1)
    assert weighted_zscore(value, np.array(group), 2, std="sample", eps=0.0).tolist() == [0.0] * 5


def test_votes_weigh_mean_and_deviation() -> None:
    # 1 with two votes, 4 with one: mean 2, variance (2 + 4) / 3 of the votes, or / 2 as a sample.
    value, weight, group = np.array([1.0, 4.0]), np.array([2.0, 1.0]), np.zeros(2, dtype=int)
    got = weighted_zscore(value, group, 1, std="population", eps=0.0, weight=weight)
    np.testing.assert_allclose(got, np.array([-1.0, 2.0]) / math.sqrt(2.0))
    got = weighted_zscore(value, group, 1, std="sample", eps=0.0, weight=weight)
    np.testing.assert_allclose(got, np.array([-1.0, 2.0]) / math.sqrt(3.0))


def test_single_precision_rounds_the_mean() -> None:
    step = np.float32(2.0**-23)
    value = np.array([1.0, 1.0 + 8 * step, 1.0], dtype=np.float32)
    got = weighted_zscore(value, np.zeros(3, dtype=int), 1, std="none", eps=0.0)
    assert got.tolist() == [-3 * step, 5 * step, -3 * step], "the mean is 1 + 8/3 steps"
    assert got.dtype == np.float64


@pytest.mark.parametrize("lengths", [[3, 3], [1, 1, 1], [2, 5, 1], [4]])
def test_returns_of_equal_and_of_unequal_lengths_are_the_same_recursion(lengths: list[int]) -> None:
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    reward = np.random.default_rng(2).normal(size=offsets[-1])
    got = returns_to_go(reward, offsets, 0.9)
    np.testing.assert_allclose(got, discounted(reward, offsets, 0.9), atol=1e-12)


def test_forks_and_what_is_outside_the_loss_are_not_trained(batch: Any, forest: Any) -> None:
    t = forest(1)
    assert np.array_equal(trained_trajectories(t), t.collected)
    assert np.array_equal(trained_turns(t), t.collected[t.trajectory_of_turn])
    t = batch(outcome=[0, 0], lengths=[2, 1], mask=np.array([True, False, False]))
    assert trained_trajectories(t).tolist() == [True, False]
    assert trained_turns(t).tolist() == [True, False, False]
