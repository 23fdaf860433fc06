from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason
from equipoise_conditions.projection import to_tokens, to_turns

RULE = RULES["uniform"]


def test_every_call_of_every_trajectory_gets_one(batch: Any) -> None:
    t = batch(outcome=[1, 0, -3], lengths=[2, 1, 3], task=[0, 0, 1])
    credit = RULE.apply(t, Context())
    assert credit.value.tolist() == [1.0, 1.0, 1.0]
    assert to_turns(credit, t).total == t.n_turns


def test_every_call_gets_the_return_of_its_trajectory(batch: Any) -> None:
    t = batch(outcome=[1e6, 0, -3], lengths=[2, 1, 3])
    turns = to_turns(RULE.apply(t, Context(), {"preset": "agent-lightning"}), t)
    assert turns.value.tolist() == [1e6, 1e6, 0.0, -3.0, -3.0, -3.0]


def test_the_return_may_be_the_sum_of_rewards(batch: Any) -> None:
    t = batch(outcome=[9, 9], lengths=[2, 1], reward=np.array([0.5, 1.0, -2.0]))
    assert RULE.apply(t, Context(), {"give": "tokens"}).value.tolist() == [1.5, -2.0]


@pytest.mark.parametrize("give", ["one", "outcome", "tokens"])
def test_forks_are_dropped_and_masked_tokens_have_none(batch: Any, give: str) -> None:
    t = batch(
        outcome=[1, 0, 5],
        lengths=[1, 1, 1],
        parent=[-1, -1, 0],
        state=[0, 1, 0],
        mask=np.array([True, False, True]),
    )
    credit = RULE.apply(t, Context(), {"give": give})
    assert credit.reason.tolist() == [Reason.DEFINED, Reason.DEFINED, Reason.DROPPED]
    assert to_tokens(credit, t).reason.tolist() == [Reason.DEFINED, Reason.MASKED, Reason.DROPPED]
