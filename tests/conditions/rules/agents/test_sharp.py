from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, RuleError

RULE = RULES["sharp"]
NAN = float("nan")


@pytest.fixture
def pair(batch: Any) -> Any:
    """A success and a failure of two agents, each acting once."""
    return batch(outcome=[1, 0], lengths=[2, 2], agent=[0, 1, 0, 1])


def context(without: list[float], tool: list[float]) -> Context:
    return Context(masked_agents=np.array(without), tool_reward=np.array(tool))


def test_reward_is_broadcast_plus_marginal_plus_tools(pair: Any) -> None:
    # Agent 0: 1 + .5 (1 - 0) + 2 * .1 = 1.7 and 0 + 0 + .2 = .2: mean .95. Agent 1: 1 + 0 and 0 - .5: mean .25.
    params = {"lambda_s": 0.5, "lambda_p": 2.0, "std": "none"}
    credit = RULE.apply(pair, context([0, 1, 0, 1], [0.1, 0, 0.1, 0]), params)
    np.testing.assert_allclose(credit.value, [0.75, 0.75, -0.75, -0.75])
    assert credit.granularity == "agent"


def test_each_agent_is_standardised_by_its_own_group(pair: Any) -> None:
    credit = RULE.apply(pair, context([0, 1, 0, 1], [0, 0, 0, 0]))
    # Rewards 2, 0 of agent 0 and 1, -1 of agent 1: both half a difference of 2, over the deviation root 2.
    np.testing.assert_allclose(credit.value, [2**-0.5, 2**-0.5, -(2**-0.5), -(2**-0.5)], atol=1e-5)


def test_the_marginal_is_one_mask_and_no_shapley_value(batch: Any) -> None:
    # The worked game: without 0 or 1 the team gets .2, without 2 it gets 1. Marginals .8, .8, 0 add up to 1.6.
    t = batch(outcome=[1, 0], lengths=[3, 3], agent=[0, 1, 2] * 2)
    scores = context([0.2, 0.2, 1, 0, 0, 0], [0.0] * 6)
    both = RULE.apply(t, scores, {"std": "none"}).value
    team = RULE.apply(t, scores, {"std": "none", "lambda_s": 0.0}).value
    # Centred over a success and a failure without marginals, half of each marginal is left.
    np.testing.assert_allclose(2 * (both - team)[:3], [0.8, 0.8, 0.0])
    assert "no Shapley value" in RULE.card.caveats


def test_redundant_agents_have_no_marginal(batch: Any) -> None:
    t = batch(outcome=[1, 1], lengths=[2, 2], agent=[0, 1, 0, 1])
    credit = RULE.apply(t, context([1, 1, 1, 1], [0, 0, 0, 0]))
    assert credit.value.tolist() == [0.0] * 4
    assert credit.defined.all()


def test_rounding_of_equal_rewards_is_no_credit(batch: Any) -> None:
    # .3 - .1 and .4 - .2 differ by rounding only; dividing by their deviation would make it credit.
    t = batch(outcome=[0.3, 0.3, 0.3], lengths=[1, 1, 1])
    credit = RULE.apply(t, context([0.1] * 3, [0.0] * 3))
    assert credit.value.tolist() == [0.0] * 3


def test_unmeasured_agents_are_undefined_and_do_not_vote(batch: Any) -> None:
    t = batch(outcome=[1, 0, 1], lengths=[1, 1, 1])
    credit = RULE.apply(t, context([0, 0, NAN], [0, 0, 0]), {"std": "none"})
    assert credit.reason.tolist() == [0, 0, Reason.NOT_MEASURED]
    assert credit.value[:2].tolist() == [1.0, -1.0]
    tool = RULE.apply(t, context([0, 0, 0], [0, NAN, 0]))
    assert tool.reason.tolist() == [0, Reason.NOT_MEASURED, 0]


@pytest.mark.parametrize("infinite", [float("inf"), -float("inf")])
def test_what_is_not_finite_is_not_measured(batch: Any, infinite: float) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1])
    masked = RULE.apply(t, context([infinite, 0], [0, 0]))
    assert masked.reason.tolist() == [Reason.NOT_MEASURED, 0]
    assert masked.value[1] == 0.0, "alone among the measured"
    tool = RULE.apply(t, context([0, infinite], [0, infinite]), {"lambda_p": 0.0, "lambda_s": 0.0})
    assert tool.reason.tolist() == [0, Reason.NOT_MEASURED]


def test_a_lone_agent_gets_zero_its_raw_reward_or_nothing(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[1])
    scores = context([0.5], [0.0])
    assert RULE.apply(t, scores).value.tolist() == [0.0]
    assert RULE.apply(t, scores, {"singleton": "raw"}).value[0] == pytest.approx(1.5 / (1 + 1e-6))
    assert RULE.apply(t, scores, {"singleton": "undefined"}).reason.tolist() == [Reason.NO_GROUP]


def test_forks_neither_vote_nor_have_credit(batch: Any) -> None:
    t = batch(outcome=[1, 0, 1], lengths=[1, 1, 1], parent=[-1, -1, 0], state=[0, 1, 0])
    credit = RULE.apply(t, context([0, 0, 9], [0, 0, 9]), {"std": "none"})
    assert credit.reason.tolist() == [0, 0, Reason.DROPPED]
    assert credit.value[:2].tolist() == [1.0, -1.0]


def test_a_column_of_another_batch_is_refused(pair: Any) -> None:
    with pytest.raises(RuleError, match=r"masked_agents: expected 4 entries, got \(2,\)"):
        RULE.apply(pair, context([0, 0], [0, 0, 0, 0]))
