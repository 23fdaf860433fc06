"""The exact error stratum: by hand, by least squares, and against lme4."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise_stats import student
from equipoise_stats.balanced import balanced_reml
from equipoise_stats.decomposition import correlation
from equipoise_stats.equivalence import tost_p
from equipoise_stats.multiplicity import holm, step_down_max_t
from equipoise_stats.stratum import Stratum, fit_stratum

DATA = Path(__file__).parent / "data"
RULES = ("uniform", "gae", "vineppo", "prm", "attn", "shapley", "lasttok")


def run_means(arms: tuple[str, ...]) -> tuple[list[tuple[str, str]], Stratum]:
    with (DATA / "syn1_runmeans.csv").open() as file:
        rows = list(csv.DictReader(file))
    seeds = sorted({row["seed"] for row in rows})
    scores = {(row["rule"], row["arm"], row["seed"]): float(row["score"]) for row in rows}
    cells = [(rule, arm) for arm in arms for rule in RULES]
    return cells, fit_stratum(np.array([[scores[(*cell, seed)] for seed in seeds] for cell in cells]))


def machines() -> Stratum:
    with (DATA / "Machines.csv").open() as file:
        rows = list(csv.DictReader(file))
    y = [
        [
            np.mean([float(r["score"]) for r in rows if (r["Machine"], r["Worker"]) == (machine, worker)])
            for worker in sorted({r["Worker"] for r in rows})
        ]
        for machine in "ABC"
    ]
    return fit_stratum(np.array(y))


def test_a_layout_of_two_cells_and_three_blocks_worked_by_hand() -> None:
    # rows: cells; columns: blocks. Grand mean 4, cell means 3 and 5, block means 2, 4, 6.
    # residuals: row one 1-3-2+4 = 0, 4-3-4+4 = 1, 4-3-6+4 = -1; row two the negatives. SS = 4, df = 2.
    fit = fit_stratum(np.array([[1.0, 4.0, 4.0], [3.0, 4.0, 8.0]]))
    assert fit.means.tolist() == [3.0, 5.0]
    assert float(fit.ms_error) == pytest.approx(2.0)
    assert fit.df_error == 2
    # SS blocks = 2 * (4 + 0 + 4) = 16 on 2 df; variance between blocks = (8 - 2) / 2
    assert float(fit.ms_block) == pytest.approx(8.0)
    assert float(fit.block_variance) == pytest.approx(3.0)
    # SE of a difference = sqrt(2 * 2 / 3)
    assert float(fit.standard_error(np.array([1.0, -1.0]))[0]) == pytest.approx(np.sqrt(4 / 3))


def test_the_stratum_equals_a_two_way_least_squares_fit() -> None:
    from statsmodels.regression.linear_model import OLS

    y = np.random.default_rng(3).normal(0.5, 0.1, (5, 4))
    cells, blocks = y.shape
    design = np.hstack(
        [np.kron(np.eye(cells), np.ones((blocks, 1))), np.tile(np.eye(blocks)[:, 1:], (cells, 1))]
    )
    fit = OLS(y.ravel(), design).fit()
    ours = fit_stratum(y)
    vector = np.array([1.0, -1.0, -1.0, 1.0, 0.0])
    test = fit.t_test(np.concatenate([vector, np.zeros(blocks - 1)]))
    assert ours.df_error == fit.df_resid
    assert float(ours.ms_error) == pytest.approx(fit.mse_resid, rel=1e-12)
    assert float(ours.estimate(vector)[0]) == pytest.approx(float(np.squeeze(test.effect)), rel=1e-10)
    assert float(ours.standard_error(vector)[0]) == pytest.approx(float(np.squeeze(test.sd)), rel=1e-10)


def test_a_batch_of_layouts_is_fitted_like_each_alone() -> None:
    y = np.random.default_rng(4).normal(size=(3, 4, 5))
    batch = fit_stratum(y)
    for i in range(3):
        assert float(batch.ms_error[i]) == pytest.approx(float(fit_stratum(y[i]).ms_error), rel=1e-12)


def test_machines_contrasts_and_means_equal_lme4(truth: dict[str, Any]) -> None:
    fit = machines()
    vectors = np.array([[1.0, -1.0, 0.0], [1.0, 0.0, -1.0], [0.0, 1.0, -1.0]])
    t = fit.estimate(vectors) / fit.standard_error(vectors)
    tukey = [student.max_t_p(abs(float(v)), correlation(PAIRS), fit.df_error) for v in t]
    for i, row in enumerate(truth["Machines"]["pairs"]):
        assert float(fit.estimate(vectors)[i]) == pytest.approx(row["estimate"], rel=1e-10)
        assert float(fit.standard_error(vectors)[i]) == pytest.approx(row["SE"], rel=1e-6)
        assert fit.df_error == pytest.approx(row["df"], rel=1e-6)
        assert tukey[i] == pytest.approx(row["p.value"], abs=2e-3)
    se = np.sqrt(np.diag(fit.covariance()))
    for i, row in enumerate(truth["Machines"]["emmeans"]):
        assert se[i] == pytest.approx(row["SE"], rel=1e-6)


PAIRS = ({("A", ""): 1, ("B", ""): -1}, {("A", ""): 1, ("C", ""): -1}, {("B", ""): 1, ("C", ""): -1})


def test_run_means_give_the_estimates_of_the_row_level_model(truth: dict[str, Any]) -> None:
    cells, fit = run_means(("matched", "native"))
    means = dict(zip(cells, fit.means.tolist(), strict=True))
    for row in truth["syn1"]["means"]:
        assert means[row["rule"], row["arm"]] == pytest.approx(row["emmean"], rel=1e-9)
    for row in truth["syn1"]["contrasts"]:
        rule = row["contrast"].split(" - ")[0]
        gap = means[rule, row["arm"]] - means["uniform", row["arm"]]
        assert gap == pytest.approx(row["estimate"], abs=1e-10)
    for row in truth["syn1"]["did"]:
        rule = row["rule_trt.vs.ctrl1"].split(" - ")[0]
        volume = means[rule, "native"] - means[rule, "matched"] - means["uniform", "native"]
        assert volume + means["uniform", "matched"] == pytest.approx(row["estimate"], abs=1e-10)


def test_lme4_pools_blocks_into_the_error_where_their_variance_is_zero_and_the_stratum_does_not(
    truth: dict[str, Any],
) -> None:
    _, fit = run_means(("matched", "native"))
    reml = balanced_reml(fit)
    assert reml.boundary
    assert reml.block_variance == 0.0
    assert reml.loglik == pytest.approx(truth["syn1"]["loglik"], abs=1e-6)
    pooled = np.sqrt(2 * reml.error_variance / fit.blocks)
    assert pooled == pytest.approx(truth["syn1"]["contrasts"][0]["SE"], rel=1e-6)
    assert fit.df_error == 117
    assert truth["syn1"]["contrasts"][0]["df"] == pytest.approx(126, rel=1e-6)
    assert float(fit.ms_error) > reml.error_variance


def test_adjusted_p_values_and_equivalence_equal_emmeans(truth: dict[str, Any]) -> None:
    table = truth["syn1"]["matched"]
    t = np.array([row["t.ratio"] for row in table["none"]])
    df = 63.0
    shared = np.full((6, 6), 0.5) + 0.5 * np.eye(6)
    single = [student.max_t_p(abs(float(v)), shared, df) for v in t]
    assert np.allclose(student.two_sided_p(t, df), [row["p.value"] for row in table["none"]], atol=1e-9)
    expected = [row["p.value"] for row in table["holm"]]
    assert np.allclose(holm(student.two_sided_p(t, df)), expected, atol=1e-8)
    assert np.allclose(single, [row["p.value"] for row in table["mvt"]], atol=2e-3)
    estimates, se = (np.array([row[name] for row in table["none"]]) for name in ("estimate", "SE"))
    expected = [row["p.value"] for row in table["tost"]]
    assert np.allclose(tost_p(estimates, se, df, table["tost_delta"]), expected, atol=1e-8)
    stepped = step_down_max_t(t, shared, df)
    assert (stepped <= np.array(single) + 1e-12).all()
    assert stepped[np.argmax(np.abs(t))] == pytest.approx(min(single), abs=1e-12)
