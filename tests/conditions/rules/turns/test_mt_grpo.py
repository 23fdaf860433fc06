import math
from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, RuleError, to_turns
from equipoise_conditions.rules.turns.mt_grpo import before_segment

RULE = RULES["mt_grpo"]
EVERY = RULES["turn_rewards"]
UNIT = 1 / math.sqrt(2)  # z-score of the better of two, without epsilon


def test_the_first_turn_has_its_own_advantage_beside_the_outcomes(batch: Any) -> None:
    # The tool call of the first trajectory was rewarded, the answer of the second was right.
    t = batch(outcome=[0, 1], lengths=[2, 2], reward=[1.0, 0.0, 0.0, 1.0])
    credit = RULE.apply(t, Context(), {"eps": 0.0, "turn_advantage_coef": 0.5})
    np.testing.assert_allclose(credit.value, [-UNIT / 2, -UNIT, UNIT / 2, UNIT])
    turns = to_turns(EVERY.apply(t, Context(), {"eps": 0.0, "turn_advantage_coef": 0.5}), t)
    np.testing.assert_allclose(turns.value, credit.value)


def test_a_trajectory_without_a_tool_has_the_advantage_of_the_sum(batch: Any) -> None:
    # Turn rewards 1, 0, 0 (the one-turn trajectory used none); sums 1, 1, 1; outcomes 0, 1, 1.
    t = batch(outcome=[0, 1, 1], lengths=[2, 2, 1], reward=[1.0, 0.0, 0.0, 1.0, 1.0])
    credit = RULE.apply(t, Context(), {"std": "none"})
    third = 1 / 3
    np.testing.assert_allclose(credit.value, [0, -2 * third, 0, third, 0], atol=1e-12)


def test_the_cumulative_estimate_sees_the_outcome_discounted(batch: Any) -> None:
    t = batch(outcome=[0, 1, 1], lengths=[2, 2, 1], reward=[1.0, 0.0, 0.0, 1.0, 1.0])
    credit = RULE.apply(t, Context(), {"std": "none", "estimate": "cumulative", "gamma": 0.5})
    third = 1 / 3
    # Sums 1, .5, .5 on first turns and where there is no other.
    np.testing.assert_allclose(credit.value, [third, -2 * third, -third / 2, third, -third / 2], atol=1e-12)


def test_real_turns_and_changes_of_the_mask_agree_unless_the_mask_begins_outside(batch: Any) -> None:
    shape: dict[str, Any] = {
        "outcome": [0, 1],
        "lengths": [2, 2],
        "reward": [1.0, 0.0, 0.0, 1.0],
        "token_offsets": [0, 3, 5, 8, 10],
    }
    after = np.array([True, True, False, True, True] * 2)
    t = batch(**shape, mask=after)
    preset = {"preset": "multi-turn-rl-agent"}
    turns = RULE.apply(t, Context(), preset | {"split": "turns"})
    assert RULE.apply(t, Context(), preset).digest() == turns.digest()
    before = np.array([False, True, True, True, True] * 2)
    t = batch(**shape, mask=before)
    shifted = RULE.apply(t, Context(), preset).value
    assert shifted[1] == shifted[2] == shifted[3], "the turn's advantage went to a token outside the loss"
    turns = RULE.apply(t, Context(), preset | {"split": "turns"})
    assert turns.value[1] == turns.value[2] != turns.value[3]


def test_segments_are_counted_inside_each_trajectory() -> None:
    mask = np.array([True, False, True, False, False, True])
    got = before_segment(mask, np.array([0, 3, 6]), np.array([2, 1]))
    assert got.tolist() == [True, True, False, True, True, False]
    assert not before_segment(mask, np.array([0, 6]), np.array([0])).any()
    assert before_segment(np.ones(3, dtype=bool), np.array([0, 3]), np.array([1])).all()
    with pytest.raises(RuleError, match="trajectory 1: expected a loss mask with at least 2 changes"):
        before_segment(mask, np.array([0, 3, 6]), np.array([1, 3]))


def test_every_turn_is_compared_with_its_peers(batch: Any) -> None:
    # Rewards of turns 0: 0, 2; of turn 1: 4 alone; last turns are the outcome's.
    t = batch(outcome=[1, 1], lengths=[3, 2], reward=[0.0, 4.0, 9.0, 2.0, 9.0])
    by_index = EVERY.apply(t, Context(), {"std": "none"})
    assert by_index.value.tolist() == [-1.0, 0.0, 0.0, 1.0, 0.0]
    by_group = EVERY.apply(t, Context(), {"std": "none", "peers": "group"})
    assert by_group.value.tolist() == [-2.0, 2.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("rule", [RULE, EVERY], ids=["mt_grpo", "turn_rewards"])
def test_a_group_of_one_has_zero_or_nothing_and_forks_have_nothing(
    rule: Any, batch: Any, forest: Any
) -> None:
    t = batch(outcome=[1.0, 0.0], lengths=[2, 1], task=[0, 1])
    assert rule.apply(t, Context()).value.tolist() == [0.0, 0.0, 0.0]
    reasons = rule.apply(t, Context(), {"singleton": "undefined"}).reason
    assert (reasons == Reason.NO_GROUP).all()
    t = forest(4)
    assert np.array_equal(rule.apply(t, Context()).defined, t.collected[t.trajectory_of_turn])


@pytest.mark.parametrize("rule", [RULE, EVERY], ids=["mt_grpo", "turn_rewards"])
def test_rewards_at_the_end_alone_leave_the_outcome_term(rule: Any, batch: Any) -> None:
    t = batch(outcome=[1.0, 0.0], lengths=[2, 3])
    expected = to_turns(RULES["grpo"].apply(t, Context()), t)
    np.testing.assert_allclose(to_turns(rule.apply(t, Context()), t).value, expected.value)
