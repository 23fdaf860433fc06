from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, RuleError
from equipoise_conditions.rules.counterfactual.cocoa import contribution
from equipoise_conditions.rules.counterfactual.cocoa_tables import (
    TabularProcess,
    action_values,
    contribution_coefficients,
    expected_contribution,
    trajectory_contribution,
)

RULE = RULES["cocoa"]


@pytest.fixture
def key() -> TabularProcess:
    """State 0: action 0 takes the key (to 1), action 1 does not (to 2); 1 pays 1, 2 pays 0, then 3 for good."""
    transition = np.zeros((4, 2, 4))
    transition[0, 0, 1] = transition[0, 1, 2] = 1
    transition[1:, :, 3] = 1
    reward_probs = np.zeros((4, 2, 2))
    reward_probs[..., 0] = 1
    reward_probs[1] = [0, 1]
    return TabularProcess(transition, reward_probs, np.array([0.0, 1.0]), horizon=3)


HALF = np.full((4, 2), 0.5)
WALK: dict[str, Any] = {
    "states": np.array([0, 1]),
    "actions": np.array([0, 1]),
    "rewards": np.array([0.0, 1.0]),
}


def test_what_only_one_action_reaches_is_its_doing(key: TabularProcess) -> None:
    weight = contribution_coefficients(key, HALF, "state")
    assert weight[0, :, 1].tolist() == [2.0, 0.0]
    assert weight[0, :, 2].tolist() == [0.0, 2.0]
    assert weight[0, :, 3].tolist() == [1.0, 1.0]


def test_what_is_never_met_has_coefficient_one(key: TabularProcess) -> None:
    assert contribution_coefficients(key, HALF, "state")[1, :, 0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("hindsight", ["state", "reward"])
def test_exact_coefficients_give_the_exact_advantage(key: TabularProcess, hindsight: str) -> None:
    policy = np.array([[0.25, 0.75], [0.5, 0.5], [0.125, 0.875], [0.5, 0.5]])
    q = action_values(key, policy)
    advantage = q - (policy * q).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        expected_contribution(key, policy, hindsight, "advantage"), advantage, atol=1e-12
    )
    np.testing.assert_allclose(expected_contribution(key, policy, hindsight, "action_value"), q)
    assert q[0].tolist() == [1.0, 0.0]


def test_a_trajectory_credits_every_action_of_its_states(key: TabularProcess) -> None:
    given: dict[str, Any] = {"hindsight": "state", "return_type": "advantage"} | WALK
    # Step 0: reward 1 at state 1, weights 2 - 1 and 0 - 1. Step 1: its own reward over pi, on the action taken.
    assert trajectory_contribution(key, HALF, **given).tolist() == [[1, -1], [0, 2]]
    value = trajectory_contribution(key, HALF, **given | {"return_type": "action_value"})
    assert value.tolist() == [[2, 0], [0, 2]]


def test_rewards_after_the_end_contribute_nothing(key: TabularProcess) -> None:
    given: dict[str, Any] = {"hindsight": "state", "return_type": "advantage"} | WALK
    found = trajectory_contribution(key, HALF, **given, dones=np.array([0, 1, 1]))
    assert found[0].tolist() == [0, 0]


def test_wrong_words_and_unknown_rewards_are_refused(key: TabularProcess) -> None:
    with pytest.raises(RuleError, match="hindsight: expected state or reward, got 'return'"):
        contribution_coefficients(key, HALF, "return")
    with pytest.raises(RuleError, match="return_type: expected advantage or action_value"):
        expected_contribution(key, HALF, "state", "gain")
    with pytest.raises(RuleError, match="rewards: expected one of 0, 1, got 0\\.5"):
        trajectory_contribution(
            key, HALF, hindsight="reward", return_type="advantage", **WALK | {"rewards": np.array([0.5, 1])}
        )


def test_a_process_must_agree_with_itself(key: TabularProcess) -> None:
    with pytest.raises(RuleError, match="expected 2 different rewards"):
        TabularProcess(key.transition, key.reward_probs, np.zeros(2), 3)
    with pytest.raises(RuleError, match=r"expected shapes \(S, A, S\)"):
        TabularProcess(key.transition, key.reward_probs, np.zeros(3), 3)


def test_later_rewards_are_weighted_and_the_own_one_is_not(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3], reward=[0.5, 0.0, 1.0], logprob=np.log([0.5, 0.5, 0.5]))
    context = Context(outcome_scores=np.log([1.0, 0.25, 0.9]))
    credit = RULE.apply(t, context, {"gamma": 1.0})
    np.testing.assert_allclose(credit.value, [0.5 + 1.0 * 1, -0.5 * 1, 1.0])
    half = RULE.apply(t, context, {"gamma": 0.5})
    np.testing.assert_allclose(half.value, [0.5 + 0.25, -0.25, 1.0])
    limited = RULE.apply(t, context, {"gamma": 1.0, "limit": 1.5})
    np.testing.assert_allclose(limited.value, [1.0, -0.5, 1.0])


def test_a_coefficient_of_one_leaves_the_own_reward() -> None:
    reward = np.array([1.0, 2.0, 3.0])
    assert contribution(np.ones(3), reward, np.array([0, 2, 3])).tolist() == [1.0, 2.0, 3.0]
    assert contribution(np.full(3, 2.0), reward, np.array([0, 2, 3])).tolist() == [3.0, 2.0, 3.0]


def test_turns_without_a_usable_score_are_undefined(batch: Any) -> None:
    t = batch(outcome=[1, 1], lengths=[3, 1], parent=[-1, 0], state=[0, 1, 2, 0])
    context = Context(outcome_scores=np.array([np.nan, -np.inf, -1.0, -1.0]))
    credit = RULE.apply(t, context)
    assert credit.reason.tolist() == [Reason.NOT_MEASURED, Reason.NOT_MEASURED, 0, Reason.DROPPED]
