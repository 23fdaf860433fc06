from typing import Any

import numpy as np

from equipoise_conditions import RULES, Context, Reason

RULE = RULES["sweet_rl"]


def ratio(values: Any) -> Context:
    return Context(log_ratio=np.array(values, dtype=float))


def test_a_turn_is_worth_its_mean_log_ratio(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[2], token_offsets=[0, 2, 3])
    context = ratio([0.2, 0.4, -1.0])
    np.testing.assert_allclose(RULE.apply(t, context, {"preset": "sweet-rl"}).value, [0.3, -1.0])
    np.testing.assert_allclose(RULE.apply(t, context, {"beta": 0.5, "reduce": "sum"}).value, [0.3, -0.5])


def test_tokens_outside_the_loss_are_not_read(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[2], token_offsets=[0, 2, 3], mask=np.array([True, False, False]))
    credit = RULE.apply(t, ratio([0.2, np.nan, 7.0]), {"beta": 1.0})
    assert credit.reason.tolist() == [Reason.DEFINED, Reason.MASKED]
    assert credit.value[0] == 0.2


def test_a_token_that_was_not_scored_leaves_its_turn_without_credit(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1], token_offsets=[0, 2, 3])
    for hole in (np.nan, np.inf):
        credit = RULE.apply(t, ratio([0.2, hole, 0.0]))
        assert credit.reason.tolist() == [Reason.NOT_MEASURED, Reason.DEFINED]
        assert credit.value[1] == 0.0, "agreement is zero credit, not none"
