from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason

RULE = RULES["opo"]


def test_longer_trajectories_weigh_more_in_the_baseline(batch: Any) -> None:
    # Lengths 1, 5 and 3 in tokens: (0.5 - 6.25 + 6) / 9 = 1/36.
    t = batch(outcome=[0.5, -1.25, 2], lengths=[1, 2, 1], token_offsets=[0, 1, 3, 6, 9])
    np.testing.assert_allclose(RULE.apply(t, Context()).value, np.array([0.5, -1.25, 2]) - 1 / 36)


def test_credit_sums_to_zero_over_tokens_and_not_over_trajectories(batch: Any) -> None:
    t = batch(outcome=[1, 0, 0], lengths=[3, 1, 1])
    value = RULE.apply(t, Context()).value
    assert value @ np.array([3, 1, 1]) == pytest.approx(0.0)
    assert value.sum() == pytest.approx(1 - 3 * 0.6)


def test_only_tokens_in_the_loss_count(batch: Any) -> None:
    mask = np.array([True, False, False, True, True])
    t = batch(outcome=[1, 0, 4], lengths=[3, 1, 1], mask=mask)
    np.testing.assert_allclose(RULE.apply(t, Context()).value, np.array([1, 0, 4]) - 5 / 3)


def test_a_group_without_a_token_in_the_loss_has_no_credit(batch: Any) -> None:
    t = batch(outcome=[1, 0, 3], lengths=[1] * 3, task=[0, 0, 1], mask=np.array([False, False, True]))
    credit = RULE.apply(t, Context())
    assert credit.reason.tolist() == [Reason.MASKED, Reason.MASKED, Reason.DEFINED]


@pytest.mark.parametrize(
    ("singleton", "expected"), [("zero", [0.0]), ("raw", [0.75]), ("undefined", [np.nan])]
)
def test_a_group_with_one_trajectory(batch: Any, singleton: str, expected: list[float]) -> None:
    t = batch(outcome=[0.75], lengths=[2])
    np.testing.assert_array_equal(RULE.apply(t, Context(), {"singleton": singleton}).value, expected)


def test_equal_outcomes_of_unequal_length_give_nothing(batch: Any) -> None:
    t = batch(outcome=[0.1, 0.1, 0.1], lengths=[1, 4, 2])
    assert RULE.apply(t, Context()).value.tolist() == [0.0, 0.0, 0.0]


def test_it_is_grpo_without_deviation_where_tokens_vote(forest: Any) -> None:
    t = forest(5)
    grpo = RULES["grpo"].apply(t, Context(), {"std": "none", "vote": "token"})
    assert RULE.apply(t, Context()).digest() == grpo.digest()
    assert set(grpo.counts_by_reason()) == {"DEFINED", "DROPPED"}
