from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Continuations, Reason, RuleError
from equipoise_conditions.rules.values.process_reward import label, step_labels

RULE = RULES["process_reward"]
SCORES = np.array([0.9, 0.2, 0.6])


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"use": "min"}, [0.2, 0.2, 0.6]),
        ({"use": "sum", "gamma": 1.0}, [1.7, 0.8, 0.6]),
        ({"use": "sum", "gamma": 0.5}, [0.9 + 0.1 + 0.15, 0.2 + 0.3, 0.6]),
        ({"use": "difference"}, [0.9, -0.7, 0.4]),
        ({"use": "difference", "base": 0.5}, [0.4, -0.7, 0.4]),
    ],
)
def test_three_scores_by_hand(batch: Any, params: dict[str, Any], expected: list[float]) -> None:
    t = batch(outcome=[1], lengths=[3])
    np.testing.assert_allclose(RULE.apply(t, Context(step_scores=SCORES), params).value, expected, atol=1e-12)


def test_progress_sums_to_the_last_score(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[3, 1])
    context = Context(step_scores=np.array([*SCORES, 0.3]))
    value = RULE.apply(t, context, {"use": "difference"}).value
    assert value[:3].sum() == pytest.approx(0.6)
    assert value[3] == 0.3


def test_only_progress_goes_down(batch: Any) -> None:
    """No baseline is subtracted: without whitening, scores from 0 to 1 punish nothing."""
    t = batch(outcome=[0], lengths=[3])
    context = Context(step_scores=SCORES)
    for use in ("sum", "min"):
        assert (RULE.apply(t, context, {"use": use}).value > 0).all()
        assert (RULE.apply(t, context, {"use": use, "whiten": "batch"}).value < 0).any()


@pytest.mark.parametrize(
    ("use", "undefined"),
    [("sum", [0, 1]), ("min", [0, 1]), ("difference", [1, 2])],
)
def test_a_missing_score_leaves_undefined_what_reads_it(batch: Any, use: str, undefined: list[int]) -> None:
    t = batch(outcome=[1, 1], lengths=[3, 1])
    credit = RULE.apply(t, Context(step_scores=np.array([0.9, np.nan, 0.6, 0.5])), {"use": use})
    assert np.flatnonzero(credit.reason == Reason.NOT_MEASURED).tolist() == undefined


def test_forks_get_no_credit(batch: Any) -> None:
    t = batch(outcome=[1, 1], lengths=[1, 1], parent=[-1, 0], state=np.array([0, 0]))
    assert RULE.apply(t, Context(step_scores=np.ones(2))).reason.tolist() == [0, Reason.DROPPED]


def test_four_continuations_by_hand() -> None:
    outcome = np.array([1.0, 0.0, 0.0, 1.0])
    assert (float(label(outcome, "soft")), float(label(outcome, "hard"))) == (0.5, 1.0)
    assert float(label(np.zeros(4), "hard")) == 0.0
    assert float(label(np.array([0.4, 0.9]), "soft", correct=0.5)) == 0.5


def test_a_step_is_labelled_by_what_followed_it(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[3, 1])
    outcome = np.array([[1.0, 1.0], [1.0, 0.0], [np.nan, np.nan], [0.0, 0.0]])
    measured = Continuations(np.array([0, 0, int(Reason.NOT_RESTORED), 0]), outcome)
    np.testing.assert_array_equal(step_labels(t, measured, "soft"), [0.5, np.nan, 1.0, 0.0])
    np.testing.assert_array_equal(step_labels(t, measured, "hard"), [1.0, np.nan, 1.0, 0.0])


def test_a_label_of_another_kind_or_of_nothing_is_refused() -> None:
    with pytest.raises(RuleError, match="'soft' or 'hard'"):
        label(np.ones(2), "firm")
    with pytest.raises(RuleError, match="at least one continuation"):
        label(np.ones((3, 0)), "soft")
