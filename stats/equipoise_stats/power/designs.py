"""Power of a balanced design under each primary analysis, by integration over the estimates of its error.

A contrast is claimed where its estimate lies beyond a threshold: critical value times standard error, or the
larger of two such products where the pooled and the paired analysis must agree. The estimate is normal and
independent of the threshold. The mean square of the contrast's own pairs has S - 1 degrees of freedom and is
one part of the pooled error; the rest has (C - 2)(S - 1) and is independent of it (Cochran's theorem).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from equipoise_stats import student
from equipoise_stats.errors import StatsError
from equipoise_stats.power.closed import fewest_blocks

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Design:
    """What decides the power of one contrast.

    Attributes:
        sd: of a run's score within its block, in success rate.
        blocks: S.
        size: sum of squared coefficients of the contrast.
        cells: C of the pooled error; 2 leaves the pairs alone.
        pooled: level (two-sided) that the pooled analysis is held to; None where it does not decide.
        paired: level (two-sided) that the paired analysis is held to; None where it does not decide.
        pooled_critical: the pooled |t| that is claimed, in the place of ``pooled``, as for a largest t.
    """

    sd: float
    blocks: int
    size: float = 2.0
    cells: int = 2
    pooled: float | None = None
    paired: float | None = None
    pooled_critical: float | None = None

    def __post_init__(self) -> None:
        faults = [] if self.blocks >= 2 else [f"blocks: expected at least 2, got {self.blocks}"]
        faults += [] if self.cells >= 2 else [f"cells: expected at least 2, got {self.cells}"]
        faults += [] if math.isfinite(self.sd) and self.sd > 0 else [f"sd: expected above 0, got {self.sd}"]
        if self.pooled is None and self.paired is None and self.pooled_critical is None:
            faults.append("levels: expected one of the pooled and the paired analysis, got neither")
        if faults:
            raise StatsError(faults)

    @property
    def se(self) -> float:
        """The true standard error of the contrast."""
        return self.sd * math.sqrt(self.size / self.blocks)

    def thresholds(self) -> tuple[FloatArray, FloatArray]:
        """Thresholds in true standard errors, and their weights."""
        own_df, whole_df = self.blocks - 1, (self.cells - 1) * (self.blocks - 1)
        c0 = self.pooled_critical
        if c0 is None and self.pooled is not None:
            c0 = student.critical(self.pooled, whole_df)
        c1 = None if self.paired is None else student.critical(self.paired, own_df)
        if c1 is None or c0 is None or self.cells == 2:
            value, df = (c0, whole_df) if c1 is None else (c1, own_df)
            if c0 is not None and c1 is not None:
                value = max(c0, c1)  # with two cells both analyses are one
            assert value is not None
            s, weights = student.chi_scale(df)
            return value * s, weights
        own, own_weights = student.chi_scale(own_df)
        rest, rest_weights = student.chi_scale(whole_df - own_df)
        share = own_df / whole_df
        whole = np.sqrt(share * np.square(own)[:, None] + (1.0 - share) * np.square(rest)[None, :])
        thresholds = np.maximum(c0 * whole, c1 * own[:, None])
        return thresholds.ravel(), np.outer(own_weights, rest_weights).ravel()


def power(design: Design, effect: float) -> float:
    """The chance that a contrast with this true value is claimed, in either direction."""
    thresholds, weights = design.thresholds()
    shift = effect / design.se
    return float(weights @ (ndtr(shift - thresholds) + ndtr(-shift - thresholds)))


def blocks_for_power(design: Design, effect: float, wanted: float) -> int | None:
    """The fewest blocks with which an effect is claimed with the wanted power, other things being equal."""
    return fewest_blocks(lambda blocks: power(replace(design, blocks=blocks), effect) >= wanted)


def tost_power(design: Design, margin: float, effect: float = 0.0) -> float:
    """The chance that a contrast is called equivalent.

    Args:
        design: with twice the one-sided levels as its levels.
        margin: the smallest effect.
        effect: the true value of the contrast.
    """
    thresholds, weights = design.thresholds()
    shift = effect / design.se
    room = np.maximum(margin / design.se - thresholds, 0.0)
    return float(weights @ (ndtr(room - shift) - ndtr(-room - shift)))


def mde(design: Design, wanted: float = 0.8) -> float:
    """The smallest true value that is claimed with the wanted power."""
    from scipy.optimize import brentq

    high = design.se * 4.0
    while power(design, high) < wanted:
        high *= 2.0
    return float(brentq(lambda effect: power(design, effect) - wanted, 0.0, high, xtol=1e-9))
