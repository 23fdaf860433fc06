"""Rules whose credit is a judge's own number: MAPPA and LLM-MCA."""

from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, RuleError, Verdicts

ACTIONS, AGENTS = RULES["mappa"], RULES["llm_mca"]
NAN = float("nan")


def judged(score: list[list[float]], asked: list[bool] | None = None) -> Context:
    return Context(judge=Verdicts(np.array(score), np.array(asked or [True] * len(score))))


def test_credit_of_an_action_is_the_mean_of_what_could_be_read(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[4])
    context = judged([[8, 6], [3, NAN], [NAN, NAN], [5, 5]], [True, True, True, False])
    credit = ACTIONS.apply(t, context)
    np.testing.assert_array_equal(credit.value, [7, 3, NAN, NAN])
    assert credit.reason.tolist() == [0, 0, Reason.UNPARSABLE, Reason.NOT_MEASURED]


def test_scores_are_standardised_over_batch_or_group(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 2], task=[0, 1])
    context = judged([[1], [3], [5], [7]])
    whole = ACTIONS.apply(t, context, {"whiten": "batch", "eps": 0.0})
    np.testing.assert_allclose(whole.value, np.array([-3, -1, 1, 3]) / np.std([1, 3, 5, 7], ddof=1))
    group = ACTIONS.apply(t, context, {"whiten": "group", "eps": 0.0})
    np.testing.assert_allclose(group.value, np.array([-1, 1, -1, 1]) / np.sqrt(2))


def test_equal_scores_whiten_to_nothing_and_unread_ones_do_not_count(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    credit = ACTIONS.apply(t, judged([[5], [5], [NAN]]), {"whiten": "batch"})
    assert credit.value[:2].tolist() == [0.0, 0.0]
    assert credit.reason.tolist() == [0, 0, Reason.UNPARSABLE]


def test_an_agent_gets_back_the_number_written_on_its_turns(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3], agent=[0, 1, 0])
    context = judged([[0.7], [0.3], [0.7]])
    np.testing.assert_allclose(AGENTS.apply(t, context).value, [0.7, 0.3])
    np.testing.assert_allclose(AGENTS.apply(t, context, {"combine": "sum"}).value, [1.4, 0.3])


def test_an_agent_keeps_credit_while_one_of_its_turns_was_judged(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[4], agent=[0, 0, 1, 2])
    credit = AGENTS.apply(t, judged([[2], [NAN], [NAN], [1]], [True, True, True, False]))
    np.testing.assert_array_equal(credit.value, [2, NAN, NAN])
    assert credit.reason.tolist() == [0, Reason.UNPARSABLE, Reason.NOT_MEASURED]


def test_forks_are_left_out(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 2], parent=[-1, 0], branch=[0, 1], state=[0, 1, 0, 1])
    context = judged([[1], [2], [3], [4]])
    assert ACTIONS.apply(t, context).reason.tolist() == [0, 0, Reason.COPY, Reason.DROPPED]
    assert AGENTS.apply(t, context).reason.tolist() == [0, Reason.DROPPED]


@pytest.mark.parametrize("rule", [ACTIONS, AGENTS], ids=["mappa", "llm_mca"])
def test_verdicts_on_another_batch_are_refused(batch: Any, rule: Any) -> None:
    with pytest.raises(RuleError, match="judge: expected one entry for each of 2 turns, got 1"):
        rule.apply(batch(outcome=[1], lengths=[2]), judged([[1]]))
