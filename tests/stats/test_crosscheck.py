"""The second engine agrees on honest fits and is caught on broken ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equipoise_stats.balanced import balanced_reml
from equipoise_stats.crosscheck import PeerFit, compare, fit_peer
from equipoise_stats.stratum import Stratum, fit_stratum


def layout(block_sd: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    rng = np.random.default_rng(12)
    return 0.5 + block_sd * rng.standard_normal((1, 6)) + 0.03 * rng.standard_normal((5, 6))


def honest(block_sd: float) -> tuple[Stratum, PeerFit]:
    peer = fit_peer(layout(block_sd))
    assert isinstance(peer, PeerFit)
    return fit_stratum(layout(block_sd)), peer


def test_an_interior_fit_agrees_in_likelihood_means_and_standard_errors() -> None:
    stratum, peer = honest(0.08)
    found = compare(stratum, balanced_reml(stratum), peer)
    assert found.flag == "agree"
    assert found.largest_se_gap is not None
    assert found.largest_se_gap < 1e-3


def test_at_the_boundary_likelihood_and_means_agree_and_standard_errors_are_not_compared() -> None:
    y = layout(0.0)
    y -= y.mean(axis=0, keepdims=True)  # no difference between blocks at all
    peer = fit_peer(y + 0.5)
    assert isinstance(peer, PeerFit)
    stratum = fit_stratum(y + 0.5)
    found = compare(stratum, balanced_reml(stratum), peer)
    assert found.flag == "agree"
    assert found.largest_se_gap is None
    assert "standard errors were not compared: the block variance is at or near 0" in found.sentences


def test_means_returned_as_exactly_zero_with_the_flag_of_convergence_are_caught() -> None:
    stratum, peer = honest(0.08)
    broken = replace(peer, coefficients=np.zeros_like(peer.coefficients), converged=True)
    found = compare(stratum, balanced_reml(stratum), broken)
    assert found.flag == "disagree"
    assert "the peer returned exactly 0.0 for 5 of 5 cell means" in found.sentences


def test_a_mean_that_is_truly_zero_is_no_fault() -> None:
    y = layout(0.08)
    y[2] = 0.0
    stratum = fit_stratum(y)
    peer = PeerFit(stratum.means.copy(), np.eye(5), balanced_reml(stratum).loglik, 0.0, converged=True)
    found = compare(stratum, balanced_reml(stratum), peer)
    assert not any("exactly 0.0" in sentence for sentence in found.sentences)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"loglik": -5.0}, "log-likelihoods differ"),
        ({"loglik": float("nan")}, "log-likelihoods differ"),
        ({"converged": False}, "did not converge"),
        ({"covariance": np.eye(5)}, "standard errors of differences part"),
    ],
)
def test_every_kind_of_disagreement_is_said(change: dict[str, object], sentence: str) -> None:
    stratum, peer = honest(0.08)
    found = compare(stratum, balanced_reml(stratum), replace(peer, **change))  # type: ignore[arg-type]
    assert found.flag == "disagree"
    assert any(sentence in said for said in found.sentences)


def test_the_closed_form_likelihood_is_an_optimum_of_the_dense_likelihood() -> None:
    y = layout(0.08)
    stratum = fit_stratum(y)
    reml = balanced_reml(stratum)

    def dense(error: float, block: float) -> float:
        v = np.kron(np.eye(6), error * np.eye(5) + block)
        x, flat = np.tile(np.eye(5), (6, 1)), y.T.ravel()
        vi = np.linalg.inv(v)
        xtvx = x.T @ vi @ x
        r = flat - x @ np.linalg.solve(xtvx, x.T @ vi @ flat)
        logs = np.linalg.slogdet(v)[1] + np.linalg.slogdet(xtvx)[1]
        return float(-0.5 * ((30 - 5) * np.log(2 * np.pi) + logs + r @ vi @ r))

    at = dense(reml.error_variance, reml.block_variance)
    assert at == pytest.approx(reml.loglik, abs=1e-9)
    for factor in (0.9, 1.1):
        assert dense(reml.error_variance * factor, reml.block_variance) < at
        assert dense(reml.error_variance, reml.block_variance * factor) < at
