"""Figures of contrasts in a batch of suites, under the pooled stratum and under pairs within blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise_stats import equivalence, student
from equipoise_stats.stratum import NO_VARIATION, Stratum, fit_stratum

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Figures:
    """(N, m) figures of m contrasts in N suites under one analysis."""

    estimate: FloatArray
    se: FloatArray
    df: int

    @property
    def t(self) -> FloatArray:
        """Statistics of the t tests; 0 where nothing varies, and so nothing is tested."""
        return np.asarray(np.where(self.varies, self.estimate / self._positive, 0.0), dtype=np.float64)

    @property
    def varies(self) -> npt.NDArray[np.bool_]:
        """Where there is an error to test with."""
        return np.asarray(np.square(self.se) >= NO_VARIATION, dtype=np.bool_)

    @property
    def _positive(self) -> FloatArray:
        return np.asarray(np.where(self.varies, self.se, 1.0), dtype=np.float64)

    @property
    def p(self) -> FloatArray:
        """Two-sided p values."""
        return student.two_sided_p(self.t, self.df)

    def tost(self, margin: float) -> FloatArray:
        """Twice the p values of the two one-sided tests, to be held against twice their level."""
        p = equivalence.tost_p(self.estimate, self._positive, self.df, margin)
        return np.asarray(np.where(self.varies, 2.0 * p, 2.0), dtype=np.float64)


@dataclass(frozen=True)
class Look:
    """(N, C, S) scores at one look, and their analysis of variance."""

    y: FloatArray
    stratum: Stratum

    def in_stratum(self, vectors: FloatArray) -> Figures:
        """(m, C) contrasts with the pooled error of the layout."""
        fit = self.stratum
        return Figures(fit.estimate(vectors), fit.standard_error(vectors), fit.df_error)

    def paired(self, vectors: FloatArray) -> Figures:
        """The same by t tests of their values within blocks."""
        blocks = self.y.shape[-1]
        differences = vectors @ self.y
        estimate = differences.mean(axis=-1)
        squares = np.square(differences - estimate[..., None]).sum(axis=-1)
        return Figures(estimate, np.sqrt(squares / ((blocks - 1) * blocks)), blocks - 1)


def look_at(y: FloatArray) -> Look:
    """The scores with their stratum, which all families share."""
    return Look(y, fit_stratum(y))
