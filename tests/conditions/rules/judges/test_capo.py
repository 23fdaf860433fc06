from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, RuleError
from equipoise_conditions.context import Verdicts

RULE = RULES["capo"]
NAN = float("nan")


def critiques(score: list[Any], asked: list[bool] | None = None) -> Context:
    table = np.array(score, dtype=float).reshape(len(score), -1)
    return Context(judge=Verdicts(table, np.array(asked or [True] * len(score))))


def test_wrong_steps_are_fined_and_compared_in_the_group(batch: Any) -> None:
    # Rewards 1, .5 (a wrong step of the success), 0, -.5: mean .25, sample deviation sqrt(5/12).
    t = batch(outcome=[1, 0], lengths=[2, 2])
    credit = RULE.apply(t, critiques([1, -1, 1, -1]), {"eps": 0.0})
    expected = np.array([0.75, 0.25, -0.25, -0.75]) / np.sqrt(5 / 12)
    np.testing.assert_allclose(credit.value, expected)
    assert RULE.apply(t, critiques([1, -1, 1, -1]), {"std": "none"}).value.tolist() == [
        0.75,
        0.25,
        -0.25,
        -0.75,
    ]


@pytest.mark.parametrize(
    ("vote", "wrong"),
    [("majority", [False, True, False, True]), ("intersection", [False, False, False, True])],
)
def test_critiques_vote(batch: Any, vote: str, wrong: list[bool]) -> None:
    # One of three, two of three, one of the two that could be read, and all.
    score = [[-1, 1, 1], [-1, -1, 1], [-1, 1, NAN], [-1, -1, NAN]]
    t = batch(outcome=[0], lengths=[4])
    value = RULE.apply(t, critiques(score), {"ballot": vote, "std": "none", "penalty": -1.0}).value
    np.testing.assert_allclose(value, -np.array(wrong, dtype=float) + np.mean(wrong))


def test_a_judge_of_right_and_wrong_by_1_and_0_has_its_own_bound(batch: Any) -> None:
    t = batch(outcome=[0], lengths=[2])
    assert RULE.apply(t, critiques([1, 0]), {"std": "none"}).value.tolist() == [0, 0]
    bound = {"std": "none", "wrong_below": 0.5}
    assert RULE.apply(t, critiques([1, 0]), bound).value.tolist() == [0.25, -0.25]


def test_what_cannot_be_read_falls_back_to_the_outcome_and_votes(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 1])
    credit = RULE.apply(t, critiques([NAN, -1, 1]), {"std": "none"})
    np.testing.assert_allclose(credit.value, [0.5, 0, -0.5])
    undefined = RULE.apply(t, critiques([NAN, -1, 1]), {"std": "none", "unparsable": "undefined"})
    assert undefined.reason.tolist() == [Reason.UNPARSABLE, Reason.DEFINED, Reason.DEFINED]
    np.testing.assert_allclose(undefined.value[1:], [0.25, -0.25])


def test_steps_nobody_was_asked_about_are_not_selected(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1])
    context = critiques([1, 1], [False, True])
    assert RULE.apply(t, context).reason.tolist() == [Reason.NOT_SELECTED, Reason.DEFINED]
    assert RULE.apply(t, context, {"unjudged": "outcome", "std": "none"}).value.tolist() == [0.5, -0.5]
    zero = RULE.apply(t, context, {"unjudged": "zero"})
    assert zero.value.tolist() == [0, 0]
    assert zero.defined.all()


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_equal_outcomes_without_a_wrong_step_zero_the_group(batch: Any, outcome: float) -> None:
    t = batch(outcome=[outcome] * 3, lengths=[1, 2, 1])
    assert RULE.apply(t, critiques([1, 1, 1, 1])).value.tolist() == [0] * 4


def test_a_reward_for_wrong_steps_is_refused(batch: Any) -> None:
    with pytest.raises(RuleError, match="penalty: expected a number of at most 0"):
        RULE.validate({"penalty": 0.5})
