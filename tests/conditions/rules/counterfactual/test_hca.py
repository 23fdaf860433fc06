from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, RuleError
from equipoise_conditions.rules.counterfactual.hca import return_hca_update, state_hca_update

RULE = RULES["hca"]
NAN = float("nan")


def told(batch: Any, pi: list[float], h: list[float], **columns: Any) -> tuple[Any, Context]:
    """Return a batch whose turns have one token of probability pi, and h with the outcome told."""
    with np.errstate(divide="ignore"):
        return batch(logprob=np.log(pi), **columns), Context(outcome_scores=np.log(h))


def test_likelier_in_hindsight_is_credit_and_unlikelier_is_blame(batch: Any) -> None:
    t, context = told(batch, [0.5, 0.5, 0.5], [0.8, 0.5, 0.25], outcome=[1], lengths=[3])
    credit = RULE.apply(t, context, {"gamma": 1.0})
    np.testing.assert_allclose(credit.value, [1 - 0.5 / 0.8, 0, -1])
    state = RULE.apply(t, context, {"gamma": 1.0, "version": "state"})
    np.testing.assert_allclose(state.value, [0.6, 0, -0.5])


def test_returns_are_discounted_turn_rewards(batch: Any) -> None:
    t, context = told(batch, [0.5, 0.5], [1.0, 1.0], outcome=[1], lengths=[2], reward=[0.5, 1.0])
    credit = RULE.apply(t, context, {"gamma": 0.9})
    np.testing.assert_allclose(credit.value, [(0.5 + 0.9) / 2, 0.5])


def test_a_failure_without_rewards_is_not_told_apart(batch: Any) -> None:
    t, context = told(batch, [0.5, 0.2], [0.9, 0.1], outcome=[0], lengths=[2])
    assert RULE.apply(t, context).value.tolist() == [0.0, 0.0]


def test_hindsight_of_zero_is_undefined_and_never_a_large_number(batch: Any) -> None:
    t, context = told(batch, [0.5] * 3, [0.0, NAN, 0.5], outcome=[1], lengths=[3])
    for version in ("return", "state"):
        credit = RULE.apply(t, context, {"version": version, "limit": 10.0})
        assert credit.reason.tolist() == [Reason.NOT_MEASURED, Reason.NOT_MEASURED, 0]


def test_a_ratio_beyond_floating_point_is_undefined_or_limited(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[1])
    context = Context(outcome_scores=np.array([-1000.0]))
    assert RULE.apply(t, context).reason.tolist() == [Reason.NOT_MEASURED]
    assert RULE.apply(t, context, {"limit": 3.0}).value.tolist() == [-2.0]


def test_actions_of_several_tokens_are_compared_whole_or_by_token(batch: Any) -> None:
    # Two tokens of log-probability -1 and -2; hindsight says -1 a token: ratio exp(-3 + 2) or exp(-1.5 + 1).
    t = batch(outcome=[1], lengths=[1], token_offsets=[0, 2], logprob=[-1.0, -2.0])
    context = Context(outcome_scores=np.array([-1.0]))
    np.testing.assert_allclose(RULE.apply(t, context).value, [1 - np.exp(-1)])
    by_token = RULE.apply(t, context, {"probability": "token"})
    np.testing.assert_allclose(by_token.value, [1 - np.exp(-0.5)])


def test_tokens_outside_the_loss_are_not_the_policys(batch: Any) -> None:
    t = batch(
        outcome=[1],
        lengths=[2],
        token_offsets=[0, 2, 3],
        logprob=[-1.0, -9.0, -1.0],
        mask=[True, False, False],
    )
    credit = RULE.apply(t, Context(outcome_scores=np.array([-1.0, -1.0])))
    assert credit.reason.tolist() == [0, Reason.NOT_MEASURED]
    assert credit.value[0] == 0.0


def test_forks_are_left_out(batch: Any) -> None:
    t, context = told(
        batch,
        [0.5] * 4,
        [0.8] * 4,
        outcome=[1, 1],
        lengths=[2, 2],
        parent=[-1, 0],
        branch=[0, 1],
        state=[0, 1, 0, 1],
    )
    assert RULE.apply(t, context).reason.tolist() == [0, 0, Reason.COPY, Reason.DROPPED]


PI = np.array([[0.5, 0.5], [0.25, 0.75]])
ONE: dict[str, Any] = {
    "states": np.array([0]),
    "actions": np.array([1]),
    "rewards": np.array([2.0]),
    "gamma": 1.0,
}


def test_the_state_update_credits_every_action() -> None:
    h = np.zeros((2, 2, 2))
    h[:, 0, 0] = [0.2, 0.8]
    update = state_hca_update(PI, h, **ONE)
    np.testing.assert_allclose(update.dlogits, [[-0.6, 0.6], [0.0, 0.0]])
    assert update.dV.tolist() == [2.0, 0.0]
    np.testing.assert_allclose(update.dlogits_h[:, 0, 0], [-0.2, 0.2])


def test_the_return_update_credits_the_action_taken_by_the_nearest_bin() -> None:
    h = np.full((2, 2, 3), 0.5)
    h[:, 0, 1] = [0.2, 0.8]
    update = return_hca_update(PI, h, np.array([0.0, 1.5, 2.5]), **ONE)
    # 2 is as near to 1.5 as to 2.5, so the lower bin wins: 2 (1 - .5/.8) = .75, halved by the softmax.
    np.testing.assert_allclose(update.dlogits, [[-0.375, 0.375], [0.0, 0.0]])


def test_the_rule_and_the_update_multiply_returns_alike(batch: Any) -> None:
    h = np.full((2, 2, 1), 0.5)
    h[:, 0, 0] = [0.2, 0.8]
    update = return_hca_update(PI, h, np.array([2.0]), **ONE)
    t, context = told(batch, [0.5], [0.8], outcome=[2.0], lengths=[1])
    credit = RULE.apply(t, context)
    assert update.dlogits[0, 1] == pytest.approx(credit.value[0] * (1 - PI[0, 1]))


def test_steps_that_disagree_are_refused() -> None:
    with pytest.raises(RuleError, match=r"one state, action and reward a step, got \(1, 1, 2\)"):
        state_hca_update(PI, np.ones((2, 2, 2)), **ONE | {"rewards": np.zeros(2)})


def test_no_steps_change_nothing() -> None:
    none = np.array([], dtype=np.int64)
    update = return_hca_update(PI, np.ones((2, 2, 1)), np.zeros(1), none, none, np.zeros(0), 1.0)
    assert not update.dlogits.any()
    assert not update.dlogits_h.any()
