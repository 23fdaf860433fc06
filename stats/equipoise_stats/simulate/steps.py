"""Step-down decisions of a batch of families, with critical values instead of adjusted p values."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from equipoise_stats import sequential, student
from equipoise_stats.simulate.plan import Plan

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def down(evidence: FloatArray, needed: FloatArray) -> BoolArray:
    """Steps from the strongest evidence down, until one does not reach what its step needs.

    Args:
        evidence: (N, m).
        needed: (m,) at each step.
    """
    order = np.argsort(-evidence, axis=1, kind="stable")
    reached = np.take_along_axis(evidence, order, axis=1) >= needed
    shown = np.empty(evidence.shape, dtype=np.bool_)
    np.put_along_axis(shown, order, np.logical_and.accumulate(reached, axis=1), axis=1)
    return shown


def max_t_values(alpha: float, correlation: FloatArray, df: int) -> FloatArray:
    """(m,) critical |t| of the steps, all members first.

    Families of one design are equicorrelated, so that a step depends only on how many remain.
    """
    members = correlation.shape[0]
    rho = float(correlation[0, 1]) if members > 1 else 0.0
    return np.array([max_t_value(alpha, rho, k, df) for k in range(members, 0, -1)])


@functools.lru_cache(maxsize=1024)
def max_t_value(alpha: float, rho: float, members: int, df: int) -> float:
    """The critical |t| of so many members with one correlation."""
    matrix = np.full((members, members), rho)
    np.fill_diagonal(matrix, 1.0)
    return student.max_t_critical(alpha, matrix, df)


def holm_shown(plan: Plan, at_looks: Sequence[FloatArray], alpha: float) -> BoolArray:
    """Holm's steps over p values that may cross at any look: (N, m) shown."""
    members = at_looks[0].shape[1]
    # the most members among which a contrast is still shown at alpha / members
    most = np.zeros(at_looks[0].shape)
    for k in range(1, members + 1):
        most = np.where(crossed(plan, at_looks, alpha / k), k, most)
    return down(most, np.arange(members, 0, -1.0))


def crossed(plan: Plan, at_looks: Sequence[FloatArray], level: float) -> BoolArray:
    """(N, m) whether p crossed at a look so far, when ``level`` is spent over all of them."""
    reached = [p <= nominal(plan, level, look) for look, p in enumerate(at_looks)]
    return np.asarray(np.any(reached, axis=0), dtype=np.bool_)


def both_sides(plan: Plan, level: float) -> float:
    """What twice a one-sided p value is held against: evidence that may be read at any time does not tell sides."""
    return level if plan.question.spending == "e-process" else 2.0 * level


def nominal(plan: Plan, level: float, look: int) -> float:
    """The p value that rejects at a look; 0 where none does."""
    if plan.question.spending == "e-process":
        blocks = plan.looks[look]
        critical = sequential.e_critical(level, blocks)
        return 0.0 if critical is None else float(student.two_sided_p(critical, blocks - 1))
    if len(plan.looks) == 1:
        return level
    shares = tuple(blocks / plan.looks[-1] for blocks in plan.looks)
    return sequential.nominal_level(level, look, shares, plan.question.spending)
