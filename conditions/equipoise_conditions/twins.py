"""Placebos: the same credit in other places. What stays equal, and what is broken, is the kind of the twin."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.credit import Credit, credit_where
from equipoise_conditions.projection import expected_units
from equipoise_conditions.trajectories import Trajectories

__all__ = ["Move", "Twin", "draw", "shuffle_active_share", "twin"]


class Twin(StrEnum):
    """Which places may exchange their credit."""

    WITHIN = "within"
    """Defined units of one trajectory: does it matter which of its turns has which credit? The default."""
    POSITION = "position"
    """Defined units at the same position in trajectories of one group: position keeps its credit."""
    ACROSS = "across"
    """Defined units of one group: the tie to the outcome is cut too. A negative control."""
    SIGN = "sign"
    """Nothing moves, every credit gets a sign at random. Absolute values stay, signed sums do not."""
    ANYWHERE = "anywhere"
    """All own turns of one trajectory, also those that the rule left without credit: for rules whose choice
    of turns is itself a claim about credit."""


@dataclass(frozen=True, eq=False)
class Move:
    """Where credit goes.

    Attributes:
        to: (U,) a permutation: the credit of unit u goes to unit to[u].
        sign: (U,) 1 or -1, multiplied onto what arrives at a unit.
    """

    to: IntArray
    sign: FloatArray


def draw(
    credit: Credit,
    trajectories: Trajectories,
    kind: Twin,
    rng: np.random.Generator,
    *,
    like: IntArray | None = None,
) -> Move:
    """Return one random move of the credit, uniform over those that the kind allows.

    Undefined and masked units stay where they are, whatever the kind except ANYWHERE; so do units that could
    only exchange equal credit, since a twin must not show other data than its rule where credit says nothing.

    Args:
        credit: of this batch, U units.
        trajectories: the batch.
        kind: see `Twin`.
        rng: the twin's own stream; one number is drawn for each unit, whatever is defined.
        like: (U,) only units with the same number here may exchange their credit.
    """
    key = rng.random(credit.value.size)
    to = np.arange(key.size, dtype=np.int64)
    sign = np.ones(key.size)
    if kind == Twin.SIGN:
        sign[key < 0.5] = -1.0
        return Move(to, sign)
    units = np.flatnonzero(_movable(credit, trajectories, kind))
    cell = np.unique(cells(credit, trajectories, kind, like=like)[units], return_inverse=True)[1]
    varies = _varies(np.where(credit.defined, credit.value, np.inf)[units], cell)[cell]
    units, cell = units[varies], cell[varies]
    # Both orders list the cells one after the other, so that each unit meets one of its own cell.
    to[units[np.argsort(cell, kind="stable")]] = units[np.lexsort((key[units], cell))]
    return Move(to, sign)


def twin(credit: Credit, trajectories: Trajectories, kind: Twin, rng: np.random.Generator) -> Credit:
    """Return the credit after one random move; see `draw`.

    The multiset of values, and so sum, sum of squares, sparsity and effective sample size, is kept in every
    trajectory (WITHIN, ANYWHERE) or group (POSITION, ACROSS); SIGN keeps it up to signs. Source: the placebo
    arms of the executed-replay audit (arXiv 2608.19760), here with exact marginals.
    """
    move = draw(credit, trajectories, kind, rng)
    value, reason = np.empty_like(credit.value), np.empty_like(credit.reason)
    value[move.to], reason[move.to] = credit.value, credit.reason
    return credit_where(
        value * move.sign,
        reason,
        credit.granularity,
        offsets=credit.offsets,
        loss_mask=credit.loss_mask,
    )


def shuffle_active_share(
    credit: Credit,
    trajectories: Trajectories,
    kind: Twin = Twin.WITHIN,
    *,
    like: IntArray | None = None,
) -> float:
    """Return the share of trajectories with credit in which a move can change anything.

    A trajectory counts when one of its units can exchange its credit for a different one. Where the share is
    0 a twin repeats its rule, and a comparison of the two says nothing; a small share leaves little to see.

    Args:
        credit: of this batch, U units.
        trajectories: the batch.
        kind: see `Twin`.
        like: (U,) only units with the same number here may exchange their credit.
    """
    movable = _movable(credit, trajectories, kind)
    if not movable.any():
        return 0.0
    owner = trajectory_of_unit(credit, trajectories)[movable]
    value = np.where(credit.defined, credit.value, np.inf)[movable]
    if kind == Twin.SIGN:
        active = value != 0
    else:
        cell = np.unique(cells(credit, trajectories, kind, like=like)[movable], return_inverse=True)[1]
        active = _varies(value, cell)[cell]
    with_credit = np.unique(trajectory_of_unit(credit, trajectories)[credit.defined])
    return float(np.isin(with_credit, owner[active]).mean()) if with_credit.size else 0.0


def _varies(value: FloatArray, cell: IntArray) -> BoolArray:
    """(C,) whether the units of each cell have different values."""
    if not cell.size:
        return np.zeros(0, dtype=np.bool_)
    low, high = np.full(int(cell.max()) + 1, np.inf), np.full(int(cell.max()) + 1, -np.inf)
    np.minimum.at(low, cell, value)
    np.maximum.at(high, cell, value)
    return low < high


def trajectory_of_unit(credit: Credit, trajectories: Trajectories) -> IntArray:
    """Return (U,) the trajectory that each unit of the credit stands in."""
    match credit.granularity:
        case "token":
            return trajectories.trajectory_of_token
        case "turn":
            return trajectories.trajectory_of_turn
        case "agent":
            return trajectories.agent_units[0]
        case "episode":
            return np.arange(trajectories.n, dtype=np.int64)
        case _:
            return trajectories.trajectory_of_token[credit.offsets[:-1]]


def cells(
    credit: Credit, trajectories: Trajectories, kind: Twin, *, like: IntArray | None = None
) -> IntArray:
    """Return (U,) codes: units of one code, and of one number in `like`, may exchange their credit."""
    owner = trajectory_of_unit(credit, trajectories)
    if kind in (Twin.WITHIN, Twin.ANYWHERE):
        keys = [owner]
    elif kind == Twin.POSITION:
        position = np.arange(owner.size) - np.searchsorted(owner, owner)
        keys = [
            trajectories.group[owner],
            trajectories.agent_units[1] if credit.granularity == "agent" else position,
        ]
    else:
        keys = [trajectories.group[owner]]
    if like is not None:
        keys.append(like)
    if len(keys) == 1:
        return keys[0]
    return np.unique(np.stack(keys), axis=1, return_inverse=True)[1].astype(np.int64)


def _movable(credit: Credit, trajectories: Trajectories, kind: Twin) -> BoolArray:
    assert credit.value.size == expected_units(credit, trajectories)
    if kind == Twin.ANYWHERE and credit.granularity == "turn":
        return trajectories.own
    return credit.defined
