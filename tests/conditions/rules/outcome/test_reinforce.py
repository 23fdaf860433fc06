from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, RuleError
from equipoise_conditions.rules.outcome.reinforce import against_baseline

RULE = RULES["reinforce"]


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        ("mean", [0.5, -0.5, -0.5, 0.5]),
        ("leave-one-out", [0.6667, -0.6667, -0.6667, 0.6667]),
        ("none", [1.0, 0.0, 0.0, 1.0]),
    ],
)
def test_a_group_of_four_by_hand(batch: Any, baseline: str, expected: list[float]) -> None:
    credit = RULE.apply(batch(outcome=[1, 0, 0, 1], lengths=[1, 1, 1, 1]), Context(), {"subtract": baseline})
    np.testing.assert_allclose(credit.value, expected, atol=5e-5)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, 0.0),
        ({"singleton": "raw"}, 0.75),
        ({"subtract": "mean"}, 0.0),
        ({"subtract": "none", "singleton": "undefined"}, 0.75),
    ],
)
def test_a_task_with_one_trajectory(batch: Any, params: dict[str, str], expected: float) -> None:
    assert RULE.apply(batch(outcome=[0.75], lengths=[1]), Context(), params).value.tolist() == [expected]


def test_scores_equal_the_code_of_verl(golden: Any) -> None:
    for case in golden("verl_rloo"):
        given = case["inputs"]
        score = np.array(given["token_level_rewards"], dtype=float).sum(axis=1)
        if np.isnan(score).any():
            continue  # refused: see the next test
        group = np.unique(np.array(given["index"]).astype(str), return_inverse=True)[1]
        got, _ = against_baseline(score, group, baseline="leave-one-out", singleton="raw")
        expected = np.array(case["expected"]["advantages"], dtype=float)
        masked = got[:, None] * np.array(given["response_mask"], dtype=bool)
        np.testing.assert_allclose(masked, expected, rtol=1e-9, atol=1e-9, err_msg=case["name"])


def test_a_score_that_is_no_number_is_refused_where_verl_spreads_it(batch: Any) -> None:
    with pytest.raises(RuleError, match="got nan at trajectory 1"):
        batch(outcome=[1.0, float("nan"), 0.0], lengths=[1, 1, 1])


def test_scores_equal_the_code_of_trl(golden: Any) -> None:
    seen = 0
    for case in golden("trl_rloo_advantage"):
        given = case["inputs"]
        if given["normalize_advantages"] or any("NaN" in row for row in given["rewards_per_func"]):
            continue
        score = np.array(given["rewards_per_func"], dtype=float) @ np.array(given["reward_weights"])
        group = np.arange(score.size) // given["num_generations"]
        got, _ = against_baseline(score, group, baseline="leave-one-out", singleton="zero")
        np.testing.assert_allclose(got, case["expected"], rtol=1e-9, atol=1e-9, err_msg=case["name"])
        seen += 1
    assert seen == 4
