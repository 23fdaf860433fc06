from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, Replays, RuleError
from equipoise_conditions.rules.counterfactual.c3 import against_the_others

RULE = RULES["c3"]
ONCE = {"alternatives": 3, "rollouts": 1}
NAN = float("nan")


def replays(rows: Any, reason: list[int] | None = None) -> Context:
    """Return one continuation of each action, that of the action taken first."""
    rewards = np.array(rows, dtype=float)
    return Context(replays=Replays(np.array(reason or [0] * len(rows)), rewards[:, :1], rewards[:, 1:, None]))


def test_the_worked_vector() -> None:
    np.testing.assert_allclose(against_the_others(np.array([1.0, 0, 1, 0])), [2 / 3, -2 / 3, 2 / 3, -2 / 3])


def test_each_is_compared_with_the_mean_of_the_others() -> None:
    reward = np.random.default_rng(0).normal(size=(5, 4))
    for i in range(4):
        expected = reward[:, i] - np.delete(reward, i, axis=1).mean(axis=1)
        np.testing.assert_allclose(against_the_others(reward)[:, i], expected)


def test_the_action_taken_has_the_credit(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    credit = RULE.apply(t, replays([[1, 0, 1, 0], [0, 1, 1, 1], [1, 1, 1, 1]]), ONCE)
    np.testing.assert_allclose(credit.value, [2 / 3, -1, 0])


def test_ties_are_exactly_zero_whatever_the_scale(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[2])
    credit = RULE.apply(t, replays([[1e6 / 3] * 4, [0.3, 0.1, 0.3, 0.5]]), ONCE)
    assert credit.value.tolist() == [0.0, 0.0]
    assert credit.examples.size == 2


def test_decisions_that_were_not_branched_say_why(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[3, 2], parent=[-1, 0], branch=[0, 1], state=[0, 1, 2, 0, 1])
    reason = [0, int(Reason.NOT_SELECTED), int(Reason.NO_ALTERNATIVE), 0, 0]
    rows = [[1, 0, 0, 0], [NAN] * 4, [NAN] * 4, [1, 1, 1, 1], [1, 1, 1, 1]]
    credit = RULE.apply(t, replays(rows, reason), ONCE)
    assert credit.reason.tolist() == [*reason[:3], Reason.COPY, Reason.DROPPED]


def test_on_the_same_replays_it_is_the_replay_rule(batch: Any) -> None:
    rng = np.random.default_rng(1)
    t = batch(outcome=[1], lengths=[6])
    same = Context(replays=Replays(np.zeros(6, int), rng.random((6, 3)), rng.random((6, 4, 3))))
    np.testing.assert_allclose(RULE.apply(t, same).value, RULES["replay"].apply(t, same).value, atol=1e-12)


def test_replays_of_other_size_are_refused(batch: Any) -> None:
    with pytest.raises(RuleError, match="expected 4 alternatives of 3 rollouts, got 3 of 1"):
        RULE.apply(batch(outcome=[1], lengths=[1]), replays([[1, 0, 1, 0]]))
