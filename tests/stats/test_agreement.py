"""Where both analyses must agree, the weaker one decides."""

from __future__ import annotations

import pytest

from equipoise_stats import student
from equipoise_stats.families import Adjusted, Evidence, Level, agree
from equipoise_stats.judging import agreement_factor
from equipoise_stats.results import Estimate

LEVEL = Level(0.05, 0.05)
POOLED = Adjusted(0.01, 0.20, 0.05, (0.02, 0.10), 0.001, 0.0005)


def paired(p: float, tost_p: float = 0.04) -> Evidence:
    return Evidence(Estimate(0.06, 0.01, 4.0, 6.0, p, (0.03, 0.09)), p, tost_p, 0.0001)


def test_the_p_value_is_the_larger_of_the_pooled_one_and_a_multiple_of_the_paired_one() -> None:
    found = agree({"a": POOLED, "b": POOLED}, {"a": paired(0.02), "b": paired(0.002)}, LEVEL, 2)
    assert (found["a"].p, found["b"].p) == (0.04, 0.01)
    assert (found["a"].tost_p, found["a"].tost_p_alone) == (0.20, 0.04)
    assert (found["a"].noninferior_p, found["a"].noninferior_p_alone) == (0.001, 0.0001)


def test_the_interval_holds_that_of_both() -> None:
    found = agree({"a": POOLED}, {"a": paired(0.02)}, LEVEL, 2)["a"]
    half = 0.01 * student.critical(0.025, 4.0)
    assert found.ci_simultaneous == pytest.approx((min(0.02, 0.06 - half), max(0.10, 0.06 + half)))


def test_a_contrast_without_pairs_is_not_claimed() -> None:
    assert agree({"a": POOLED}, {}, LEVEL, 2) == {}


def test_a_p_value_is_at_most_one() -> None:
    assert agree({"a": POOLED}, {"a": paired(0.6)}, LEVEL, 3)["a"].p == 1.0


@pytest.mark.parametrize(
    ("members", "factor"), [(1, 1), (2, 2), (3, 3), (4, 3), (5, 3), (6, 3.5), (12, 6.5), (22, 11.5)]
)
def test_pairs_pay_for_half_of_their_family(members: int, factor: float) -> None:
    assert agreement_factor(members) == factor
