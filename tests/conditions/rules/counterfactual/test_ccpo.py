from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, RuleError

RULE = RULES["ccpo"]
NAN = float("nan")


@pytest.fixture
def pair(batch: Any) -> Any:
    return batch(outcome=[1, 0], lengths=[2, 2], agent=[0, 1, 0, 1])


def absent(*without: float) -> Context:
    return Context(masked_agents=np.array(without))


def test_credit_is_what_is_lost_without_the_agent(pair: Any) -> None:
    credit = RULE.apply(pair, absent(0, 1, 0, 1))
    assert credit.value.tolist() == [1, 0, 0, -1]
    assert credit.granularity == "agent"


def test_the_worked_game_is_leave_one_out(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3], agent=[0, 1, 2])
    np.testing.assert_allclose(RULE.apply(t, absent(0.2, 0.2, 1)).value, [0.8, 0.8, 0])


def test_the_baseline_may_be_the_groups(pair: Any) -> None:
    # Without agent 0 the group gets (0 + .5)/2, without agent 1 it gets 1.
    credit = RULE.apply(pair, absent(0, 1, 0.5, 1), {"baseline": "group"})
    assert credit.value.tolist() == [0.75, 0, -0.25, -1]


def test_the_joint_outcome_may_stand_beside_it(pair: Any) -> None:
    credit = RULE.apply(pair, absent(0, 1, 0, 1), {"outcome_weight": 2.0})
    assert credit.value.tolist() == [3, 2, 0, -1]


def test_normalised_each_agent_has_its_own_mean_and_deviation(pair: Any) -> None:
    credit = RULE.apply(pair, absent(0, 1, 0, 1), {"normalise": "group"})
    np.testing.assert_allclose(credit.value, np.array([1, 1, -1, -1]) / np.sqrt(2), atol=1e-5)


def test_the_pool_may_be_the_whole_batch(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1], task=[0, 1])
    assert RULE.apply(t, absent(0, 0), {"normalise": "group"}).value.tolist() == [0, 0]
    whole = RULE.apply(t, absent(0, 0), {"normalise": "batch", "std": "none"})
    assert whole.value.tolist() == [0.5, -0.5]


def test_unmeasured_agents_and_forks_have_no_credit_and_no_vote(batch: Any) -> None:
    t = batch(outcome=[1, 0, 1, 1], lengths=[1] * 4, parent=[-1, -1, -1, 0], state=[0, 1, 2, 0])
    for params in ({}, {"baseline": "group"}, {"normalise": "group"}):
        credit = RULE.apply(t, absent(0, 0, NAN, 9), params)
        assert credit.reason.tolist() == [0, 0, Reason.NOT_MEASURED, Reason.DROPPED]
    assert RULE.apply(t, absent(0, 0, NAN, 9), {"baseline": "group"}).value[:2].tolist() == [1, 0]


def test_nothing_measured_is_no_credit_at_all(pair: Any) -> None:
    for params in ({}, {"baseline": "group"}, {"normalise": "batch", "singleton": "raw"}):
        assert RULE.apply(pair, absent(NAN, NAN, NAN, NAN), params).examples.size == 0


def test_a_lone_agent_follows_the_singleton_only_when_normalised(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[1])
    assert RULE.apply(t, absent(0.25), {"singleton": "undefined"}).value.tolist() == [0.75]
    undefined = RULE.apply(t, absent(0.25), {"singleton": "undefined", "normalise": "group"})
    assert undefined.reason.tolist() == [Reason.NO_GROUP]


def test_a_column_of_another_batch_is_refused(pair: Any) -> None:
    with pytest.raises(RuleError, match="masked_agents: expected 4 entries"):
        RULE.apply(pair, absent(1.0))
