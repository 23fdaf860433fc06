from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, RuleError, to_turns
from equipoise_conditions.rules.outcome.reinforce import against_past

RULE = RULES["reinforce"]


def value(batch: Any, outcome: list[float], params: dict[str, Any], **shape: Any) -> Any:
    return RULE.apply(batch(outcome=outcome, lengths=[1] * len(outcome), **shape), Context(), params).value


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        ("mean", [0.5, -0.5, -0.5, 0.5]),
        ("leave-one-out", [0.6667, -0.6667, -0.6667, 0.6667]),
        ("none", [1.0, 0.0, 0.0, 1.0]),
        ("running", [0.0, -1.0, -0.5, 0.6667]),  # baselines: none, 1, 1/2, 1/3
    ],
)
def test_a_group_of_four_by_hand(batch: Any, baseline: str, expected: list[float]) -> None:
    np.testing.assert_allclose(value(batch, [1, 0, 0, 1], {"subtract": baseline}), expected, atol=5e-5)


def test_credit_is_one_number_a_trajectory_and_every_turn_has_it(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 3])
    credit = RULE.apply(t, Context())
    assert credit.granularity == "episode"
    assert credit.value.tolist() == [1.0, -1.0]
    assert to_turns(credit, t).value.tolist() == [1.0] * 2 + [-1.0] * 3


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, 0.0),
        ({"singleton": "raw"}, 0.75),
        ({"subtract": "mean"}, 0.0),
        ({"subtract": "none", "singleton": "undefined"}, 0.75),
        ({"subtract": "running"}, 0.0),
        ({"subtract": "running", "singleton": "raw"}, 0.75),
        ({"whiten": "batch"}, 0.0),
        ({"preset": "verl"}, 0.75),
        ({"preset": "verl-vectorised"}, 0.0),
        ({"preset": "trl"}, 0.0),
        ({"preset": "spo"}, 0.75),
    ],
)
def test_a_task_with_one_trajectory(batch: Any, params: dict[str, str], expected: float) -> None:
    assert value(batch, [0.75], params).tolist() == [expected]


@pytest.mark.parametrize("subtract", ["leave-one-out", "mean", "running"])
def test_a_trajectory_without_a_baseline_may_have_no_credit_at_all(batch: Any, subtract: str) -> None:
    t = batch(outcome=[0.75, 1, 0], lengths=[1, 1, 1], task=[0, 1, 1])
    credit = RULE.apply(t, Context(), {"subtract": subtract, "singleton": "undefined"})
    assert credit.reason.tolist() == [Reason.NO_GROUP, Reason.DEFINED, Reason.DEFINED]


@pytest.mark.parametrize("subtract", ["leave-one-out", "mean", "running"])
def test_equal_outcomes_are_exactly_zero_and_stay_examples(batch: Any, subtract: str) -> None:
    t = batch(outcome=[0.1] * 7, lengths=[1] * 7)
    credit = RULE.apply(t, Context(), {"subtract": subtract})
    assert credit.value.tolist() == [0.0] * 7
    assert credit.counts_by_reason() == {"DEFINED": 7}


def test_outcomes_of_a_million_keep_their_differences(batch: Any) -> None:
    # Means of the others: 666667, 1333333 2/3, 1/3 and 1000000.
    got = value(batch, [1e6, -1e6, 3e6, 1.0], {})
    np.testing.assert_allclose(got, [333333, -2333333 - 2 / 3, 2999999 + 2 / 3, -999999], rtol=1e-15)


def test_forks_neither_vote_nor_train(batch: Any) -> None:
    t = batch(
        outcome=[1, 0, 1], lengths=[2, 1, 2], parent=[-1, -1, 0], branch=[0, 0, 1], state=[1, 2, 1, 1, 2]
    )
    for subtract, first in (("leave-one-out", 1.0), ("running", 0.0)):
        credit = RULE.apply(t, Context(), {"subtract": subtract})
        assert credit.value[:2].tolist() == [first, -1.0]
        assert credit.reason[2] == Reason.DROPPED


@pytest.mark.parametrize("decay", [0.0, 0.3, 0.9, 1.0])
def test_a_running_mean_weighs_the_past_by_its_age(decay: float) -> None:
    score = np.random.default_rng(3).normal(size=23)
    got, first = against_past(score, decay=decay, singleton="raw")
    for i in range(1, score.size):
        weight = np.array([decay ** (i - 1 - j) for j in range(i)])
        assert got[i] == pytest.approx(score[i] - (weight * score[:i]).sum() / weight.sum(), abs=1e-12)
    assert got[0] == score[0]
    assert first.tolist() == [True] + [False] * 22


def test_a_running_mean_runs_over_the_batch_whatever_the_task(batch: Any) -> None:
    params = {"subtract": "running", "decay": 0.5}
    got = value(batch, [1, 0, 1], params, task=[0, 1, 0])  # the last: (1/2 * 1 + 1 * 0) / (3/2)
    np.testing.assert_allclose(got, [0.0, -1.0, 2 / 3])


def test_whitening_leaves_out_who_has_no_sibling(batch: Any) -> None:
    params = {"preset": "trl", "whiten": "batch"}
    got = value(batch, [0.5, 0, 1], params, task=[0, 1, 1])
    np.testing.assert_allclose(got, np.array([0, -1, 1]) / (np.sqrt(2) + 1e-4))


def test_whitening_by_group_forgets_the_scale_of_a_task(batch: Any) -> None:
    got = value(batch, [1, 0, 100, 0], {"whiten": "group", "eps": 0.0}, task=[0, 0, 1, 1])
    np.testing.assert_allclose(got, np.array([1, -1, 1, -1]) / np.sqrt(2))


def test_a_score_may_be_the_sum_of_token_rewards_masked_ones_included(batch: Any) -> None:
    shape = {"reward": np.array([5.0, 0.0]), "mask": np.array([False, True])}
    assert value(batch, [1, 0], {}, **shape).tolist() == [1.0, -1.0]
    assert value(batch, [1, 0], {"score": "tokens"}, **shape).tolist() == [5.0, -5.0]


def test_a_score_that_is_no_number_is_refused_where_verl_spreads_it(batch: Any) -> None:
    with pytest.raises(RuleError, match="got nan at trajectory 1"):
        batch(outcome=[1.0, float("nan"), 0.0], lengths=[1, 1, 1])
