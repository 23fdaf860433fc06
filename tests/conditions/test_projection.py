"""Credit of any granularity as credit of turns and of tokens."""

from typing import Any

import numpy as np
import pytest

from equipoise_conditions import Credit, Reason, RuleError, to_tokens, to_turns

NAN = float("nan")
# Two trajectories: turns of 2, 1 and 3 tokens, the last turn alone in the second.
SHAPE: dict[str, Any] = {"outcome": [1, 0], "lengths": [2, 1], "token_offsets": [0, 2, 3, 6]}


def test_episode_credit_reaches_every_turn_and_token(batch: Any) -> None:
    t = batch(**SHAPE)
    credit = Credit([1.0, NAN], [0, 6], "episode")  # type: ignore[arg-type]
    assert to_turns(credit, t).reason.tolist() == [0, 0, 6]
    np.testing.assert_array_equal(to_tokens(credit, t).value, [1, 1, 1, NAN, NAN, NAN])


def test_agent_credit_reaches_that_agents_turns(batch: Any) -> None:
    t = batch(**SHAPE | {"agent": [0, 1, 1]})
    assert [column.tolist() for column in t.agent_units] == [[0, 0, 1], [0, 1, 1], [0, 1, 2]]
    credit = Credit([1.0, 2.0, 3.0], [0, 0, 0], "agent")  # type: ignore[arg-type]
    assert to_turns(credit, t).value.tolist() == [1.0, 2.0, 3.0]
    assert to_tokens(credit, t).value.tolist() == [1.0, 1.0, 2.0, 3.0, 3.0, 3.0]


def test_token_credit_of_a_turn_is_the_mean_of_its_tokens_in_the_loss(batch: Any) -> None:
    t = batch(**SHAPE | {"mask": [True, True, True, True, False, True]})
    credit = Credit([1.0, 2.0, NAN, 4.0, 100.0, 6.0], [0, 0, 5, 0, 0, 0], "token")  # type: ignore[arg-type]
    turns = to_turns(credit, t)
    np.testing.assert_array_equal(turns.value, [1.5, NAN, 5.0])
    assert turns.reason.tolist() == [Reason.DEFINED, Reason.NOT_MEASURED, Reason.DEFINED]
    assert to_tokens(credit, t).reason.tolist() == [0, 0, 5, 0, Reason.MASKED, 0]


def test_segments_may_span_turns_but_no_two_trajectories(batch: Any) -> None:
    t = batch(**SHAPE)
    credit = Credit([1.0, 3.0, 5.0], [0, 0, 0], "segment", [0, 1, 3, 6])  # type: ignore[arg-type]
    assert to_tokens(credit, t).value.tolist() == [1.0, 3.0, 3.0, 5.0, 5.0, 5.0]
    assert to_turns(credit, t).value.tolist() == [2.0, 3.0, 5.0]
    crossing = Credit([1.0, 3.0], [0, 0], "segment", [0, 2, 6])  # type: ignore[arg-type]
    with pytest.raises(RuleError, match="one holds token 3, where a trajectory begins"):
        to_tokens(crossing, t)


def test_a_token_out_of_the_loss_is_masked_though_its_unit_has_credit(batch: Any) -> None:
    t = batch(**SHAPE)
    out = [False, True, True, False, False, False]
    credit = Credit([1.0, 0.0, 3.0], [0, 0, 0], "turn", None, out)  # type: ignore[arg-type]
    tokens = to_tokens(credit, t)
    assert tokens.reason.tolist() == [10, 0, 0, 10, 10, 10]
    np.testing.assert_array_equal(tokens.value, [NAN, 1, 0, NAN, NAN, NAN])


def test_copies_stay_copies_whatever_their_episode_has(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 2], parent=[-1, 0], branch=[0, 1], state=[0, 1, 0, 1])
    credit = Credit([1.0, 2.0], [0, 0], "episode")  # type: ignore[arg-type]
    assert to_turns(credit, t).reason.tolist() == [0, 0, Reason.COPY, 0]
    assert to_tokens(credit, t).reason.tolist() == [0, 0, Reason.COPY, 0]


@pytest.mark.parametrize("granularity", ["token", "turn", "agent", "episode"])
def test_credit_of_another_batch_is_refused(granularity: str, batch: Any) -> None:
    t = batch(**SHAPE)
    credit = Credit([0.0] * 9, [0] * 9, granularity)  # type: ignore[arg-type]
    with pytest.raises(RuleError, match="is it of another batch"):
        to_turns(credit, t)
