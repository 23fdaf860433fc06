from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equipoise_conditions.groups import centred, codes, codes_within, discounted, standardised


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
)
def test_discounting_by_doubling_equals_the_recursion(lengths: list[int], gamma: float, seed: int) -> None:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    reward = np.random.default_rng(seed).normal(size=offsets[-1])
    expected = reward.copy()
    for begin, end in pairwise(offsets):
        for t in range(end - 2, begin - 1, -1):
            expected[t] += gamma * expected[t + 1]
    np.testing.assert_allclose(discounted(reward, offsets, gamma), expected, atol=1e-12)


def test_equal_numbers_differ_from_their_mean_by_nothing() -> None:
    value = np.full(3, 0.1)
    assert value.mean() != 0.1
    assert centred(value, np.zeros(3, dtype=np.int64), 1).tolist() == [0.0, 0.0, 0.0]
    got = standardised(value, np.zeros(3, dtype=np.int64), 1, std="sample", eps=1e-8)
    assert got.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("std", "eps", "eps_inside", "expected"),
    [
        ("none", 0.0, False, [0.75, -0.25, -0.25, -0.25]),
        ("population", 0.0, False, [3**0.5, -(3**-0.5), -(3**-0.5), -(3**-0.5)]),
        ("sample", 0.0, False, [1.5, -0.5, -0.5, -0.5]),
        # The sample variance of [1, 0, 0, 0] is 1/4: with 0.75 inside the root the divisor is 1.
        ("sample", 0.75, True, [0.75, -0.25, -0.25, -0.25]),
        ("sample", 0.5, False, [0.75, -0.25, -0.25, -0.25]),
    ],
)
def test_each_divisor_is_what_it_is_called(
    std: str, eps: float, eps_inside: bool, expected: list[float]
) -> None:
    got = standardised(
        np.array([1.0, 0, 0, 0]), np.zeros(4, dtype=np.int64), 1, std=std, eps=eps, eps_inside=eps_inside
    )
    np.testing.assert_allclose(got, expected, rtol=1e-14)


@given(arrays(np.int64, st.integers(1, 20), elements=st.integers(-(2**62), 2**62) | st.integers(0, 5)))
def test_codes_are_equal_exactly_where_keys_are(key: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    code, n = codes(key)
    assert np.array_equal(code[:, None] == code[None, :], key[:, None] == key[None, :])
    assert sorted(set(code.tolist())) == list(range(n))


def test_keys_made_to_collide_are_still_told_apart() -> None:
    from equipoise_conditions import groups

    # The inverse of a multiplier turns small numbers into keys that all hash to slot 0.
    inverse = pow(int(groups._MULTIPLIERS[0]), -1, 2**64)
    key = np.array([inverse * k % 2**64 for k in range(1, 200)] * 2, dtype=np.uint64).view(np.int64)
    code, n = codes(key)
    assert n == 199
    assert np.array_equal(code[:199], code[199:])
    try_again = groups._MULTIPLIERS
    groups._MULTIPLIERS = try_again[:1]
    try:
        assert codes(key)[1] == 199
    finally:
        groups._MULTIPLIERS = try_again


def test_one_key_in_two_groups_makes_two_codes() -> None:
    code, n = codes_within(np.array([5, 5, 7, 5]), np.array([0, 1, 1, 0]))
    assert n == 3
    assert code[0] == code[3]
    assert len({int(code[0]), int(code[1]), int(code[2])}) == 3
