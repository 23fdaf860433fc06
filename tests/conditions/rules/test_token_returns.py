from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from equipoise_conditions.rules.token_returns import cumulated, return_to_mask, reward_to_go


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("gamma", [0.0, 0.9, 1.0])
def test_returns_to_the_next_hole_are_those_of_a_loop_from_behind(seed: int, gamma: float) -> None:
    rng = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(rng.integers(1, 9, 6))))
    reward, mask = rng.normal(size=offsets[-1]), rng.random(offsets[-1]) < 0.7
    got = return_to_mask(reward, mask, offsets, token_gamma=gamma)
    for first, last in pairwise(offsets):
        running = 0.0
        for j in range(last - 1, first - 1, -1):
            running = reward[j] + gamma * running
            assert got[j] == pytest.approx(running, abs=1e-12)
            running *= mask[j]


def test_reward_to_go_bridges_holes_and_counts_what_is_in_the_loss(batch: Any) -> None:
    mask = np.array([True, False, True, True])
    t = batch(outcome=[1, 1], lengths=[3, 1], reward=np.array([1.0, 10.0, 2.0, 5.0]), mask=mask)
    assert reward_to_go(t).tolist() == [3.0, 2.0, 2.0, 5.0]


def test_sums_start_anew_in_every_trajectory() -> None:
    value, offsets = np.array([1.0, 2.0, np.nan, 4.0, 5.0]), np.array([0, 3, 5])
    np.testing.assert_array_equal(cumulated(value, offsets), [1.0, 3.0, np.nan, 4.0, 9.0])
