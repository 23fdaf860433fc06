"""Looks at unfinished suites: boundaries that spend the level, and evidence that may be read at any time.

The level is spent as a function of the share of blocks that is complete (Lan & DeMets 1983)::

    O'Brien-Fleming type   4 (1 - Phi(z_{a/4} / sqrt(t)))
    Pocock type            a log(1 + (e - 1) t)

Both are spent alike on either side. The critical values follow from the density of the statistic among the
paths that have not crossed, integrated from look to look (Armitage, McPherson & Rowe 1969). At a look the p
value of the t test is held against the nominal level of the boundary.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

FloatArray = npt.NDArray[np.float64]

SPENDING: tuple[str, ...] = ("none", "obf", "pocock", "e-process")
_NODES = 96
_FARTHEST = 37.0  # beyond it a normal tail is 0 in double precision
_LEVELS = -ndtri(np.geomspace(1e-12, 0.9999, 96) / 2.0)


def spent(level: npt.ArrayLike, information: float, spending: str) -> FloatArray:
    """The part of a two-sided level that is spent once a share of the blocks is complete.

    Args:
        level: in (0, 1).
        information: share of the blocks, in (0, 1].
        spending: ``obf`` or ``pocock``.
    """
    a = np.asarray(level, dtype=np.float64)
    if spending == "obf":
        return np.asarray(4.0 * ndtr(ndtri(a / 4.0) / math.sqrt(information)), dtype=np.float64)
    return np.asarray(a * math.log1p((math.e - 1.0) * information), dtype=np.float64)


def boundaries(levels: FloatArray, information: tuple[float, ...], spending: str) -> FloatArray:
    """The critical |z| of every look.

    Args:
        levels: (L,) two-sided levels.
        information: (K,) shares of the blocks at the looks, ascending, the last 1.
        spending: ``obf`` or ``pocock``.

    Returns:
        (L, K) critical values; ``_FARTHEST`` where nothing measurable is spent.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    found = np.empty((levels.size, len(information)))
    places = np.zeros((levels.size, 1))
    mass = np.ones((levels.size, 1))  # of the paths still inside, times the width of their cell
    before, used = 0.0, np.zeros(levels.size)
    for look, now in enumerate(information):
        total = spent(levels, now, spending)
        step = math.sqrt(now - before)
        found[:, look] = _crossing(total - used, places, mass, math.sqrt(now), step)
        reach = np.minimum(found[:, look] * math.sqrt(now), 9.0)[:, None]
        new = reach * nodes
        kernel = np.exp(-0.5 * np.square((new[:, :, None] - places[:, None, :]) / step))
        density = (kernel @ mass[:, :, None])[:, :, 0] / (step * math.sqrt(2.0 * math.pi))
        places, mass = new, density * reach * weights
        before, used = now, total
    return found


def _crossing(
    wanted: FloatArray, places: FloatArray, mass: FloatArray, root: float, step: float
) -> FloatArray:
    """The (L,) critical values at which paths at (L, n) places first cross with the wanted chances."""
    low, high = np.zeros(wanted.size), np.full(wanted.size, _FARTHEST)
    for _ in range(48):  # halves the bracket to rounding
        middle = 0.5 * (low + high)
        edge = (middle * root)[:, None]
        outside = (mass * (ndtr((places - edge) / step) + ndtr((-places - edge) / step))).sum(axis=1)
        low, high = np.where(outside > wanted, middle, low), np.where(outside > wanted, high, middle)
    return np.asarray(0.5 * (low + high), dtype=np.float64)


@functools.lru_cache(maxsize=32)
def _atlas(information: tuple[float, ...], spending: str) -> FloatArray:
    """Boundaries at a fine grid of levels: (levels, looks)."""
    return boundaries(2.0 * ndtr(-_LEVELS), information, spending)


@functools.lru_cache(maxsize=4096)
def nominal_level(level: float, look: int, information: tuple[float, ...], spending: str) -> float:
    """The p value that rejects at a look, counted from 0, in a plan that spends ``level`` in all."""
    critical = boundaries(np.array([level]), information[: look + 1], spending)[0, look]
    return float(2.0 * ndtr(-critical))


def sequential_p(p: tuple[float, ...], information: tuple[float, ...], spending: str) -> float:
    """The smallest level at which the plan has rejected at one of the looks so far.

    Such p values may be compared across a family by Holm's steps (Maurer & Bretz 2013).

    Args:
        p: two-sided p values at the looks so far.
        information: shares of the blocks at all looks of the plan.
        spending: ``obf`` or ``pocock``.
    """
    atlas = _atlas(information, spending)
    reached = []
    for look, value in enumerate(p):
        z = min(-float(ndtri(min(1.0, value) / 2.0)), _FARTHEST)
        # critical values fall with the level: read the level where the boundary meets the statistic
        column = np.minimum.accumulate(atlas[:, look])
        if z <= column[-1]:
            reached.append(1.0)
        else:
            reached.append(float(2.0 * ndtr(-np.interp(z, column[::-1], _LEVELS[::-1]))))
    return min(reached)


def e_value(t: npt.ArrayLike, blocks: int, g: float = 1.0) -> FloatArray:
    """The right-Haar e value of a t statistic over so many blocks, elementwise (Lai 1976; Wang & Ramdas 2024).

    Against the null of mean zero with any variance, the effect in units of the SD is given a normal prior with
    variance ``g``. Rejecting once it reaches 1 / level errs with at most that chance however often one looks.

    Args:
        t: statistics of the t test with ``blocks - 1`` degrees of freedom.
        blocks: at least 2.
        g: variance of the prior.
    """
    freedom, growth = blocks - 1, 1.0 + blocks * g
    square = np.square(np.asarray(t, dtype=np.float64)) / freedom
    log = 0.5 * blocks * (np.log1p(square) - np.log1p(square / growth)) - 0.5 * math.log(growth)
    return np.asarray(np.exp(log), dtype=np.float64)


def e_critical(level: float, blocks: int, g: float = 1.0) -> float | None:
    """The |t| whose e value is 1 / level; None where no t is evidence enough at so few blocks."""
    growth = 1.0 + blocks * g
    ratio = (math.sqrt(growth) / level) ** (2.0 / blocks)
    if ratio >= growth:
        return None
    return math.sqrt((blocks - 1) * (ratio - 1.0) / (1.0 - ratio / growth))
