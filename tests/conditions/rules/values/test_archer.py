from typing import Any

import numpy as np

from equipoise_conditions import RULES, Context, Need, Reason

RULE = RULES["archer"]


def test_credit_is_quality_minus_value(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 1])
    context = Context(step_scores=np.array([0.75, 0.5, 0.25]), values=np.array([0.5, 0.5, 0.5]))
    credit = RULE.apply(t, context)
    assert credit.value.tolist() == [0.25, 0.0, -0.25]
    assert credit.defined.all(), "a turn as good as its state is zeroed, not dropped"


def test_the_outcome_is_not_read(batch: Any) -> None:
    context = Context(step_scores=np.array([0.75, 0.5]), values=np.zeros(2))
    won, lost = batch(outcome=[1], lengths=[2]), batch(outcome=[0], lengths=[2])
    assert RULE.apply(won, context).digest() == RULE.apply(lost, context).digest()


def test_either_estimate_missing_leaves_the_turn_undefined(batch: Any) -> None:
    assert RULE.needs == {Need.STEP_SCORES, Need.VALUES}
    t = batch(outcome=[1], lengths=[3])
    context = Context(step_scores=np.array([np.nan, 1.0, 1.0]), values=np.array([0.0, np.nan, 0.0]))
    assert RULE.apply(t, context).reason.tolist() == [Reason.NOT_MEASURED, Reason.NOT_MEASURED, 0]


def test_forks_get_no_credit(batch: Any) -> None:
    t = batch(outcome=[1, 1], lengths=[1, 1], parent=[-1, 0], state=np.array([0, 0]))
    credit = RULE.apply(t, Context(step_scores=np.ones(2), values=np.zeros(2)))
    assert credit.reason.tolist() == [0, Reason.DROPPED]
