"""Hold the exact analysis against a second engine, statsmodels' MixedLM, and say where they part."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise_stats.balanced import BalancedReml, balanced_reml
from equipoise_stats.layout import Layout
from equipoise_stats.results import CrossCheck
from equipoise_stats.stratum import NO_VARIATION, Stratum

FloatArray = npt.NDArray[np.float64]

PEER = "statsmodels MixedLM, powell"
LOGLIK_TOLERANCE = 1e-3
COEFFICIENT_TOLERANCE = 1e-3  # in standard errors
SE_TOLERANCE = 1e-2  # relative
# A block variance below this share of the error variance is at the boundary for the peer's Hessian.
INTERIOR = 1e-3


@dataclass(frozen=True)
class PeerFit:
    """What the second engine says of the run means.

    Attributes:
        coefficients: (C,) cell means.
        covariance: (C, C) of the cell means.
        loglik: restricted log-likelihood.
        block_variance: its estimate.
        converged: its own flag.
        warnings: its warnings as text.
    """

    coefficients: FloatArray
    covariance: FloatArray
    loglik: float
    block_variance: float
    converged: bool
    warnings: tuple[str, ...] = ()


def cross_check(layout: Layout, stratum: Stratum | None) -> CrossCheck:
    """Fit the run means by MixedLM and compare.

    Args:
        layout: the balanced table.
        stratum: its analysis of variance; None where there is none.
    """
    if stratum is None:
        return CrossCheck("not comparable", ("the layout leaves no error to estimate",), PEER)
    if float(stratum.ms_error) < NO_VARIATION:
        return CrossCheck("not comparable", ("nothing varies between runs, so there is no likelihood",), PEER)
    fit = fit_peer(layout.y)
    if isinstance(fit, str):
        return CrossCheck("not comparable", (fit,), PEER)
    return compare(stratum, balanced_reml(stratum), fit)


def fit_peer(y: FloatArray) -> PeerFit | str:
    """MixedLM(y ~ 0 + C(cell), groups=block) by Powell's method on (C, S) run means.

    Returns:
        The fit, or one sentence where the library raised.
    """
    from statsmodels.regression.mixed_linear_model import MixedLM

    cells, blocks = y.shape
    design = np.tile(np.eye(cells), (blocks, 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit = MixedLM(y.T.ravel(), design, groups=np.repeat(np.arange(blocks), cells)).fit(
                reml=True, method="powell"
            )
            covariance = np.asarray(fit.cov_params(), dtype=np.float64)[:cells, :cells]
        except (np.linalg.LinAlgError, ValueError) as error:
            return f"statsmodels raised {type(error).__name__}: {error}"
    return PeerFit(
        np.asarray(fit.fe_params, dtype=np.float64),
        covariance,
        float(fit.llf),
        float(np.asarray(fit.cov_re)[0, 0]),
        bool(fit.converged),
        said(caught),
    )


def said(caught: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    """Caught warnings as text, each once, in order."""
    return tuple(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught))


def compare(stratum: Stratum, own: BalancedReml, peer: PeerFit) -> CrossCheck:
    """Compare the closed form with a fit of the peer.

    Checked: log-likelihoods, coefficients in units of a standard error, no coefficient of exactly 0.0
    (statsmodels issue 10239 returns such with its flag of convergence set), and standard errors of
    differences where the block variance is clear of 0: at 0 the peer's joint Hessian means nothing.
    """
    sentences: list[str] = []
    loglik_gap = abs(peer.loglik - own.loglik)
    if not loglik_gap < LOGLIK_TOLERANCE:
        sentences.append(
            f"log-likelihoods differ by {loglik_gap:.3g}: own {own.loglik:.6f}, peer {peer.loglik:.6f}"
        )
    se_unit = float(np.sqrt(own.error_variance / stratum.blocks))
    gaps = np.abs(peer.coefficients - stratum.means) / se_unit
    coefficient_gap = float(np.max(gaps))
    if not coefficient_gap < COEFFICIENT_TOLERANCE:
        sentences.append(f"cell means differ by up to {coefficient_gap:.3g} standard errors")
    zeros = int(np.sum((peer.coefficients == 0.0) & (np.abs(stratum.means) > NO_VARIATION)))
    if zeros:
        sentences.append(f"the peer returned exactly 0.0 for {zeros} of {peer.coefficients.size} cell means")
    if not peer.converged:
        sentences.append("the peer did not converge")
    se_gap, remark = _se_gap(stratum, own, peer)
    if se_gap is not None and not se_gap < SE_TOLERANCE:
        sentences.append(f"standard errors of differences part by up to {se_gap:.2%}")
    flag = "disagree" if sentences else "agree"
    if not sentences:
        sentences.append("log-likelihood and cell means agree")
    return CrossCheck(
        flag,
        (*sentences, remark),
        PEER,
        own.loglik,
        peer.loglik,
        coefficient_gap,
        se_gap,
        own.block_variance,
        peer.block_variance,
        peer.converged,
        peer.warnings,
    )


def _se_gap(stratum: Stratum, own: BalancedReml, peer: PeerFit) -> tuple[float | None, str]:
    if own.boundary or min(own.block_variance, peer.block_variance) < INTERIOR * own.error_variance:
        return None, "standard errors were not compared: the block variance is at or near 0"
    differences = np.eye(stratum.cells)[1:] - np.eye(stratum.cells)[:1]
    theirs = np.sqrt(np.einsum("ij,jk,ik->i", differences, peer.covariance, differences))
    ours = stratum.standard_error(differences)
    gap = float(np.max(np.abs(theirs / ours - 1.0)))
    return gap, f"standard errors of {len(ours)} differences were compared"
