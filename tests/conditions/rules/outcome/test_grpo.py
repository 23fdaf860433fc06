from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, RuleError
from equipoise_conditions.projection import to_tokens, to_turns
from equipoise_conditions.rules.common import Scale, episode_advantage, relative_scores, turn_advantage
from equipoise_conditions.rules.outcome.objectives import combined_rewards

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
        ([0, 0, 0, 0], "sample", [0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_a_group_of_four_by_hand(batch: Any, outcome: list[float], std: str, expected: list[float]) -> None:
    t = batch(outcome=outcome, lengths=[2, 1, 3, 1])
    credit = RULE.apply(t, Context(), {"std": std})
    np.testing.assert_allclose(credit.value, expected, atol=1e-4)
    assert credit.counts_by_reason() == {"DEFINED": 4}
    np.testing.assert_allclose(to_turns(credit, t).value, np.repeat(expected, [2, 1, 3, 1]), atol=1e-4)


def test_groups_are_compared_within_themselves(batch: Any) -> None:
    t = batch(outcome=[1, 1, 0, 1], lengths=[1, 1, 1, 1], task=[9, 2, 9, 2])
    assert RULE.apply(t, Context(), {"std": "none"}).value.tolist() == [0.5, 0.0, -0.5, 0.0]
    t = batch(outcome=[1, 1, 0, 1], lengths=[1, 1, 1, 1], group=[4, 4, 4, 4])
    assert RULE.apply(t, Context(), {"std": "none"}).value.tolist() == [0.25, 0.25, -0.75, 0.25]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, 0.0),
        ({"singleton": "raw"}, 0.75 / (1 + 1e-6)),
        ({"singleton": "raw", "std": "none"}, 0.75),
        ({"singleton": "raw", "eps": 3.0, "eps_inside": True}, 0.375),
        ({"singleton": "raw", "variance_floor": 1e-6}, 0.75 / (1 + 1e-6)),
    ],
)
def test_a_group_with_one_trajectory(batch: Any, params: dict[str, Any], expected: float) -> None:
    t = batch(outcome=[0.75], lengths=[2])
    assert RULE.apply(t, Context(), params).value.tolist() == [expected]
    assert RULE.apply(t, Context(), params | {"vote": "turn"}).value.tolist() == [expected]


def test_a_group_with_one_trajectory_may_have_no_credit_at_all(batch: Any) -> None:
    t = batch(outcome=[0.75, 1, 0], lengths=[2, 1, 1], task=[0, 1, 1])
    for vote in ("trajectory", "turn", "token"):
        credit = RULE.apply(t, Context(), {"singleton": "undefined", "vote": vote})
        assert credit.reason.tolist() == [Reason.NO_GROUP, Reason.DEFINED, Reason.DEFINED]


def test_forks_neither_vote_nor_train(batch: Any) -> None:
    t = batch(
        outcome=[1, 0, 1], lengths=[2, 1, 2], parent=[-1, -1, 0], branch=[0, 0, 1], state=[1, 2, 1, 1, 2]
    )
    for vote in ("trajectory", "turn", "token"):
        credit = RULE.apply(t, Context(), {"std": "none", "vote": vote, "whiten": "none"})
        assert credit.reason.tolist() == [Reason.DEFINED, Reason.DEFINED, Reason.DROPPED]
    assert RULE.apply(t, Context(), {"std": "none"}).value[:2].tolist() == [0.5, -0.5]
    alone = RULE.apply(t, Context(), {"singleton": "undefined", "whiten": "batch"})
    np.testing.assert_allclose(alone.value[:2], [0.5**0.5, -(0.5**0.5)], atol=1e-5)


def test_longer_trajectories_vote_more_often_only_when_asked(batch: Any) -> None:
    # Outcome 1 with three turns of one token, outcome 0 with one turn of two tokens, one of them masked.
    t = batch(
        outcome=[1, 0],
        lengths=[3, 1],
        token_offsets=[0, 1, 2, 3, 5],
        mask=np.array([True, False, True, True, False]),
    )
    by = {
        vote: RULE.apply(t, Context(), {"std": "none", "vote": vote}).value
        for vote in ("trajectory", "turn", "token")
    }
    assert by["trajectory"].tolist() == [0.5, -0.5]
    assert by["turn"].tolist() == [0.25, -0.75]
    np.testing.assert_allclose(by["token"], [1 / 3, -2 / 3])
    # Turns 1, 1, 1, 0 have sample variance 1/4: what repeating the rows would give.
    scaled = RULE.apply(t, Context(), {"vote": "turn", "eps": 0.0})
    np.testing.assert_allclose(scaled.value, [0.5, -1.5])
    rows, _ = turn_advantage(t, std="sample", eps=0.0, singleton="zero", vote="turn")
    np.testing.assert_allclose(to_turns(scaled, t).value, rows)


def test_a_group_without_a_token_in_the_loss_has_no_credit_when_tokens_vote(batch: Any) -> None:
    t = batch(
        outcome=[1, 0, 1, 0, 5],
        lengths=[1, 1, 1, 1, 1],
        task=[0, 0, 1, 1, 1],
        mask=np.array([False, False, True, True, False]),
    )
    for extra in ({}, {"whiten": "batch"}, {"std_over": "batch"}, {"std": "none", "singleton": "undefined"}):
        credit = RULE.apply(t, Context(), {"vote": "token", **extra})
        assert credit.reason.tolist() == [Reason.MASKED] * 2 + [Reason.DEFINED] * 3
    credit = RULE.apply(t, Context(), {"vote": "token", "std": "none"})
    assert credit.value[2:].tolist() == [0.5, -0.5, 4.5], "who has no vote is still compared"
    # Without a deviation nor an epsilon there is nothing to divide by.
    t = batch(outcome=[1, 1, 5], lengths=[1, 1, 1], mask=np.array([True, True, False]))
    assert RULE.apply(t, Context(), {"vote": "token", "eps": 0.0}).value.tolist() == [0.0, 0.0, 0.0]


def test_the_sum_of_token_rewards_counts_masked_tokens_too(batch: Any) -> None:
    t = batch(
        outcome=[7, 7, 7],
        lengths=[1, 1, 1],
        token_offsets=[0, 3, 6, 9],
        token_reward=np.array([0.0, 1, 2, 0, 0, 1, 0, 0, 0]),
        mask=np.array([True, True, False] + [True] * 6),
    )
    credit = RULE.apply(t, Context(), {"score": "tokens", "std": "none"})
    np.testing.assert_allclose(credit.value, [5 / 3, -1 / 3, -4 / 3])
    assert RULE.apply(t, Context()).value.tolist() == [0.0, 0.0, 0.0]
    assert to_tokens(credit, t).reason.tolist() == [0, 0, Reason.MASKED] + [0] * 6


def test_the_deviation_of_the_whole_batch_may_divide(batch: Any) -> None:
    # Means 1/2 and 5/8; the sample deviation of 1, 0, 1/2, 3/4 is sqrt(35/192) = 0.42696.
    t = batch(outcome=[1, 0, 0.5, 0.75], lengths=[1] * 4, task=[0, 0, 1, 1])
    credit = RULE.apply(t, Context(), {"std_over": "batch", "eps": 0.0})
    np.testing.assert_allclose(credit.value * (35 / 192) ** 0.5, [0.5, -0.5, -0.125, 0.125])


def test_a_floor_keeps_tiny_deviations_from_becoming_credit(batch: Any) -> None:
    t = batch(outcome=[0, 1e-4], lengths=[1, 1])
    floored = RULE.apply(t, Context(), {"preset": "verl-vectorised", "score": "outcome"})
    np.testing.assert_allclose(floored.value, np.array([-0.5e-4, 0.5e-4]) / (1e-3 + 1e-6))
    assert abs(RULE.apply(t, Context()).value[1]) > 0.69


def test_whitening_without_a_deviation_only_centres(batch: Any) -> None:
    t = batch(outcome=[1, 0, 5, 0], lengths=[1] * 4, task=[0, 0, 1, 1])
    credit = RULE.apply(t, Context(), {"std": "none", "whiten": "batch"})
    assert credit.value.tolist() == [0.5, -0.5, 2.5, -2.5]


@pytest.mark.parametrize("std", ["sample", "population"])
def test_whitened_credit_has_mean_zero_and_deviation_one(batch: Any, std: str) -> None:
    t = batch(outcome=[1, 0, 0, 9, 4, 2], lengths=[1] * 6, task=[0, 0, 0, 1, 1, 1])
    ddof = 0 if std == "population" else 1
    by_batch = RULE.apply(t, Context(), {"std": std, "whiten": "batch", "eps": 0.0}).value
    assert by_batch.mean() == pytest.approx(0.0, abs=1e-12)
    assert by_batch.std(ddof=ddof) == pytest.approx(1.0)
    by_group = RULE.apply(t, Context(), {"std": std, "whiten": "group", "eps": 0.0}).value
    for group in (by_group[:3], by_group[3:]):
        assert group.std(ddof=ddof) == pytest.approx(1.0)


def test_rewards_of_any_scale_keep_their_order_and_their_zeroes(batch: Any) -> None:
    t = batch(outcome=[1e6, -1e6, 3e6, 1.0, 0.1, 0.1, 0.1], lengths=[1] * 7, task=[0] * 4 + [1] * 3)
    value = RULE.apply(t, Context(), {"std": "none"}).value
    np.testing.assert_allclose(value[:4], [249999.75, -1750000.25, 2249999.75, -749999.25])
    assert RULE.apply(t, Context(), {"eps": 1e-12}).value[4:].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("verl", 0.5 / (3**-0.5 + 1e-6)),
        ("verl-without-std", 0.5),
        ("trl", 0.5 / (3**-0.5 + 1e-4)),
        ("trl-without-std", 0.5),
        ("mt-grpo", 0.5 / (3**-0.5 + 1e-4)),
        ("spo", 0.5 / (0.5 + 1e-8)),
        ("cts", 0.5 / (0.5 + 1e-6)),
        ("dr-grpo", 0.5),
        ("survey", 0.5),
    ],
)
def test_each_published_form_on_two_of_four(batch: Any, preset: str, expected: float) -> None:
    t = batch(outcome=[1, 0, 0, 1], lengths=[1, 2, 1, 1])
    value = RULE.apply(t, Context(), {"preset": preset}).value
    np.testing.assert_allclose(value, [expected, -expected, -expected, expected], rtol=1e-12)


def test_turns_and_trajectories_are_counted_by_one_function(forest: Any) -> None:
    t = forest(4)
    for vote in ("trajectory", "token"):
        value, alone = episode_advantage(t, Scale(), vote=vote)
        turns, none = turn_advantage(t, std="sample", eps=1e-6, singleton="zero", vote=vote)
        assert np.array_equal(turns, value[t.trajectory_of_turn])
        assert np.array_equal(none, alone[t.trajectory_of_turn])


def test_votes_count_like_repeated_rows() -> None:
    score, group = np.array([1.0, 0.0, 3.0, 0.5]), np.array([0, 0, 0, 1])
    times = np.array([2, 1, 3, 2])
    for std in ("sample", "population", "none"):
        got, _ = relative_scores(score, group, Scale(std), vote=times.astype(float))
        rows, _ = relative_scores(np.repeat(score, times), np.repeat(group, times), Scale(std))
        np.testing.assert_allclose(np.repeat(got, times), rows, atol=1e-12)


def test_reward_functions_are_summed_by_weight_and_what_is_missing_adds_nothing() -> None:
    rewards = np.array([[1.0, np.nan], [0.0, 0.5], [np.nan, np.nan]])
    got = combined_rewards(rewards, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(got, [1.0, 1.0, np.nan])


def test_reward_functions_may_be_standardised_before_they_are_summed() -> None:
    # Each function is -1/sqrt 2 and 1/sqrt 2 whatever its scale; weights 1 and -2 leave -1 of it.
    rewards = np.array([[0.0, 100.0], [1.0, 300.0], [5.0, np.nan]])
    got = combined_rewards(rewards, np.array([1.0, -2.0]), within=np.array([0, 0, 1]), eps=0.0)
    np.testing.assert_allclose(got, [0.5**0.5, -(0.5**0.5), 0.0])


def test_reward_functions_need_one_weight_each() -> None:
    with pytest.raises(RuleError, match="one weight each"):
        combined_rewards(np.zeros((2, 3)), np.ones(2))
