from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, to_tokens

PLUS, BASELINE = RULES["reinforce_pp"], RULES["reinforce_pp_baseline"]
EXACT = {"eps": 0.0, "std": "population"}


def one_turn(batch: Any, rewards: list[list[float]], **columns: Any) -> Any:
    """Return each row as a trajectory of one turn with one token a reward."""
    sizes = [len(row) for row in rewards]
    return batch(
        outcome=[sum(row) for row in rewards],
        lengths=[1] * len(rewards),
        token_offsets=np.concatenate(([0], np.cumsum(sizes))),
        token_reward=np.concatenate(rewards),
        **columns,
    )


def test_returns_are_discounted_by_token_and_whitened_over_all_of_them(batch: Any) -> None:
    t = one_turn(batch, [[0, 1], [0, 0]])
    half = PLUS.apply(t, Context(), EXACT | {"token_gamma": 0.5}).value
    returns = np.array([0.5, 1, 0, 0])
    np.testing.assert_allclose(half, (returns - returns.mean()) / returns.std())
    assert PLUS.apply(t, Context(), EXACT).value.tolist() == [1.0, 1.0, -1.0, -1.0]


def test_a_hole_in_the_mask_ends_the_return_of_the_turns_before_it(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[3, 1], mask=np.array([True, False, True, True]))
    credit = PLUS.apply(t, Context(), EXACT | {"std": "none"})
    np.testing.assert_allclose(credit.value[[0, 2, 3]], [-1 / 3, 2 / 3, -1 / 3])
    assert credit.reason.tolist() == [0, Reason.MASKED, 0, 0]


def test_a_reward_outside_the_loss_reaches_nobody(batch: Any) -> None:
    t = one_turn(batch, [[0, 0, 7], [0, 1, 0]], mask=np.array([1, 1, 0, 1, 1, 1], dtype=bool))
    credit = PLUS.apply(t, Context(), {"std": "none"})
    np.testing.assert_allclose(credit.value[[0, 1, 3, 4, 5]], [-0.4, -0.4, 0.6, 0.6, -0.4])


def test_groups_make_no_difference_to_returns(batch: Any) -> None:
    rows: list[list[float]] = [[0, 1], [0, 0], [1, 1]]
    one, many = one_turn(batch, rows), one_turn(batch, rows, task=[0, 1, 2])
    assert PLUS.apply(one, Context()).digest() == PLUS.apply(many, Context()).digest()


@pytest.mark.parametrize("preset", [{}, {"preset": "verl"}])
def test_equal_returns_are_nothing_to_learn_from(batch: Any, preset: dict[str, str]) -> None:
    t = one_turn(batch, [[0, 0.1], [0, 0.1], [0.1]])
    credit = PLUS.apply(t, Context(), preset)
    # Divided by n + 1e-8 as by verl, a mean falls short of what it is the mean of: 0.1 / 5 * 1e-8 * 1e4.
    np.testing.assert_allclose(credit.value, [2e-6] * 5 if preset else [0.0] * 5, rtol=1e-6)
    assert credit.counts_by_reason() == {"DEFINED": 5}


@pytest.mark.parametrize("rule", [PLUS, BASELINE])
@pytest.mark.parametrize("preset", [{}, {"preset": "verl"}])
def test_one_token_in_the_loss_has_nothing_to_be_compared_with(
    batch: Any, rule: Any, preset: dict[str, str]
) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1], mask=np.array([True, False]))
    credit = to_tokens(rule.apply(t, Context(), preset), t)
    assert credit.value[0] == 0.0
    assert credit.reason.tolist() == [Reason.DEFINED, Reason.MASKED]


@pytest.mark.parametrize("rule", [PLUS, BASELINE])
def test_without_a_token_in_the_loss_there_is_no_credit(batch: Any, rule: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1], mask=np.zeros(2, dtype=bool))
    assert to_tokens(rule.apply(t, Context()), t).counts_by_reason() == {"MASKED": 2}


@pytest.mark.parametrize("rule", [PLUS, BASELINE])
def test_forks_neither_vote_nor_train(batch: Any, rule: Any) -> None:
    shape: dict[str, Any] = {"parent": [-1, -1, 0], "branch": [0, 0, 1], "state": [1, 2, 3, 1, 2]}
    with_fork = batch(outcome=[1, 0, 50], lengths=[2, 1, 2], **shape)
    without = batch(outcome=[1, 0], lengths=[2, 1], state=[1, 2, 3])
    credit = to_tokens(rule.apply(with_fork, Context()), with_fork)
    expected = to_tokens(rule.apply(without, Context()), without)
    assert credit.value[:3].tolist() == expected.value.tolist()
    assert credit.reason[3:].tolist() == [Reason.COPY, Reason.DROPPED]


def test_longer_trajectories_weigh_more_in_the_whitening(batch: Any) -> None:
    # Against the mean 1/2: .5 three times and -.5 once; mean .25, deviation sqrt(3)/4.
    t = batch(outcome=[1, 0], lengths=[3, 1])
    credit = BASELINE.apply(t, Context(), EXACT)
    assert credit.granularity == "episode"
    np.testing.assert_allclose(credit.value, [1 / np.sqrt(3), -np.sqrt(3)])


def test_a_group_of_equal_outcomes_gets_minus_the_mean_of_the_batch(batch: Any) -> None:
    t = batch(outcome=[1, 1, 1, 0], lengths=[1, 1, 3, 1], task=[0, 0, 1, 1])
    credit = BASELINE.apply(t, Context(), {"std": "none"})
    np.testing.assert_allclose(credit.value, np.array([0, 0, 0.5, -0.5]) - 1 / 6)


@pytest.mark.parametrize(
    ("singleton", "expected"),
    [("zero", [0.0, 0.5, -0.5]), ("raw", [2.0, -0.5, -1.5]), ("undefined", [np.nan, 0.5, -0.5])],
)
def test_a_group_of_one_in_the_whitening(batch: Any, singleton: str, expected: list[float]) -> None:
    t = batch(outcome=[3, 1, 0], lengths=[1, 1, 1], task=[0, 1, 1])
    credit = BASELINE.apply(t, Context(), {"std": "none", "singleton": singleton})
    np.testing.assert_allclose(credit.value, expected)
    assert (credit.reason[0] == Reason.NO_GROUP) == (singleton == "undefined")


def test_a_trajectory_without_a_token_in_the_loss_votes_in_its_group_only(batch: Any) -> None:
    t = batch(outcome=[4, 1, 1], lengths=[1, 1, 1], mask=np.array([False, True, True]))
    credit = to_tokens(BASELINE.apply(t, Context(), {"std": "none"}), t)
    assert credit.value[1:].tolist() == [0.0, 0.0]
    assert credit.reason[0] == Reason.MASKED


def test_the_score_may_be_the_sum_of_token_rewards(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1], reward=np.array([5.0, 0.0]))
    credit = BASELINE.apply(t, Context(), {"std": "none", "score": "tokens"})
    assert credit.value.tolist() == [2.5, -2.5]


@pytest.mark.parametrize("rule", [PLUS, BASELINE])
def test_rewards_of_a_million_are_whitened_like_others(batch: Any, rule: Any) -> None:
    small = batch(outcome=[1, 0, 0.5], lengths=[2, 1, 1])
    large = batch(outcome=[1e6, 0, 5e5], lengths=[2, 1, 1])
    exact = {"eps": 0.0}
    np.testing.assert_allclose(
        rule.apply(large, Context(), exact).value, rule.apply(small, Context(), exact).value
    )
