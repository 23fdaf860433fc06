"""REML of a balanced layout with random blocks, in closed form: the reference for the second engine.

Model: y_cs = mu_c + b_s + e_cs, b ~ N(0, block variance), e ~ N(0, error variance). With
lambda = error + C * block, and SS the sums of squares of the two-way analysis of variance::

    -2 loglik = (CS - C) log 2pi + C log S + (S - 1)[(C - 1) log error + log lambda]
                + SS_error / error + SS_block / lambda

(Searle, Casella & McCulloch, *Variance Components*, 4.8, written for cell means.) The optimum is
error = MS error, lambda = MS block, or both pooled where MS block < MS error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise_stats.stratum import Stratum


@dataclass(frozen=True)
class BalancedReml:
    """The optimum: variances, restricted log-likelihood, and whether the block variance is at 0."""

    error_variance: float
    block_variance: float
    loglik: float
    boundary: bool


def balanced_reml(stratum: Stratum) -> BalancedReml:
    """The REML optimum of one layout with MS error above 0."""
    cells, blocks = stratum.cells, stratum.blocks
    ss_error = float(stratum.ms_error) * stratum.df_error
    ss_block = float(stratum.ms_block) * stratum.df_block
    error, whole = float(stratum.ms_error), float(stratum.ms_block)
    boundary = whole <= error
    if boundary:
        error = whole = (ss_error + ss_block) / (stratum.df_error + stratum.df_block)
    minus_two = (
        cells * (blocks - 1) * math.log(2 * math.pi)
        + cells * math.log(blocks)
        + (blocks - 1) * ((cells - 1) * math.log(error) + math.log(whole))
        + ss_error / error
        + ss_block / whole
    )
    return BalancedReml(error, (whole - error) / cells, -0.5 * minus_two, boundary)
