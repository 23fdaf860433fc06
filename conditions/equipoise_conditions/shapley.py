"""Values of cooperative games: what each player is worth, from what its coalitions are worth.

A coalition is a bit mask: bit p is set when player p is present. Values are exact sums over all coalitions, or
averages over sampled orders. Nothing here knows of trajectories or of credit.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np

from equipoise_conditions.arrays import FloatArray, IntArray
from equipoise_conditions.errors import RuleError

__all__ = [
    "SampledValues",
    "banzhaf_values",
    "leave_one_out_values",
    "marginals_in_order",
    "sample_orders",
    "sampled_shapley",
    "shapley_fractions",
    "shapley_values",
]


def shapley_values(value: FloatArray) -> FloatArray:
    """Return (..., n) phi_p = sum over S without p of |S|! (n-|S|-1)! / n! (v(S and p) - v(S)).

    Values add up to v(all) - v(none). NaN where any coalition was not evaluated. Source: Shapley 1953.

    Args:
        value: (..., 2**n) v by bit mask.

    Raises:
        RuleError: when the last axis is no power of two.
    """
    players = _players(value.shape[-1])
    size = np.bitwise_count(np.arange(2 ** max(players - 1, 0), dtype=np.uint64)).astype(np.int64)
    weight = np.array([1.0 / (players * comb(players - 1, s)) for s in range(players)])
    return _stacked([gain @ weight[size] for gain in _gains(value, players)], value)


def banzhaf_values(value: FloatArray) -> FloatArray:
    """Return (..., n) the mean over all coalitions of the others of what the player adds.

    Values need not add up to v(all) - v(none). Source: Banzhaf 1965, in Owen's mean form.

    Args:
        value: (..., 2**n) v by bit mask.

    Raises:
        RuleError: when the last axis is no power of two.
    """
    players = _players(value.shape[-1])
    return _stacked([gain.mean(axis=-1) for gain in _gains(value, players)], value)


def leave_one_out_values(value: FloatArray) -> FloatArray:
    """Return (..., n) v(all) - v(all but the player), the difference reward; only those n + 1 are read.

    Values need not add up: of two players who can stand in for each other both get 0.

    Args:
        value: (..., 2**n) v by bit mask.

    Raises:
        RuleError: when the last axis is no power of two.
    """
    players = _players(value.shape[-1])
    everyone = 2**players - 1
    without = everyone - 2 ** np.arange(players)
    difference: FloatArray = value[..., everyone, None] - value[..., without]
    return difference


def shapley_fractions(value: Sequence[Fraction]) -> list[Fraction]:
    """Return the Shapley values in exact fractions, for checking; 2**n * n additions.

    Args:
        value: 2**n exact v by bit mask.

    Raises:
        RuleError: when their number is no power of two.
    """
    players = _players(len(value))
    result = []
    for player in range(players):
        bit, total = 1 << player, Fraction(0)
        for mask in range(len(value)):
            if not mask & bit:
                gain = value[mask | bit] - value[mask]
                total += gain / (players * comb(players - 1, mask.bit_count()))
        result.append(total)
    return result


def sample_orders(
    games: int, players: int, permutations: int, generator: np.random.Generator, *, antithetic: bool = True
) -> IntArray:
    """Return (games, permutations, players) random orders in which the players arrive.

    Args:
        games: how many games get orders of their own.
        players: players of each game.
        permutations: orders of each game.
        generator: the stream they are drawn from.
        antithetic: follow each order by its reverse, so that a player early in one is late in the other
            (an odd number of orders leaves the last without its reverse).
    """
    drawn = -(-permutations // 2) if antithetic else permutations
    start = np.broadcast_to(np.arange(players, dtype=np.int64), (games, drawn, players))
    orders = generator.permuted(start, axis=-1)
    if antithetic:
        both = np.stack([orders, orders[..., ::-1]], axis=2)
        orders = both.reshape(games, 2 * drawn, players)[:, :permutations]
    return orders


def marginals_in_order(value: FloatArray, orders: IntArray) -> FloatArray:
    """Return (games, m, n) what each player adds when it arrives; their mean over m estimates Shapley values.

    Args:
        value: (games, 2**n) v by bit mask; NaN where not evaluated.
        orders: (games, m, n) orders of arrival.
    """
    games, count, players = orders.shape
    present = np.zeros((games, count, players + 1), dtype=np.int64)
    np.cumsum(np.int64(1) << orders, axis=-1, out=present[..., 1:])
    reached = value[np.arange(games)[:, None, None], present]
    gain = np.empty((games, count, players))
    np.put_along_axis(gain, orders, np.diff(reached, axis=-1), axis=-1)
    return gain


@dataclass(frozen=True, eq=False)
class SampledValues:
    """Shapley values estimated from sampled orders.

    Attributes:
        value: (n,) estimates; they add up to v(all) - v(none) like the exact ones.
        standard_error: (n,) of the estimates, from orders, or from pairs where orders were antithetic;
            NaN when there was only one.
        evaluations: distinct coalitions that were evaluated.
    """

    value: FloatArray
    standard_error: FloatArray
    evaluations: int


def sampled_shapley(
    value: Callable[[int], float],
    players: int,
    *,
    permutations: int,
    generator: np.random.Generator,
    antithetic: bool = True,
) -> SampledValues:
    """Return Shapley values estimated from random orders; no coalition is evaluated twice.

    Source: Castro, Gomez and Tejada 2009; antithetic orders as in Mitchell et al. 2022 (arXiv 2104.12199).

    Args:
        value: v of a coalition given as a bit mask; called once for each coalition that is met.
        players: number of players, at least 1.
        permutations: orders to draw, at least 1.
        generator: the stream they are drawn from.
        antithetic: whether each order is followed by its reverse.

    Raises:
        RuleError: when there are no players or no orders.
    """
    if players < 1 or permutations < 1:
        message = f"expected at least one player and one order, got {players} and {permutations}"
        raise RuleError(message)
    orders = sample_orders(1, players, permutations, generator, antithetic=antithetic)[0]
    known: dict[int, float] = {}
    gain = np.empty(orders.shape)
    for row, order in enumerate(orders.tolist()):
        mask, before = 0, _once(known, value, 0)
        for player in order:
            mask |= 1 << player
            after = _once(known, value, mask)
            gain[row, player] = after - before
            before = after
    return SampledValues(gain.mean(axis=0), _standard_error(gain, antithetic=antithetic), len(known))


def _once(known: dict[int, float], value: Callable[[int], float], mask: int) -> float:
    if mask not in known:
        known[mask] = float(value(mask))
    return known[mask]


def _standard_error(gain: FloatArray, *, antithetic: bool) -> FloatArray:
    # The two orders of a pair depend on each other: pairs are the independent draws.
    draws = (gain[: gain.shape[0] // 2 * 2 : 2] + gain[1::2]) / 2 if antithetic else gain
    if draws.shape[0] < 2:
        return np.full(gain.shape[1], np.nan)
    error: FloatArray = draws.std(axis=0, ddof=1) / np.sqrt(draws.shape[0])
    return error


def _players(coalitions: int) -> int:
    players = coalitions.bit_length() - 1
    if coalitions < 1 or 2**players != coalitions:
        message = f"expected one value for each of 2**n coalitions, got {coalitions}; evaluate all of them"
        raise RuleError(message)
    return players


def _gains(value: FloatArray, players: int) -> Iterator[FloatArray]:
    """Yield for each player (..., 2**(n-1)) what it adds to each coalition of the others, in their order."""
    outer = value.shape[:-1]
    for player in range(players):
        split = value.reshape(*outer, -1, 2, 2**player)
        gain: FloatArray = split[..., 1, :] - split[..., 0, :]
        yield gain.reshape(*outer, -1)


def _stacked(columns: list[FloatArray], value: FloatArray) -> FloatArray:
    return np.stack(columns, axis=-1) if columns else np.empty((*value.shape[:-1], 0))
