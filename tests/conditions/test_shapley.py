from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RuleError
from equipoise_conditions.shapley import (
    banzhaf_values,
    leave_one_out_values,
    marginals_in_order,
    sample_orders,
    sampled_shapley,
    shapley_fractions,
    shapley_values,
)

# v(01) = v(012) = 1, v(2) = v(02) = v(12) = .2, all others 0; bit p is player p.
WORKED = np.array([0, 0, 0, 1, 0.2, 0.2, 0.2, 1])


def by_orders(value: Any) -> Any:
    """Average what each player adds over all orders of arrival, one after the other."""
    players = int(value.size).bit_length() - 1
    total, orders = np.zeros(players), list(permutations(range(players)))
    for order in orders:
        mask = 0
        for player in order:
            total[player] += value[mask | 1 << player] - value[mask]
            mask |= 1 << player
    return total / len(orders)


def test_the_worked_game_and_that_leave_one_out_is_not_efficient() -> None:
    np.testing.assert_allclose(shapley_values(WORKED), [13 / 30, 13 / 30, 4 / 30])
    np.testing.assert_allclose(leave_one_out_values(WORKED), [0.8, 0.8, 0.0])
    assert shapley_values(WORKED).sum() == pytest.approx(1.0)
    assert leave_one_out_values(WORKED).sum() == pytest.approx(1.6)


def test_two_players_who_can_stand_in_for_each_other_get_half_or_nothing() -> None:
    either = np.array([0.0, 1.0, 1.0, 1.0])
    assert shapley_values(either).tolist() == [0.5, 0.5]
    assert banzhaf_values(either).tolist() == [0.5, 0.5]
    assert leave_one_out_values(either).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("players", [1, 2, 3, 4, 5])
def test_exact_values_are_the_mean_over_all_orders(players: int) -> None:
    value = np.random.default_rng(players).normal(size=(3, 2**players))
    found = shapley_values(value)
    for row in range(3):
        np.testing.assert_allclose(found[row], by_orders(value[row]), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), value[:, -1] - value[:, 0])


def test_banzhaf_is_the_plain_mean_of_marginals() -> None:
    np.testing.assert_allclose(banzhaf_values(WORKED), [(0 + 1 + 0 + 0.8) / 4, 0.45, (0.2 * 3 + 0) / 4])


def test_fractions_are_exact() -> None:
    value = [Fraction(v).limit_denominator(10) for v in WORKED.tolist()]
    assert shapley_fractions(value) == [Fraction(13, 30), Fraction(13, 30), Fraction(2, 15)]


def test_without_players_there_is_nobody_to_value() -> None:
    assert shapley_values(np.array([3.0])).tolist() == []
    assert banzhaf_values(np.array([3.0])).tolist() == []
    assert leave_one_out_values(np.array([3.0])).tolist() == []


@pytest.mark.parametrize("function", [shapley_values, banzhaf_values, leave_one_out_values])
def test_a_number_of_coalitions_that_is_no_power_of_two_is_refused(function: Any) -> None:
    with pytest.raises(RuleError, match="one value for each of 2\\*\\*n coalitions, got 3"):
        function(np.zeros(3))


def test_an_unknown_coalition_makes_only_what_needs_it_unknown() -> None:
    value = np.where(np.arange(8) == 1, np.nan, WORKED)
    assert np.isnan(shapley_values(value)).all()
    np.testing.assert_allclose(leave_one_out_values(value), [0.8, 0.8, 0.0])


def test_an_order_is_followed_by_its_reverse() -> None:
    orders = sample_orders(2, 4, 5, np.random.default_rng(0))
    assert orders.shape == (2, 5, 4)
    assert np.array_equal(orders[:, 1], orders[:, 0, ::-1])
    assert np.array_equal(orders[:, 3], orders[:, 2, ::-1])
    assert np.array_equal(np.sort(orders, axis=-1), np.broadcast_to(np.arange(4), (2, 5, 4)))


def test_marginals_along_an_order_are_those_of_arrival() -> None:
    gain = marginals_in_order(WORKED[None], np.array([[[2, 0, 1], [0, 1, 2]]]))
    np.testing.assert_allclose(gain[0], [[0.0, 0.8, 0.2], [0.0, 1.0, 0.0]])


def test_samples_approach_the_exact_values_and_add_up_at_once() -> None:
    value = np.random.default_rng(3).normal(size=64)
    found = sampled_shapley(
        lambda mask: value[mask], 6, permutations=4000, generator=np.random.default_rng(1)
    )
    assert found.value.sum() == pytest.approx(value[-1] - value[0])
    assert (np.abs(found.value - shapley_values(value)) < 4 * found.standard_error).all()
    assert (found.standard_error < 0.03).all()


def test_no_coalition_is_evaluated_twice() -> None:
    asked: list[int] = []

    def value(mask: int) -> float:
        asked.append(mask)
        return float(mask.bit_count())

    found = sampled_shapley(value, 5, permutations=50, generator=np.random.default_rng(2))
    assert len(asked) == len(set(asked)) == found.evaluations <= 32
    np.testing.assert_allclose(found.value, 1.0)
    assert found.standard_error.tolist() == [0.0] * 5


def test_reversed_orders_halve_the_error_of_a_game_of_pairs() -> None:
    # In the glove game the last to arrive decides, so an order and its reverse err in opposite directions.
    value = np.array([0.0, 0, 0, 1])

    def spread(*, antithetic: bool) -> float:
        found = [
            sampled_shapley(
                lambda mask: value[mask],
                2,
                permutations=10,
                generator=np.random.default_rng(seed),
                antithetic=antithetic,
            ).value[0]
            for seed in range(40)
        ]
        return float(np.std(found))

    assert spread(antithetic=True) == 0.0
    assert spread(antithetic=False) > 0.1


def test_one_order_has_no_standard_error_and_none_is_refused() -> None:
    generator = np.random.default_rng(0)
    assert np.isnan(sampled_shapley(float, 3, permutations=1, generator=generator).standard_error).all()
    with pytest.raises(RuleError, match="at least one player and one order, got 3 and 0"):
        sampled_shapley(float, 3, permutations=0, generator=generator)
