"""How much of what a rule needed was measured, in numbers for a result."""

import numpy as np

from equipoise_conditions.arrays import IntArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Reason
from equipoise_conditions.measured import Boundary, Continuations, Replays, Verdicts

__all__ = ["counts_of"]


def counts_of(context: Context, need: Need) -> dict[str, int]:
    """How many units of a measured need are defined, and how many are not by their reasons' names.

    Units are those that the need is measured on: turns, tokens or trajectories. A need that is no measurement (the
    rule's generator, forks in the batch) has none. Planning tokens are all defined; those marked are counted too.

    Args:
        context: what was measured.
        need: one of it.
    """
    supply = getattr(context, str(need), None)
    match supply:
        case Continuations() | Replays():
            return _by_reason(supply.reason)
        case Verdicts():
            unread = np.isnan(supply.score).all(axis=1)
            reason = np.where(unread, int(Reason.UNPARSABLE), int(Reason.DEFINED))
            return _by_reason(np.where(supply.asked, reason, int(Reason.NOT_SELECTED)))
        case Boundary():
            return _missing(np.isnan(np.concatenate((supply.before, supply.after))))
        case np.ndarray():
            marked = {"marked": int(supply.sum())} if supply.dtype == np.bool_ else {}
            return _missing(np.isnan(supply.astype(np.float64))) | marked
        case _:
            return {}


def _missing(missing: np.ndarray) -> dict[str, int]:
    return _by_reason(np.where(missing, int(Reason.NOT_MEASURED), int(Reason.DEFINED)))


def _by_reason(reason: IntArray) -> dict[str, int]:
    return {one.name: int((reason == one).sum()) for one in Reason if (reason == one).any()}
