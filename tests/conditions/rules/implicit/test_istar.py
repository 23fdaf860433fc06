from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason

RULE = RULES["istar"]
ONE = {"beta": 1.0, "std": "none"}


def ratio(values: Any) -> Context:
    return Context(log_ratio=np.array(values, dtype=float))


def test_outcome_and_implicit_reward_by_hand(batch: Any) -> None:
    # Turn rewards are sums: .3, .1 | -.2, .6, with mean .2; outcomes 1, 0.
    t = batch(outcome=[1, 0], lengths=[2, 2], token_offsets=[0, 2, 3, 4, 5])
    context = ratio([0.1, 0.2, 0.1, -0.2, 0.6])
    np.testing.assert_allclose(RULE.apply(t, context, ONE).value, [0.6, 0.4, -0.9, -0.1])
    np.testing.assert_allclose(RULE.apply(t, context, ONE | {"omega": 0.5}).value, [0.55, 0.45, -0.7, -0.3])
    halved = RULE.apply(t, context, ONE | {"beta": 0.5})
    np.testing.assert_allclose(halved.value, [0.55, 0.45, -0.7, -0.3])


def test_standardised_terms_forget_beta(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 2])
    context, exact = ratio([0.3, 0.1, -0.2, 0.6]), {"eps": 0.0}
    a, b = (RULE.apply(t, context, exact | {"beta": beta}).value for beta in (0.1, 7.0))
    np.testing.assert_allclose(a, b)
    deviation = np.std([0.3, 0.1, -0.2, 0.6], ddof=1)
    episode = np.array([1, 1, -1, -1]) * 0.5 / np.sqrt(0.5)
    np.testing.assert_allclose(a, episode + np.array([0.1, -0.1, -0.4, 0.4]) / deviation)


def test_first_turns_alone_set_the_baseline_as_in_the_code(batch: Any) -> None:
    # First turns .3 and -.2: mean .05; leave one out doubles both differences.
    t = batch(outcome=[1, 0], lengths=[2, 2])
    context = ratio([0.3, 0.1, -0.2, 0.6])
    first = ONE | {"baseline": "first_turn"}
    np.testing.assert_allclose(RULE.apply(t, context, first).value, [0.75, 0.55, -0.75, 0.05])
    doubled = RULE.apply(t, context, first | {"estimator": "leave_one_out"})
    np.testing.assert_allclose(doubled.value, [1.5, 1.1, -1.5, 0.1])


def test_leaving_one_turn_out_is_by_turns_where_turns_vote(batch: Any) -> None:
    t = batch(outcome=[0, 0], lengths=[2, 1])
    value = RULE.apply(t, ratio([3, 0, 0]), {"beta": 1.0, "estimator": "leave_one_out"}).value
    np.testing.assert_allclose(value, [3, -1.5, -1.5])


def test_rewards_are_scaled_by_the_largest_of_the_batch(batch: Any) -> None:
    t = batch(outcome=[0, 0], lengths=[1, 1], token_offsets=[0, 2, 3])
    value = RULE.apply(t, ratio([-1, -3, 1]), ONE | {"scale": "largest"}).value
    np.testing.assert_allclose(value, np.array([-2.5, 2.5]) / (4 + 1e-6))


@pytest.mark.parametrize(("singleton", "expected"), [("zero", [0, 0]), ("raw", [1.3, 1.1])])
def test_a_lone_trajectory_where_first_turns_vote(batch: Any, singleton: str, expected: list[float]) -> None:
    t = batch(outcome=[1], lengths=[2])
    params = ONE | {"baseline": "first_turn", "singleton": singleton}
    np.testing.assert_allclose(RULE.apply(t, ratio([0.3, 0.1]), params).value, expected)


def test_a_lone_trajectory_compares_its_turns_or_has_no_group(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[2])
    np.testing.assert_allclose(RULE.apply(t, ratio([0.3, 0.1]), ONE).value, [0.1, -0.1])
    none = RULE.apply(t, ratio([0.3, 0.1]), {"singleton": "undefined"})
    assert none.reason.tolist() == [Reason.NO_GROUP] * 2


def test_a_first_turn_that_was_not_scored_leaves_the_vote_to_the_next(batch: Any) -> None:
    t = batch(outcome=[0, 0], lengths=[2, 1])
    credit = RULE.apply(t, ratio([np.nan, 1, 0]), ONE | {"baseline": "first_turn"})
    assert credit.reason.tolist() == [Reason.NOT_MEASURED, 0, 0]
    assert credit.value[1:].tolist() == [0.5, -0.5]


def test_equal_outcomes_and_rewards_give_zero(batch: Any) -> None:
    t = batch(outcome=[1, 1, 1], lengths=[1, 2, 1])
    assert not RULE.apply(t, ratio([0.1] * 4)).value.any()


def test_forks_neither_vote_nor_train(batch: Any) -> None:
    t = batch(
        outcome=[1, 0], lengths=[2, 2], parent=[-1, 0], branch=[0, 1], state=[0, 1, 0, 1], action=[0, 0, 0, 1]
    )
    for params in (ONE, {"preset": "istar-rloo"}):
        credit = RULE.apply(t, ratio([0.3, 0.1, 9, 9]), params)
        assert credit.reason.tolist() == [0, 0, Reason.COPY, Reason.DROPPED]
    np.testing.assert_allclose(RULE.apply(t, ratio([0.3, 0.1, 9, 9]), ONE).value[:2], [0.1, -0.1])
