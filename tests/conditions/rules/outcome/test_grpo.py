from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason
from equipoise_conditions.rules.common import group_advantage

RULE = RULES["grpo"]


@pytest.mark.parametrize(
    ("outcome", "std", "expected"),
    [
        ([1, 0, 0, 1], "population", [1.0, -1.0, -1.0, 1.0]),
        ([1, 0, 0, 1], "sample", [0.8660, -0.8660, -0.8660, 0.8660]),
        ([1, 0, 0, 0], "population", [1.7321, -0.5774, -0.5774, -0.5774]),
        ([1, 0, 0, 0], "sample", [1.5, -0.5, -0.5, -0.5]),
        ([1, 0, 0, 0], "none", [0.75, -0.25, -0.25, -0.25]),
        ([1, 1, 1, 1], "sample", [0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_a_group_of_four_by_hand(batch: Any, outcome: list[float], std: str, expected: list[float]) -> None:
    t = batch(outcome=outcome, lengths=[2, 1, 3, 1])
    credit = RULE.apply(t, Context(), {"std": std})
    np.testing.assert_allclose(credit.value, np.repeat(expected, [2, 1, 3, 1]), atol=1e-4)
    assert credit.counts_by_reason() == {"DEFINED": 7}


def test_tasks_are_compared_within_themselves(batch: Any) -> None:
    t = batch(outcome=[1, 1, 0, 1], lengths=[1, 1, 1, 1], task=[9, 2, 9, 2])
    assert RULE.apply(t, Context(), {"std": "none"}).value.tolist() == [0.5, 0.0, -0.5, 0.0]


@pytest.mark.parametrize(
    ("singleton", "std", "expected"),
    [("zero", "sample", 0.0), ("raw", "sample", 0.75 / (1 + 1e-6)), ("raw", "none", 0.75)],
)
def test_a_task_with_one_trajectory(batch: Any, singleton: str, std: str, expected: float) -> None:
    t = batch(outcome=[0.75], lengths=[2])
    assert RULE.apply(t, Context(), {"singleton": singleton, "std": std}).value.tolist() == [expected] * 2


def test_a_task_with_one_trajectory_may_have_no_credit_at_all(batch: Any) -> None:
    t = batch(outcome=[0.75, 1, 0], lengths=[2, 1, 1], task=[0, 1, 1])
    credit = RULE.apply(t, Context(), {"singleton": "undefined"})
    assert credit.reason.tolist() == [Reason.NO_GROUP, Reason.NO_GROUP, Reason.DEFINED, Reason.DEFINED]


def test_forks_neither_vote_nor_train(batch: Any) -> None:
    t = batch(
        outcome=[1, 0, 1], lengths=[2, 1, 2], parent=[-1, -1, 0], branch=[0, 0, 1], state=[1, 2, 1, 1, 2]
    )
    credit = RULE.apply(t, Context(), {"std": "none"})
    assert credit.value[:3].tolist() == [0.5, 0.5, -0.5]
    assert credit.reason[3:].tolist() == [Reason.COPY, Reason.DROPPED]


def test_scores_equal_the_code_of_verl(golden: Any) -> None:
    seen = 0
    for case in golden("verl_grpo"):
        given = case["inputs"]
        mask = np.array(given["response_mask"], dtype=bool)
        std = "sample" if given["norm_adv_by_std_in_grpo"] else "none"
        score = np.array(given["token_level_rewards"], dtype=float).sum(axis=1)
        group = np.unique(np.array(given["index"]).astype(str), return_inverse=True)[1]
        got, _ = group_advantage(score, group, std=std, eps=1e-6, singleton="raw")
        # The reference holds 1 + 1e-6 in single precision for a group of one.
        tolerance = 2e-6 if (np.bincount(group) == 1).any() else 1e-9
        expected = np.array(case["expected"]["advantages"], dtype=float)
        np.testing.assert_allclose(
            (got[:, None] * mask), expected, rtol=tolerance, atol=tolerance, err_msg=case["name"]
        )
        seen += 1
    assert seen == 17


def test_a_whole_batch_through_the_rule_equals_verl(batch: Any, golden: Any) -> None:
    case = next(case for case in golden("verl_grpo") if case["name"].startswith("tidy_2x4_binary|"))
    given = case["inputs"]
    outcome = np.array(given["token_level_rewards"]).sum(axis=1)
    task = np.unique(given["index"], return_inverse=True)[1]
    credit = RULE.apply(batch(outcome=outcome.tolist(), lengths=[2] * 8, task=task.tolist()), Context())
    expected = np.array(case["expected"]["advantages"])[:, 0]
    np.testing.assert_allclose(credit.value, np.repeat(expected, 2), atol=1e-9)


def test_scores_equal_the_code_of_trl(golden: Any) -> None:
    seen = 0
    for case in golden("trl_grpo_advantage"):
        given = case["inputs"]
        scores = given["rewards_per_func"]
        unscored = any("NaN" in row for row in scores)
        if unscored or given["scale_rewards"] == "batch" or given["multi_objective_aggregation"][0] == "n":
            continue  # unscorable rows and scaling over a whole batch are no part of this rule
        score = np.array(scores, dtype=float) @ np.array(given["reward_weights"])
        group = np.arange(score.size) // given["num_generations"]
        std = {"group": "sample", "none": "none"}[given["scale_rewards"]]
        got, _ = group_advantage(score, group, std=std, eps=1e-4)
        # TRL takes n / (n - 1) in single precision.
        np.testing.assert_allclose(got, case["expected"], rtol=2e-8, atol=1e-9, err_msg=case["name"])
        seen += 1
    assert seen == 8


def test_scores_equal_the_code_of_dr_grpo(golden: Any) -> None:
    seen = 0
    for case in golden("drgrpo_advantage"):
        given = case["inputs"]
        score = np.array(given["rewards"], dtype=float).sum(axis=1)
        group = np.arange(score.size) // given["num_samples"]
        std, eps = ("none", 0.0) if given["critic_type"] == "drgrpo" else ("sample", 1e-8)
        got, _ = group_advantage(score, group, std=std, eps=eps)
        # Of three equal tenths the reference makes 1.4e-9 out of rounding; we make 0.
        tolerance = 2e-9 if case["name"].startswith("tenths") else 1e-9
        np.testing.assert_allclose(got, case["expected"], rtol=0, atol=tolerance, err_msg=case["name"])
        seen += 1
    assert seen == 9
