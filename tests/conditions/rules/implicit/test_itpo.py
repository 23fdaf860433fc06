from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason

RULE = RULES["itpo"]
ONE = {"beta": 1.0}


def ratio(values: Any) -> Context:
    return Context(log_ratio=np.array(values, dtype=float))


def test_a_turn_is_worth_the_sum_of_its_log_ratios(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[2], token_offsets=[0, 2, 3])
    np.testing.assert_allclose(RULE.apply(t, ratio([0.2, 0.4, -1.0]), ONE).value, [0.6, -1.0])
    np.testing.assert_allclose(RULE.apply(t, ratio([0.2, 0.4, -1.0])).value, [0.06, -0.1])


def test_rewards_to_go_add_up_to_the_trajectorys_log_ratio(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    assert RULE.apply(t, ratio([1, 2, 4]), ONE | {"to_go": True}).value.tolist() == [7, 6, 4]


def test_shares_of_the_outcome_by_hand(batch: Any) -> None:
    # Mean log-ratios .1 and .3, 1.5 tokens a turn, temperature .5: logits .3 and .9.
    t = batch(outcome=[2], lengths=[2], token_offsets=[0, 2, 3])
    params = ONE | {"form": "share", "temperature": 0.5}
    expected = 2 * np.exp([0.3, 0.9]) / np.exp([0.3, 0.9]).sum()
    np.testing.assert_allclose(RULE.apply(t, ratio([0.05, 0.15, 0.3]), params).value, expected)


@pytest.mark.parametrize("outcome", [0.0, 1.0, -2.5])
def test_shares_add_up_to_the_outcome_and_a_failure_has_none(batch: Any, outcome: float) -> None:
    t = batch(outcome=[outcome], lengths=[4])
    value = RULE.apply(t, ratio([900, -3, 0, 2]), ONE | {"form": "share"}).value
    assert value.sum() == pytest.approx(outcome)


def test_leaving_one_out_takes_the_mean_reward_of_the_other_trajectories(batch: Any) -> None:
    # Means 2 and 5. A turn r of the first: 2 r - 2 - 5, of the second 2 r - 2 - 5.
    t = batch(outcome=[0, 0], lengths=[2, 1])
    params = ONE | {"baseline": "leave_one_out"}
    assert RULE.apply(t, ratio([1, 3, 5]), params).value.tolist() == [-5, -1, 3]


def test_the_outcome_beside_it_is_leave_one_out_on_the_last_turn(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 1])
    params = {"omega": 0.0, "outcome_weight": 2.0, "baseline": "leave_one_out"}
    assert RULE.apply(t, ratio([9, 9, 9]), params).value.tolist() == [0, 2, -2]
    assert RULE.apply(t, ratio([9, 9, 9]), params | {"to_go": True}).value.tolist() == [2, 2, -2]


def test_the_last_token_is_left_out_as_in_the_code(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1], token_offsets=[0, 2, 3])
    credit = RULE.apply(t, ratio([1, np.nan, 5]), ONE | {"last_token": False})
    assert credit.value.tolist() == [1, 0], "what does not count need not be scored"


def test_tokens_are_scaled_by_the_largest_reward_to_go(batch: Any) -> None:
    # Rewards to go: -3, -4 (the largest) | 1, 2.
    t = batch(outcome=[1, 0], lengths=[1, 1], token_offsets=[0, 2, 4])
    value = RULE.apply(t, ratio([1, -4, -1, 2]), ONE | {"scale": "largest"}).value
    np.testing.assert_allclose(value, np.array([-3, 1]) / (4 + 1e-6))


def test_whitening_weighs_turns_by_their_tokens(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1], token_offsets=[0, 3, 4])
    value = RULE.apply(t, ratio([1, 1, 1, 7]), ONE | {"whiten": "batch"}).value
    tokens = np.array([3, 3, 3, 7.0])
    np.testing.assert_allclose(value, (np.array([3, 7]) - 4) / (tokens.std(ddof=1) + 1e-6))


def test_the_authors_estimator_by_hand(batch: Any) -> None:
    # Last tokens are left out: rewards 2 | -1, 1, to go 2 | 0, 1; scaled by 2.
    t = batch(outcome=[1, 0], lengths=[1, 2], token_offsets=[0, 2, 4, 6])
    rewards = np.array([2, -1, 1]) / (2 + 1e-6)
    first = 2 * rewards - rewards[0] - 0.0  # trajectory means: rewards[0] and 0
    to_go = 5 * np.array([first[0], first[1] + first[2], first[2]])
    tokens = np.repeat(to_go, 2)
    value = RULE.apply(t, ratio([2, 9, 0, -1, 1, 9]), {"preset": "itpo", "beta": 1.0}).value
    np.testing.assert_allclose(value, (to_go - tokens.mean()) / np.sqrt(tokens.var(ddof=1) + 1e-8))


@pytest.mark.parametrize(("singleton", "expected"), [("zero", [0, 0]), ("raw", [1, 3])])
def test_a_lone_trajectory_has_no_baseline(batch: Any, singleton: str, expected: list[float]) -> None:
    t = batch(outcome=[1], lengths=[2])
    params = ONE | {"baseline": "leave_one_out", "singleton": singleton}
    assert RULE.apply(t, ratio([1, 3]), params).value.tolist() == expected
    none = RULE.apply(t, ratio([1, 3]), params | {"singleton": "undefined"})
    assert none.reason.tolist() == [Reason.NO_GROUP] * 2
    plain = RULE.apply(t, ratio([1, 3]), ONE | {"singleton": "undefined"})
    assert plain.value.tolist() == [1, 3], "without a baseline there is no group to lack"


def test_turns_outside_the_loss_hand_later_rewards_on(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3], mask=np.array([True, False, True]))
    credit = RULE.apply(t, ratio([1, np.nan, 4]), ONE | {"to_go": True})
    assert credit.reason.tolist() == [0, Reason.MASKED, 0]
    assert credit.value[[0, 2]].tolist() == [5, 4]


def test_rewards_to_go_that_were_not_all_measured_are_undefined(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[3, 1])
    credit = RULE.apply(t, ratio([1, np.nan, 4, 0]), ONE | {"to_go": True})
    assert credit.reason.tolist() == [Reason.NOT_MEASURED, Reason.NOT_MEASURED, 0, 0]
    assert credit.value[2:].tolist() == [4, 0]
    alone = RULE.apply(t, ratio([1, np.nan, 4, 0]), ONE)
    assert alone.value[[0, 2, 3]].tolist() == [1, 4, 0], "the turn's own reward reads no later turn"


def test_shares_with_an_unmeasured_turn_are_undefined(batch: Any) -> None:
    t = batch(outcome=[1, 1], lengths=[2, 2])
    credit = RULE.apply(t, ratio([1, np.nan, 2, 2]), ONE | {"form": "share"})
    assert credit.reason.tolist() == [Reason.NOT_MEASURED, Reason.NOT_MEASURED, 0, 0]
    assert credit.value[2:].tolist() == [0.5, 0.5]
    masked = batch(outcome=[1], lengths=[2], mask=np.array([True, False]))
    assert RULE.apply(masked, ratio([1, np.nan]), ONE | {"form": "share"}).value[0] == 1.0


def test_forks_neither_vote_nor_train(batch: Any) -> None:
    t = batch(
        outcome=[1, 0, 0],
        lengths=[2, 2, 1],
        parent=[-1, 0, -1],
        branch=[0, 1, 0],
        state=[0, 1, 0, 1, 5],
        action=[0, 0, 0, 1, 0],
    )
    credit = RULE.apply(t, ratio([1, 3, 9, 9, 5]), ONE | {"baseline": "leave_one_out", "outcome_weight": 1.0})
    assert credit.reason.tolist() == [0, 0, Reason.COPY, Reason.DROPPED, 0]
    assert credit.value[[0, 1, 4]].tolist() == [-5, 0, 2]
