from typing import Any

import numpy as np

from equipoise_conditions import RULES, Context, Reason

RULE = RULES["poad"]


def test_only_the_step_between_turns_is_discounted(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[2], token_offsets=[0, 2, 4])
    context = Context(token_values=np.zeros(4))
    returns = RULE.apply(t, context, {"gamma": 0.5, "lam": 1.0})
    assert returns.value.tolist() == [0.5, 0.5, 1.0, 1.0]
    every = RULE.apply(t, context, {"gamma": 0.5, "token_gamma": 0.5, "lam": 1.0})
    assert every.value.tolist() == [0.125, 0.25, 0.5, 1.0]


def test_one_backup_by_hand(batch: Any) -> None:
    # Inside: V' - V. At a turn's end: r + .5 V' - V, and r - V at the last.
    t = batch(outcome=[1], lengths=[2], token_offsets=[0, 2, 4], reward=np.array([0.25, 1.0]))
    values = np.array([0.1, 0.3, 0.6, 0.8])
    credit = RULE.apply(t, Context(token_values=values), {"gamma": 0.5, "lam": 0.0})
    np.testing.assert_allclose(credit.value, [0.2, 0.25 + 0.3 - 0.3, 0.2, 0.2], atol=1e-12)


def test_without_discount_it_is_token_level_gae(batch: Any) -> None:
    rng = np.random.default_rng(5)
    t = batch(outcome=[1, 0], lengths=[2, 2], token_offsets=[0, 2, 3, 6, 7], mask=rng.random(7) < 0.8)
    context = Context(token_values=rng.random(7))
    poad = RULE.apply(t, context, {"gamma": 1.0})
    assert poad.digest() == RULES["gae"].apply(t, context).digest()


def test_a_turn_outside_the_loss_is_passed_over_with_one_discount(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3], mask=np.array([True, False, True]))
    credit = RULE.apply(t, Context(token_values=np.zeros(3)), {"gamma": 0.5, "lam": 1.0})
    assert credit.value[[0, 2]].tolist() == [0.5, 1.0]
    assert credit.reason[1] == Reason.MASKED


def test_missing_values_and_forks(batch: Any) -> None:
    t = batch(outcome=[1, 1, 0], lengths=[1, 1, 1], parent=[-1, 0, -1], state=np.array([0, 0, 1]))
    credit = RULE.apply(t, Context(token_values=np.array([0.5, 0.5, np.nan])))
    assert credit.reason.tolist() == [0, Reason.DROPPED, Reason.NOT_MEASURED]
