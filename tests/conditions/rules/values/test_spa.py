from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Boundary, Context, Reason, RuleError

SPA, RED = RULES["spa"], RULES["red"]


def test_turns_get_what_the_prediction_gained(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[3, 1])
    progress = Boundary(np.array([0.25, 0.5]), np.array([0.5, 0.5, 1.0, 0.125]))
    credit = SPA.apply(t, Context(progress=progress))
    assert credit.value.tolist() == [0.25, 0.0, 0.5, -0.375]
    assert credit.defined.all(), "a turn without progress is zeroed, not dropped"
    assert credit.value[:3].sum() == 1.0 - 0.25


def test_the_running_sum_of_contributions_gives_them_back(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    contributions = np.array([0.5, -0.25, 0.75])
    progress = Boundary(np.zeros(1), np.cumsum(contributions))
    assert SPA.apply(t, Context(progress=progress)).value.tolist() == contributions.tolist()


def test_a_missing_prediction_leaves_both_its_turns_undefined(batch: Any) -> None:
    t = batch(outcome=[1, 1], lengths=[3, 1])
    progress = Boundary(np.array([0.0, np.nan]), np.array([0.5, np.nan, 1.0, 1.0]))
    credit = SPA.apply(t, Context(progress=progress))
    assert credit.reason.tolist() == [0] + [Reason.NOT_MEASURED] * 3


def test_predictions_of_another_batch_are_refused(batch: Any) -> None:
    t = batch(outcome=[1, 1], lengths=[3, 1])
    with pytest.raises(RuleError, match="expected 2 entries before and 4 after, got 1 and 4"):
        SPA.apply(t, Context(progress=Boundary(np.zeros(1), np.zeros(4))))


def test_tokens_get_what_the_prediction_gained(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 1], token_offsets=[0, 2, 3, 4])
    context = Context(token_progress=np.array([0.25, 0.5, 1.0, 0.5]))
    assert RED.apply(t, context).value.tolist() == [0.25, 0.25, 0.5, 0.5]
    assert RED.apply(t, context, {"base": 0.25}).value.tolist() == [0.0, 0.25, 0.5, 0.25]


def test_what_a_tools_output_gains_belongs_to_no_token(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3], mask=np.array([True, False, True]))
    credit = RED.apply(t, Context(token_progress=np.array([0.25, 0.75, 1.0])))
    assert credit.value[[0, 2]].tolist() == [0.25, 0.25]
    assert credit.reason[1] == Reason.MASKED


def test_forks_get_no_credit(batch: Any) -> None:
    t = batch(outcome=[1, 1], lengths=[1, 1], parent=[-1, 0], state=np.array([0, 0]))
    spa = SPA.apply(t, Context(progress=Boundary(np.zeros(2), np.ones(2))))
    red = RED.apply(t, Context(token_progress=np.ones(2)))
    assert spa.reason.tolist() == red.reason.tolist() == [0, Reason.DROPPED]
