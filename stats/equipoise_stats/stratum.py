"""The exact error stratum of a balanced layout: cells by blocks, and nothing pooled into the error.

Model: y_cs = mu_c + b_s + e_cs with e ~ N(0, sigma^2), blocks fixed. The mean square of cell:block
estimates sigma^2 with (C - 1)(S - 1) degrees of freedom; contrasts of cell means have exact t tests
whatever the blocks are. (Fisher's randomised complete blocks; Cochran & Cox, *Experimental Designs*, 4.2.)
With K > 1 twins averaged in a block the twin cells have another variance, and the stratum is approximate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

# Scores lie in [0, 1]: a mean square below the square of their rounding error is no variation at all.
NO_VARIATION = 1e-24


@dataclass(frozen=True)
class Stratum:
    """Mean squares of one layout, or of a batch of layouts along leading axes.

    Attributes:
        means: (..., C) cell means over blocks.
        ms_error: (...) mean square of cell:block, in squared success rates.
        ms_block: (...) mean square of blocks.
        cells: C.
        blocks: S.
    """

    means: FloatArray
    ms_error: FloatArray
    ms_block: FloatArray
    cells: int
    blocks: int

    @property
    def df_error(self) -> int:
        """Degrees of freedom of the error: (C - 1)(S - 1)."""
        return (self.cells - 1) * (self.blocks - 1)

    @property
    def df_block(self) -> int:
        """Degrees of freedom of blocks: S - 1."""
        return self.blocks - 1

    @property
    def block_variance(self) -> FloatArray:
        """Variance between blocks, (MS block - MS error) / C, not cut at zero."""
        return (self.ms_block - self.ms_error) / self.cells

    def estimate(self, coefficients: FloatArray) -> FloatArray:
        """Contrasts of cell means: (..., C) with (m, C) gives (..., m)."""
        return self.means @ np.atleast_2d(coefficients).T

    def standard_error(self, coefficients: FloatArray) -> FloatArray:
        """Standard errors sqrt(MS error * sum(c^2) / S), (..., m); coefficients must sum to zero."""
        size = np.square(np.atleast_2d(coefficients)).sum(axis=1)
        return np.asarray(np.sqrt(self.ms_error[..., None] * size / self.blocks), dtype=np.float64)

    def covariance(self) -> FloatArray:
        """(C, C) covariance of one layout's cell means, blocks random: (MS error I + block variance) / S."""
        own = np.eye(self.cells) * float(self.ms_error)
        return np.asarray((own + float(self.block_variance)) / self.blocks, dtype=np.float64)


def fit_stratum(y: FloatArray) -> Stratum:
    """Split the variation of (..., C, S) scores into cells, blocks and cell:block.

    Args:
        y: success rates of C >= 2 cells in S >= 2 blocks; leading axes are a batch of layouts.
    """
    cells, blocks = y.shape[-2:]
    grand = y.mean(axis=(-2, -1))
    means = y.mean(axis=-1)
    block_means = y.mean(axis=-2)
    residuals = y - means[..., :, None] - block_means[..., None, :] + grand[..., None, None]
    ms_error = np.square(residuals).sum(axis=(-2, -1)) / ((cells - 1) * (blocks - 1))
    ms_block = cells * np.square(block_means - grand[..., None]).sum(axis=-1) / (blocks - 1)
    return Stratum(means, ms_error, ms_block, cells, blocks)
