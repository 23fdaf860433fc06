from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, RuleError
from equipoise_conditions.context import Verdicts

RULE = RULES["turn_judge"]
NAN = float("nan")


def judged(score: list[Any], asked: list[bool] | None = None) -> Context:
    table = np.array(score, dtype=float).reshape(len(score), -1)
    return Context(judge=Verdicts(table, np.array(asked or [True] * len(score))))


def test_labels_alone_are_the_credit_and_label_0_zeroes(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    credit = RULE.apply(t, judged([1, 0, -1]), {"centre": "none"})
    assert credit.value.tolist() == [1, 0, -1]
    assert credit.examples.tolist() == [0, 1, 2], "zero stays an example"


@pytest.mark.parametrize(
    ("centre", "mean"),
    [
        ("group", [0, 0, 0, 0.25, 0.25]),
        ("trajectory", [0.5, 0.5, -1, 0.25, 0.25]),
        ("batch", [0.1] * 5),
        ("none", [0] * 5),
    ],
)
def test_scores_are_centred_where_asked(batch: Any, centre: str, mean: list[float]) -> None:
    t = batch(outcome=[1, 0, 1], lengths=[2, 1, 2], task=[0, 0, 1])
    score = [1, 0, -1, 0.5, 0]
    credit = RULE.apply(t, judged(score), {"centre": centre})
    np.testing.assert_allclose(credit.value, np.array(score) - mean)


def test_outcome_and_score_add_up(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 1])
    params = {"centre": "none", "outcome_weight": 2.0, "omega": 0.5, "std": "none"}
    assert RULE.apply(t, judged([1, -1, 0]), params).value.tolist() == [1.5, 0.5, -1.0]


def test_five_points_are_read_as_such_and_refused_as_labels(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    params = {"scale": "five-point", "centre": "none"}
    assert RULE.apply(t, judged([5, 3, 2]), params).value.tolist() == [1, 0, -0.5]
    with pytest.raises(RuleError, match="expected scores from -1 to 1 on the scale 'ternary', got 5"):
        RULE.apply(t, judged([5, 3, 2]))


def test_unasked_and_unreadable_turns_are_told_apart_and_do_not_vote(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 2])
    credit = RULE.apply(t, judged([1, 1, NAN, 0], [True, False, True, True]))
    R = Reason
    assert credit.reason.tolist() == [R.DEFINED, R.NOT_SELECTED, R.UNPARSABLE, R.DEFINED]
    assert credit.value[credit.defined].tolist() == [0.5, -0.5]


@pytest.mark.parametrize(("word", "expected"), [("zero", 0.0), ("outcome", -0.5)])
def test_fallbacks_are_chosen_not_silent(batch: Any, word: str, expected: float) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 2])
    context = judged([1, NAN, 1], [True, True, False])
    credit = RULE.apply(t, context, {"unjudged": word, "unparsable": word, "std": "none"})
    assert credit.value.tolist() == [0.0, expected, expected]


def test_a_lone_trajectory_has_no_group_only_where_the_outcome_enters(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[2])
    undefined = {"singleton": "undefined"}
    assert RULE.apply(t, judged([1, -1]), undefined).value.tolist() == [1, -1]
    mixed = RULE.apply(t, judged([1, -1]), undefined | {"outcome_weight": 1.0})
    assert mixed.reason.tolist() == [Reason.NO_GROUP] * 2
    fallen = RULE.apply(t, judged([1, NAN]), undefined | {"unparsable": "outcome"})
    assert fallen.reason.tolist() == [Reason.DEFINED, Reason.NO_GROUP]


def test_forks_neither_vote_nor_train(batch: Any) -> None:
    t = batch(
        outcome=[1, 0], lengths=[2, 2], parent=[-1, 0], branch=[0, 1], state=[0, 1, 0, 1], action=[0, 0, 0, 1]
    )
    credit = RULE.apply(t, judged([1, -1, -1, -1]), {"unjudged": "outcome"})
    assert credit.reason.tolist() == [Reason.DEFINED] * 2 + [Reason.COPY, Reason.DROPPED]
    assert credit.value[:2].tolist() == [1, -1]


def test_verdicts_of_another_batch_are_refused(batch: Any) -> None:
    with pytest.raises(RuleError, match="measure it on this batch"):
        RULE.apply(batch(outcome=[1], lengths=[2]), judged([1, 0, 1]))
