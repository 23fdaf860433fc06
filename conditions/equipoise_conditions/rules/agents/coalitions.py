"""Coalition values of a batch turned into values of its players, many trajectories at a time."""

from collections.abc import Mapping

import numpy as np

from equipoise_conditions.arrays import FloatArray, IntArray
from equipoise_conditions.context import Coalitions, Context, Need
from equipoise_conditions.errors import RuleError
from equipoise_conditions.rule import Parameter
from equipoise_conditions.shapley import (
    banzhaf_values,
    leave_one_out_values,
    marginals_in_order,
    sample_orders,
    shapley_values,
)
from equipoise_conditions.trajectories import Trajectories

__all__ = ["ANTITHETIC", "INDEX", "PERMUTATIONS", "player_values", "sampling_faults", "sampling_needs"]

INDEX = Parameter(
    "index",
    "shapley",
    ("shapley", "banzhaf", "leave_one_out"),
    "how marginal contributions are averaged: over orders, over coalitions, or only the last one",
)
PERMUTATIONS = Parameter(
    "permutations",
    0,
    "int",
    "random orders that Shapley values are estimated from; 0 takes them all",
    minimum=0,
)
ANTITHETIC = Parameter("antithetic", default=True, kind="bool", doc="follow each random order by its reverse")

_EXACT = {"shapley": shapley_values, "banzhaf": banzhaf_values, "leave_one_out": leave_one_out_values}


def sampling_needs(params: Mapping[str, object]) -> frozenset[Need]:
    """Return the generator where orders are drawn, nothing where all are taken."""
    return frozenset({Need.GENERATOR}) if params["permutations"] != 0 else frozenset()


def sampling_faults(params: Mapping[str, object]) -> list[str]:
    """Return what is wrong with `index` and `permutations` together: only Shapley values are sampled."""
    index, permutations = params["index"], params["permutations"]
    if permutations == 0 or index == "shapley":
        return []
    expected = f"permutations: expected 0 for the index '{index}', got {permutations}"
    return [f"{expected}; only Shapley values are averages over orders"]


def player_values(
    trajectories: Trajectories,
    context: Context,
    units: IntArray,
    noun: str,
    *,
    index: str,
    permutations: int,
    antithetic: bool,
) -> FloatArray:
    """Return (U,) the value of every player, NaN where a coalition that it needs was not evaluated.

    Args:
        trajectories: the batch.
        context: `coalitions` is read, and `generator` when orders are drawn.
        units: (N,) players of each trajectory: units are these, one trajectory after the other.
        noun: what a player is called in messages.
        index: "shapley", "banzhaf" or "leave_one_out".
        permutations: orders to draw for each trajectory; 0 for exact values.
        antithetic: whether each order is followed by its reverse.

    Raises:
        RuleError: when the coalitions are of other players, or orders are asked for another index.
    """
    coalitions = context.need(Need.COALITIONS, Coalitions)
    _check(trajectories, coalitions, units, noun)
    faults = sampling_faults({"index": index, "permutations": permutations})
    if faults:
        raise RuleError(faults[0])
    first = np.concatenate(([0], np.cumsum(units)[:-1]))
    value = np.full(int(units.sum()), np.nan)
    for players in np.unique(coalitions.players[coalitions.players > 0]).tolist():
        rows = np.flatnonzero(coalitions.players == players)
        table = coalitions.value[coalitions.offsets[rows][:, None] + np.arange(2**players)]
        if permutations:
            orders = sample_orders(
                rows.size, players, permutations, context.the_generator(), antithetic=antithetic
            )
            worth = marginals_in_order(table, orders).mean(axis=1)
        else:
            worth = _EXACT[index](table)
        # A player worth nothing is worth 0, not the rounding of the sum it came from.
        largest = np.nanmax(np.abs(table), axis=1, keepdims=True, initial=0.0)
        worth = np.where(np.abs(worth) <= 1e-12 * largest, 0.0, worth)
        value[first[rows][:, None] + np.arange(players)] = worth
    return value


def _check(trajectories: Trajectories, coalitions: Coalitions, units: IntArray, noun: str) -> None:
    players = coalitions.players
    if players.size != trajectories.n:
        message = (
            f"coalitions: expected those of {trajectories.n} trajectories, got {players.size}; "
            "measure it on this batch"
        )
        raise RuleError(message)
    wrong = (players != units) & (players != 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        message = (
            f"coalitions: expected one player for each of the {int(units[row])} {noun} of trajectory {row} (or none "
            f"where nothing was evaluated), got {int(players[row])}; evaluate coalitions of {noun}, and "
            "measure it on this batch"
        )
        raise RuleError(message)
