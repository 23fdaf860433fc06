"""How often each claim is made where there is nothing to claim: at most the level."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from equipoise_stats import student
from equipoise_stats.decomposition import CONTENT, KINDS, contrast, correlation, family
from equipoise_stats.equivalence import tost_p
from equipoise_stats.multiplicity import holm
from equipoise_stats.records import Question
from equipoise_stats.stratum import fit_stratum
from equipoise_stats.swap import swap_null

FloatArray = npt.NDArray[np.float64]
SETS = 4_000
NAMES = ("base", *(f"rule{i}" for i in range(6)))
QUESTION = Question("base", NAMES, identical=frozenset({"base"}))
CELLS = [(c, a) for c in NAMES for a in ("native", "matched", "twin") if (c, a) != ("base", "twin")]
# A count of false claims may exceed 5 % of the sets by this much in one of a thousand honest runs.
MOST = int(stats.binom.ppf(0.999, SETS, 0.05))
LEAST = int(stats.binom.ppf(0.001, SETS, 0.05))


def null_scores(blocks: int, seed: int) -> FloatArray:
    """Runs with SD .037 in blocks with SD .015, the same mean in every cell."""
    rng = np.random.default_rng(seed)
    runs = 0.037 * rng.standard_normal((SETS, len(CELLS), blocks))
    return 0.5 + runs + 0.015 * rng.standard_normal((SETS, 1, blocks))


def vectors(kind: str) -> FloatArray:
    named = [contrast(c, kind, QUESTION) for c in family(kind, QUESTION)]
    return np.array([[float(vector.get(cell, 0)) for cell in CELLS] for vector in named])


@pytest.mark.parametrize("blocks", [5, 10])
@pytest.mark.parametrize("kind", KINDS)
def test_false_claims_of_the_exact_stratum(kind: str, blocks: int) -> None:
    fit = fit_stratum(null_scores(blocks, seed=blocks))
    t = fit.estimate(vectors(kind)) / fit.standard_error(vectors(kind))
    p = student.two_sided_p(t, fit.df_error)
    assert LEAST <= int((p[:, 0] <= 0.05).sum()) <= MOST
    assert int((holm(p) <= 0.05).any(axis=1).sum()) <= MOST
    shared = correlation([contrast(c, kind, QUESTION) for c in family(kind, QUESTION)])
    c = student.max_t_critical(0.05, shared, fit.df_error)
    assert LEAST <= int((np.abs(t).max(axis=1) > c).sum()) <= MOST


@pytest.mark.parametrize("blocks", [5, 10])
def test_false_claims_of_the_paired_analysis_with_two_twins_and_one_noisy_rule(blocks: int) -> None:
    rng = np.random.default_rng(20 + blocks)
    spread = np.array([0.037, 0.037, 0.037, 0.037, 0.037, 0.11])[:, None]
    rule = spread * rng.standard_normal((SETS, 6, blocks))
    twins = spread / np.sqrt(2) * rng.standard_normal((SETS, 6, blocks))
    gaps = rule - twins
    t = gaps.mean(axis=-1) / (gaps.std(axis=-1, ddof=1) / np.sqrt(blocks))
    p = student.two_sided_p(t, blocks - 1)
    assert LEAST <= int((p[:, 5] <= 0.05).sum()) <= MOST
    assert int((holm(p) <= 0.05).any(axis=1).sum()) <= MOST


@pytest.mark.parametrize("blocks", [5, 10])
def test_false_equivalence_at_the_margin(blocks: int) -> None:
    y = null_scores(blocks, seed=40 + blocks)
    y[:, CELLS.index(("rule0", "matched"))] += 0.05
    fit = fit_stratum(y)
    content = vectors(CONTENT)[:1]
    p = tost_p(fit.estimate(content), fit.standard_error(content), fit.df_error, 0.05)
    assert int((p <= 0.05).sum()) <= MOST


def test_false_claims_of_the_swap_of_rule_and_two_twins() -> None:
    rng = np.random.default_rng(60)
    sets = 1_000
    scores = rng.exponential(size=(sets, 5, 3))  # skewed, as the test allows
    nulls = [swap_null(s[:, 0], s[:, 1:]) for s in scores]
    false = sum(null.p_at(null.observed) <= 0.05 for null in nulls)
    assert false <= int(stats.binom.ppf(0.999, sets, 0.05))


def test_a_native_comparison_claims_volume_as_a_better_rule_and_content_does_not() -> None:
    blocks, sets = 5, 500
    y = null_scores(blocks, seed=70)[:sets]
    for i, volume in enumerate(np.geomspace(1, 10, 7)):
        y[:, CELLS.index((NAMES[i], "native"))] += 0.04 * np.log(volume)
    native = [y[:, CELLS.index((c, "native"))] for c in NAMES]
    p = np.stack([stats.ttest_ind(n, native[0], axis=1, equal_var=False).pvalue for n in native[1:]], axis=1)
    better = np.stack([n.mean(axis=1) > native[0].mean(axis=1) for n in native[1:]], axis=1)
    assert ((p <= 0.05) & better).any(axis=1).mean() > 0.85
    fit = fit_stratum(y)
    content = student.two_sided_p(
        fit.estimate(vectors(CONTENT)) / fit.standard_error(vectors(CONTENT)), fit.df_error
    )
    assert (holm(content) <= 0.05).any(axis=1).mean() < 0.08
