from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason
from equipoise_conditions.context import Verdicts

RULE = RULES["critic_search"]
NAN = float("nan")


def labels(score: list[Any], asked: list[bool] | None = None) -> Context:
    table = np.array(score, dtype=float).reshape(len(score), -1)
    return Context(judge=Verdicts(table, np.array(asked or [True] * len(score))))


def test_outcome_and_label_by_hand(batch: Any) -> None:
    # Outcomes 1, 0: +-.5. Labels good, bad, bad, good: +-.5 without a deviation.
    t = batch(outcome=[1, 0], lengths=[2, 2])
    params = {"std": "none"}
    assert RULE.apply(t, labels([1, -1, -1, 1]), params).value.tolist() == [1, 0, -1, 0]
    assert RULE.apply(t, labels([1, 0, 0, 1]), params).value.tolist() == [1, 0, -1, 0], (
        "1 and 0 are labels too"
    )
    half = RULE.apply(t, labels([1, -1, -1, 1]), params | {"omega": 0.5})
    assert half.value.tolist() == [0.75, 0.25, -0.75, -0.25]


def test_both_terms_are_standardised_over_their_own_units(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[3, 1])
    value = RULE.apply(t, labels([1, 1, -1, 1]), {"eps": 0.0}).value
    episode = np.array([1, 1, 1, -1]) * 0.5 / np.sqrt(0.5)
    np.testing.assert_allclose(value, episode + np.array([0.25, 0.25, -0.75, 0.25]) / 0.5)


def test_half_of_the_verdicts_does_not_make_a_turn_good(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[2])
    credit = RULE.apply(t, labels([[1, -1, NAN], [1, 1, -1]]), {"std": "none"})
    assert credit.value.tolist() == [-0.5, 0.5]


def test_labels_all_alike_leave_the_outcome(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 1])
    credit = RULE.apply(t, labels([1, 1, 1]))
    assert credit.value.tolist() == RULES["grpo"].apply(t, Context()).value[[0, 0, 1]].tolist()


def test_the_answer_turn_can_keep_the_outcome(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 2])
    context = labels([1, 0, 1, NAN], [True, False, True, True])
    credit = RULE.apply(t, context, {"std": "none"})
    assert credit.reason.tolist() == [Reason.DEFINED, Reason.NOT_SELECTED, Reason.DEFINED, Reason.UNPARSABLE]
    kept = RULE.apply(t, context, {"std": "none", "unjudged": "outcome", "unparsable": "zero"})
    assert kept.value.tolist() == [0.5, 0.5, -0.5, 0.0]


@pytest.mark.parametrize(("singleton", "expected"), [("zero", [0.5, -0.5]), ("raw", [1.5, 0.5])])
def test_a_lone_trajectory_still_compares_its_turns(
    batch: Any, singleton: str, expected: list[float]
) -> None:
    t = batch(outcome=[1], lengths=[2])
    params = {"std": "none", "singleton": singleton}
    assert RULE.apply(t, labels([1, -1]), params).value.tolist() == expected
    none = RULE.apply(t, labels([1, -1]), {"singleton": "undefined"})
    assert none.reason.tolist() == [Reason.NO_GROUP] * 2
