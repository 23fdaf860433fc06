from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, MissingNeed, Reason, RuleError, to_turns

RULE = RULES["remax"]


def greedy(*outcome: float) -> Context:
    return Context(greedy=np.array(outcome))


def test_the_outcome_is_compared_with_the_greedy_one(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 1], task=[0, 1])
    assert RULE.apply(t, greedy(0.25, 1.0)).value.tolist() == [0.75, 0.75, -1.0]


def test_a_token_earns_what_comes_after_it_across_holes_in_the_mask(batch: Any) -> None:
    mask = np.array([True, False, True, True])
    t = batch(outcome=[3], lengths=[4], reward=np.array([0.5, 9.0, 0.0, 2.0]), mask=mask)
    credit = RULE.apply(t, greedy(1.0))
    assert credit.value[mask].tolist() == [1.5, 1.0, 1.0]
    assert credit.reason.tolist() == [0, Reason.MASKED, 0, 0]
    assert to_turns(credit, t).reason.tolist() == [0, Reason.MASKED, 0, 0]


def test_a_task_with_one_trajectory_is_no_exception(batch: Any) -> None:
    assert RULE.apply(batch(outcome=[1], lengths=[1]), greedy(1.0)).value.tolist() == [0.0]


def test_equal_outcomes_are_worth_what_greedy_decoding_leaves(batch: Any) -> None:
    t = batch(outcome=[1, 1], lengths=[1, 1])
    assert RULE.apply(t, greedy(0.5, 0.5)).value.tolist() == [0.5, 0.5]


def test_a_task_that_was_not_played_greedily_is_left_out(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 2], task=[0, 1])
    credit = RULE.apply(t, greedy(0.5, np.nan))
    assert credit.reason.tolist() == [Reason.DEFINED, Reason.NOT_MEASURED, Reason.NOT_MEASURED]


def test_forks_have_no_credit(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 2], parent=[-1, 0], branch=[0, 1], state=[1, 2, 1, 2])
    credit = RULE.apply(t, greedy(0.0, 0.0))
    assert credit.reason.tolist() == [0, 0, Reason.COPY, Reason.DROPPED]


def test_rewards_of_a_million_are_only_shifted(batch: Any) -> None:
    assert RULE.apply(batch(outcome=[1e6], lengths=[1]), greedy(-1e6)).value.tolist() == [2e6]


def test_greedy_outcomes_are_needed_one_for_each_trajectory(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1])
    with pytest.raises(MissingNeed, match="play every task greedily"):
        RULE.apply(t, Context())
    with pytest.raises(RuleError, match="expected 2 entries"):
        RULE.apply(t, greedy(1.0))
