"""What a suite can detect: minimal detectable effects and the blocks that would settle a contrast."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from equipoise_stats import student
from equipoise_stats.errors import StatsError

MOST_BLOCKS = 100_000


def detectable_effect(se: float, df: float, critical_value: float, power: float = 0.8) -> float:
    """The effect whose two-sided t test has the given power.

    Args:
        se: standard error of the contrast, in success rate.
        df: its degrees of freedom.
        critical_value: the |t| at which it is claimed.
        power: the chance of the claim.
    """
    from scipy.optimize import brentq

    high = critical_value + 10.0
    while student.power(high, df, critical_value) < power:
        high *= 2.0
    return se * float(brentq(lambda d: student.power(d, df, critical_value) - power, 0.0, high, xtol=1e-9))


def planned_mde(
    sd: float,
    blocks: int,
    family: int,
    alpha: float = 0.05,
    *,
    cells: int = 2,
    size: float = 2.0,
    correlation: float | None = None,
    power: float = 0.8,
) -> float:
    """The smallest contrast that a design detects with the given power, closed form.

    Args:
        sd: standard deviation of a run's score within its block, in success rate.
        blocks: complete blocks S.
        family: contrasts m that share ``alpha``.
        alpha: two-sided level of the family.
        cells: cells C of the error stratum; 2 is the paired analysis, with S - 1 degrees of freedom.
        size: sum of squared coefficients: 2 for CONTENT, SHAPE and TOTAL, 4 for VOLUME.
        correlation: common correlation of the family for the max-t step; None for Holm's first step.
        power: the chance of claiming an effect of that size.

    Raises:
        StatsError: if the design has no degrees of freedom or no spread.
    """
    faults = [] if blocks >= 2 else [f"blocks: expected at least 2, got {blocks}"]
    faults += [] if cells >= 2 else [f"cells: expected at least 2, got {cells}"]
    faults += [] if family >= 1 else [f"family: expected at least 1 contrast, got {family}"]
    faults += [] if math.isfinite(sd) and sd > 0 else [f"sd: expected a positive number, got {sd}"]
    if faults:
        raise StatsError(faults)
    df = (cells - 1) * (blocks - 1)
    return detectable_effect(
        sd * math.sqrt(size / blocks), df, family_critical(alpha, family, df, correlation), power
    )


def family_critical(alpha: float, family: int, df: float, correlation: float | None) -> float:
    """The |t| of a family's first step: Bonferroni without, max-t with a common correlation."""
    if correlation is None:
        return student.critical(alpha / family, df)
    matrix = np.full((family, family), correlation)
    np.fill_diagonal(matrix, 1.0)
    return student.max_t_critical(alpha, matrix, df)


def blocks_to_settle(
    sd: float, effect: float, family: int, alpha: float, *, cells: int, size: float, power: float
) -> int | None:
    """The fewest blocks whose minimal detectable effect is at most ``effect``.

    Uses the first step of Holm, so that the number holds for the contrast that is hardest to claim.

    Returns:
        The number of blocks, or None beyond ``MOST_BLOCKS``.
    """

    def enough(blocks: int) -> bool:
        df = (cells - 1) * (blocks - 1)
        noncentrality = effect / (sd * math.sqrt(size / blocks))
        return student.power(noncentrality, df, student.critical(alpha / family, df)) >= power

    return fewest_blocks(enough)


def fewest_blocks(enough: Callable[[int], bool], most: int = MOST_BLOCKS) -> int | None:
    """The fewest blocks, at least 2, that are enough where more always are; None beyond ``most``."""
    low, high = 1, 2
    while not enough(high):
        if high >= most:
            return None
        low, high = high, min(most, high * 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
