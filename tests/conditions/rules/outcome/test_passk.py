from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason

RULE = RULES["passk"]


@pytest.mark.parametrize(
    ("outcome", "std", "expected"),
    [
        ([1, 0, 0, 0], "none", [1.0, 0, 0, 0]),
        ([1, 0, 0, 0], "sample", [2.0, 0, 0, 0]),  # the sample deviation is 1/2
        ([1, 0, 0, 1], "none", [0.0, 0, 0, 0]),
        ([3, 2.5, -1, 0], "none", [0.5, 0, 0, 0]),
        ([-3, -1, -2, -9], "none", [0, 1.0, 0, 0]),
        ([1, 1, 1, 1], "sample", [0.0, 0, 0, 0]),
    ],
)
def test_only_the_best_alone_has_credit(
    batch: Any, outcome: list[float], std: str, expected: list[float]
) -> None:
    t = batch(outcome=outcome, lengths=[2, 1, 3, 1])
    credit = RULE.apply(t, Context(), {"std": std, "eps": 0.0})
    np.testing.assert_allclose(credit.value, expected, atol=1e-12)
    assert credit.counts_by_reason() == {"DEFINED": 4}


def test_credit_is_what_the_best_loses_without_this_trajectory(batch: Any) -> None:
    outcome = np.random.default_rng(0).integers(0, 9, 12).astype(float)
    task = [0, 1, 2] * 4
    t = batch(outcome=outcome.tolist(), lengths=[1] * 12, task=task)
    value = RULE.apply(t, Context(), {"std": "none"}).value
    for i in range(12):
        siblings = [outcome[j] for j in range(12) if task[j] == task[i]]
        others = [outcome[j] for j in range(12) if task[j] == task[i] and j != i]
        assert value[i] == max(siblings) - max(others)


@pytest.mark.parametrize(("singleton", "expected"), [("zero", 0.0), ("raw", 0.75 / (1 + 1e-6))])
def test_a_group_with_one_trajectory(batch: Any, singleton: str, expected: float) -> None:
    t = batch(outcome=[0.75], lengths=[2])
    assert RULE.apply(t, Context(), {"singleton": singleton}).value.tolist() == [expected]


def test_where_verl_refuses_a_group_of_one_there_is_no_credit(batch: Any) -> None:
    t = batch(outcome=[0.75, 1, 0], lengths=[1] * 3, task=[0, 1, 1])
    credit = RULE.apply(t, Context(), {"preset": "verl"})
    assert credit.reason.tolist() == [Reason.NO_GROUP, Reason.DEFINED, Reason.DEFINED]


def test_a_fork_is_no_rival(batch: Any) -> None:
    t = batch(outcome=[1, 0, 5], lengths=[1, 1, 1], parent=[-1, -1, 0], state=[0, 1, 0])
    credit = RULE.apply(t, Context(), {"std": "none"})
    assert credit.value[:2].tolist() == [1.0, 0.0]
    assert credit.reason.tolist() == [Reason.DEFINED, Reason.DEFINED, Reason.DROPPED]
