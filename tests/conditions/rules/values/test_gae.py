from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, MissingNeed, Reason, RuleError
from equipoise_conditions.rules.values.gae import token_returns, turn_returns

TOKENS, TURNS = RULES["gae"], RULES["gae_turn"]
VALUES = np.array([0.5, 0.6, 0.8])


def test_three_turns_by_hand(batch: Any) -> None:
    # delta is .1 .2 .2
    t = batch(outcome=[1], lengths=[3])
    credit = TURNS.apply(t, Context(values=VALUES), {"gamma": 1.0, "lam": 0.95})
    np.testing.assert_allclose(credit.value, [0.4705, 0.39, 0.2], atol=1e-12)
    np.testing.assert_allclose(turn_returns(t, VALUES, gamma=1.0, lam=0.95), [0.9705, 0.99, 1.0], atol=1e-12)


def test_three_tokens_of_one_turn_by_hand(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[1], token_offsets=[0, 3])
    credit = TOKENS.apply(t, Context(token_values=VALUES), {"lam": 0.95})
    np.testing.assert_allclose(credit.value, [0.4705, 0.39, 0.2], atol=1e-12)
    returns = token_returns(t, VALUES, token_gamma=1.0, lam=0.95, masked_reward="carry")
    np.testing.assert_allclose(returns, [0.9705, 0.99, 1.0], atol=1e-12)


def test_lam_0_is_one_temporal_difference_and_lam_1_the_return_minus_the_value(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    td = TURNS.apply(t, Context(values=VALUES), {"gamma": 1.0, "lam": 0.0}).value
    mc = TURNS.apply(t, Context(values=VALUES), {"gamma": 0.5, "lam": 1.0}).value
    np.testing.assert_allclose(td, [0.1, 0.2, 0.2], atol=1e-12)
    np.testing.assert_allclose(mc, [0.25 - 0.5, 0.5 - 0.6, 1.0 - 0.8], atol=1e-12)


def test_one_turn_has_its_reward_minus_its_value(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[1])
    assert TURNS.apply(t, Context(values=np.array([0.25]))).value.tolist() == [0.75]
    assert TOKENS.apply(t, Context(token_values=np.array([0.25]))).value.tolist() == [0.75]


def test_tokens_outside_the_loss_are_bridged(batch: Any) -> None:
    values = np.array([0.5, 99.0, 0.6, 0.8])
    t = batch(outcome=[1], lengths=[2], token_offsets=[0, 2, 4], mask=np.array([True, False, True, True]))
    credit = TOKENS.apply(t, Context(token_values=values))
    np.testing.assert_allclose(credit.value[[0, 2, 3]], [0.4705, 0.39, 0.2], atol=1e-12)
    assert credit.reason.tolist() == [0, Reason.MASKED, 0, 0]


def test_a_reward_on_a_masked_token_is_carried_unless_as_in_verl(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[1], token_offsets=[0, 2], mask=np.array([True, False]))
    context = Context(token_values=np.zeros(2))
    assert TOKENS.apply(t, context).value[0] == 1.0
    assert TOKENS.apply(t, context, {"masked_reward": "drop"}).value[0] == 0.0


def test_a_value_that_was_not_estimated_leaves_undefined_what_reads_it(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    context = Context(values=np.array([0.5, np.nan, 0.8]))
    missing = int(Reason.NOT_MEASURED)
    assert TURNS.apply(t, context, {"lam": 0.5}).reason.tolist() == [missing, missing, 0]
    assert TURNS.apply(t, context, {"lam": 1.0}).reason.tolist() == [0, missing, 0]


def test_forks_get_no_credit_and_no_say_in_the_whitening(batch: Any) -> None:
    shape: dict[str, Any] = {"outcome": [1, 0, 1], "lengths": [1, 1, 1], "parent": [-1, -1, 0]}
    t = batch(**shape, state=np.array([0, 1, 0]))
    context = Context(values=np.array([0.0, 0.0, -1e6]))
    credit = TURNS.apply(t, context, {"whiten": "batch", "eps": 0.0})
    np.testing.assert_allclose(credit.value[:2], [0.5**0.5, -(0.5**0.5)])
    assert credit.reason.tolist() == [0, 0, Reason.DROPPED]


def test_equal_advantages_are_whitened_to_exactly_nothing(batch: Any) -> None:
    t = batch(outcome=[1, 1, 1], lengths=[1, 1, 1])
    context = Context(token_values=np.full(3, 0.9))
    assert TOKENS.apply(t, context, {"whiten": "batch"}).value.tolist() == [0.0] * 3


def test_large_rewards_keep_their_differences(batch: Any) -> None:
    t = batch(outcome=[1e6, -1e6], lengths=[2, 2])
    credit = TURNS.apply(t, Context(values=np.zeros(4)), {"gamma": 1.0, "lam": 1.0})
    assert credit.value.tolist() == [1e6, 1e6, -1e6, -1e6]


def test_preset_verl_whitens_and_leaves_a_single_token_nothing(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[1])
    lone = TOKENS.apply(t, Context(token_values=np.zeros(1)), {"preset": "verl"})
    assert lone.value.tolist() == [0.0]
    pair = batch(outcome=[1, 0], lengths=[1, 1])
    credit = TOKENS.apply(pair, Context(token_values=np.zeros(2)), {"preset": "verl"})
    np.testing.assert_allclose(credit.value, [0.5**0.5, -(0.5**0.5)], atol=1e-7)


def test_a_batch_outside_the_loss_has_no_examples(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[2], mask=np.zeros(2, dtype=bool))
    credit = TOKENS.apply(t, Context(token_values=np.zeros(2)))
    assert credit.reason.tolist() == [Reason.MASKED] * 2


def test_values_of_another_batch_or_none_are_refused(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    with pytest.raises(RuleError, match="measure it on this batch"):
        TURNS.apply(t, Context(values=np.zeros(2)))
    with pytest.raises(MissingNeed, match="values="):
        TURNS.apply(t, Context())
