"""Minimal detectable effects against the published table of the design."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise_stats import Question, StatsError, blocks_to_settle, planned_mde
from equipoise_stats.power import Design, family_critical, mde, power, tost_power
from equipoise_stats.simulate import Plan, World, power_of
from equipoise_stats.simulate.outlook import design
from equipoise_stats.stratum import fit_stratum
from equipoise_stats.student import critical

# blocks: Dunnett over 6 rules (7 cells), Holm's first step of 6 paired, one paired contrast; run SD .0374.
TABLE = {
    3: (0.119, 0.424, 0.173),
    5: (0.086, 0.146, 0.089),
    8: (0.066, 0.087, 0.061),
    10: (0.059, 0.073, 0.053),
    15: (0.047, 0.054, 0.041),
    20: (0.041, 0.045, 0.035),
    30: (0.033, 0.036, 0.028),
}


@pytest.mark.parametrize("blocks", TABLE)
def test_the_detectable_effect_is_that_of_the_table(blocks: int) -> None:
    found = (
        planned_mde(0.0374, blocks, 6, cells=7, correlation=0.5),
        planned_mde(0.0374, blocks, 6),
        planned_mde(0.0374, blocks, 1),
    )
    assert found == pytest.approx(TABLE[blocks], abs=5.5e-4)


def test_the_detectable_effect_scales_with_the_spread_and_with_the_size_of_the_contrast() -> None:
    assert planned_mde(0.02, 10, 3) == pytest.approx(2 * planned_mde(0.01, 10, 3), rel=1e-8)
    assert planned_mde(0.01, 10, 3, size=4.0) == pytest.approx(2**0.5 * planned_mde(0.01, 10, 3), rel=1e-8)


def test_the_blocks_that_settle_are_the_fewest_that_detect_the_effect() -> None:
    blocks = blocks_to_settle(0.037, 0.05, 6, 0.05, cells=13, size=2.0, power=0.8)
    assert blocks is not None
    assert planned_mde(0.037, blocks, 6, cells=13) <= 0.05 < planned_mde(0.037, blocks - 1, 6, cells=13)


def test_an_effect_out_of_reach_has_no_number_of_blocks() -> None:
    assert blocks_to_settle(1.0, 1e-4, 6, 0.05, cells=13, size=2.0, power=0.8) is None


def test_an_impossible_design_is_refused_with_all_faults() -> None:
    with pytest.raises(StatsError) as caught:
        planned_mde(0.0, 1, 0, cells=1)
    assert len(caught.value.faults) == 4


# What the design's own simulations gave: 6 rules, run SD .0372 with judging, 4,000 suites each.
POWER = {
    # analysis: by effect .03, .05, .10 the power at 5, 10, 20 blocks
    "largest t": ((0.09, 0.19, 0.47), (0.29, 0.62, 0.94), (0.92, 1.0, 1.0)),
    "paired": ((0.04, 0.12, 0.37), (0.10, 0.41, 0.90), (0.45, 0.98, 1.0)),
}
EFFECTS, BLOCKS, SETS = (0.03, 0.05, 0.10), (5, 10, 20), 4_000
CASES = [(a, e, b) for a in POWER for e in range(3) for b in range(3)]


def error(rate: float, sets: int = SETS) -> float:
    """Three Monte-Carlo standard errors of the difference of two such rates, and the table's rounding."""
    return 3 * math.sqrt(2 * max(rate * (1 - rate), 0.005) / sets) + 0.005


@pytest.mark.parametrize(("analysis", "effect", "blocks"), CASES)
def test_power_is_that_of_the_table_in_closed_form_and_by_simulation(
    analysis: str, effect: int, blocks: int
) -> None:
    engine = "paired" if analysis == "paired" else "exact-stratum"
    multiplicity = "holm" if analysis == "paired" else "step-down-max-t"
    names = ("base", *(f"rule{i}" for i in range(6)))
    question = Question(
        "base", names, identical=frozenset({"base"}), engine=engine, multiplicity=multiplicity
    )
    plan, wanted = Plan(question, BLOCKS[blocks]), POWER[analysis][effect][blocks]
    found = power_of(plan, World(), "content", EFFECTS[effect], sets=SETS, seed=100 * effect + blocks)
    assert found == pytest.approx(wanted, abs=error(wanted))
    # the first step alone, a lower bound of the whole procedure
    closed = power(design(plan, World(), "content"), EFFECTS[effect])
    assert closed == pytest.approx(wanted, abs=error(wanted) + 0.015)


@pytest.mark.parametrize(("margin", "by_blocks"), [(0.05, (0.33, 0.81, 0.99)), (0.03, (0.0, 0.12, 0.63))])
def test_the_power_of_equivalence_is_that_of_the_table(margin: float, by_blocks: tuple[float, ...]) -> None:
    for blocks, wanted in zip(BLOCKS, by_blocks, strict=True):
        found = tost_power(Design(0.0372, blocks, cells=14, pooled=0.10), margin)
        assert found == pytest.approx(wanted, abs=error(wanted))


def test_equivalence_within_three_hundredths_takes_thirty_blocks() -> None:
    found = [tost_power(Design(0.0372, blocks, cells=14, pooled=0.10), 0.03) for blocks in (30, 50)]
    assert found == pytest.approx([0.86, 0.98], abs=0.01)


@pytest.mark.parametrize("blocks", TABLE)
def test_both_closed_forms_give_the_same_detectable_effects(blocks: int) -> None:
    value = family_critical(0.05, 6, 6 * (blocks - 1), 0.5)
    found = (
        mde(Design(0.0374, blocks, cells=7, pooled_critical=value)),
        mde(Design(0.0374, blocks, paired=0.05 / 6)),
        mde(Design(0.0374, blocks, paired=0.05)),
    )
    assert found == pytest.approx(TABLE[blocks], abs=5.5e-4)


def test_power_where_both_analyses_must_agree_is_that_of_draws() -> None:
    rng, blocks, cells, sets = np.random.default_rng(5), 5, 20, 40_000
    both = Design(0.04, blocks, cells=cells, pooled=0.01, paired=0.025)
    y = 0.04 * rng.standard_normal((sets, cells, blocks))
    y[:, 0] += 0.08
    fit = fit_stratum(y)
    gaps = y[:, 0] - y[:, 1]
    pooled = gaps.mean(axis=1) / np.sqrt(2 * fit.ms_error / blocks)
    paired = gaps.mean(axis=1) / (gaps.std(axis=1, ddof=1) / math.sqrt(blocks))
    shown = (np.abs(pooled) >= critical(0.01, fit.df_error)) & (np.abs(paired) >= critical(0.025, blocks - 1))
    assert power(both, 0.08) == pytest.approx(shown.mean(), abs=3 * math.sqrt(0.25 / sets))


def test_a_design_without_a_deciding_analysis_is_refused() -> None:
    with pytest.raises(StatsError, match="levels"):
        Design(0.04, 5)
