from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason

RULE = RULES["gpg"]


@pytest.mark.parametrize(
    ("alpha", "factor"),
    [("scored", 6 / 4), ("unequal", 6 / 4), ("none", 1.0)],
)
def test_the_batch_is_scaled_up_for_what_says_nothing(batch: Any, alpha: str, factor: float) -> None:
    # Scores other than 0: four of six. Trajectories in groups with unequal scores: the first four.
    t = batch(outcome=[1, 0, 0, 1, 1, 1], lengths=[1] * 6, task=[0, 0, 0, 0, 1, 1])
    value = RULE.apply(t, Context(), {"alpha": alpha}).value
    np.testing.assert_allclose(value, factor * np.array([0.5, -0.5, -0.5, 0.5, 0, 0]))


def test_the_published_factor_is_not_that_of_groups_that_carry_a_gradient(batch: Any) -> None:
    t = batch(outcome=[1, 0, 0, 0], lengths=[1] * 4)
    assert RULE.apply(t, Context()).value.tolist() == [3.0, -1.0, -1.0, -1.0]
    assert RULE.apply(t, Context(), {"alpha": "unequal"}).value.tolist() == [0.75, -0.25, -0.25, -0.25]


def test_a_batch_that_says_nothing_at_all_has_credit_zero(batch: Any) -> None:
    t = batch(outcome=[0, 0], lengths=[1, 2])
    for alpha in ("scored", "unequal", "none"):
        assert RULE.apply(t, Context(), {"alpha": alpha}).value.tolist() == [0.0, 0.0]


def test_a_constant_divides(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1])
    assert RULE.apply(t, Context(), {"f_norm": 4.0}).value.tolist() == [0.25, -0.25]


def test_a_group_with_one_trajectory(batch: Any) -> None:
    # Both scores are other than 0, of three trajectories: alpha is 3/2.
    t = batch(outcome=[0.5, 1, 0], lengths=[1] * 3, task=[0, 1, 1])
    assert RULE.apply(t, Context()).value.tolist() == [0.0, 0.75, -0.75]
    assert RULE.apply(t, Context(), {"preset": "verl"}).value.tolist() == [0.75, 0.75, -0.75]
    undefined = RULE.apply(t, Context(), {"singleton": "undefined"})
    assert undefined.reason.tolist() == [Reason.NO_GROUP, Reason.DEFINED, Reason.DEFINED]


def test_forks_are_neither_counted_nor_given_credit(batch: Any) -> None:
    t = batch(outcome=[1, 0, 5], lengths=[1, 1, 1], parent=[-1, -1, 0], state=[0, 1, 0])
    credit = RULE.apply(t, Context())
    assert credit.value[:2].tolist() == [1.0, -1.0]
    assert credit.reason.tolist() == [Reason.DEFINED, Reason.DEFINED, Reason.DROPPED]
