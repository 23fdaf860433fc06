"""Minimal detectable effects against the published table of the design."""

from __future__ import annotations

import pytest

from equipoise_stats import StatsError, blocks_to_settle, planned_mde

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
