from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, Replays, RuleError

RULE = RULES["replay"]
NAN = float("nan")


@pytest.fixture
def replays() -> Replays:
    """Turn 0: the worked example; turn 1: no difference; turn 2: no alternative; turn 3: not selected."""
    none = np.full((4, 3), NAN)
    return Replays(
        reason=np.array([0, 0, Reason.NO_ALTERNATIVE, Reason.NOT_SELECTED]),
        factual=np.array([[1, 1, 0], [1, 0, 0], [NAN] * 3, [NAN] * 3]),
        alternative=np.stack(
            [
                np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 1, 0]], dtype=float),
                np.array([[1, 0, 0]] * 4, dtype=float),
                none,
                none,
            ]
        ),
    )


def test_the_worked_contrast_and_every_reason(batch: Any, replays: Replays) -> None:
    credit = RULE.apply(batch(outcome=[1], lengths=[4]), Context(replays=replays))
    np.testing.assert_allclose(credit.value, [1 / 3, 0, NAN, NAN])
    assert credit.reason.tolist() == [0, 0, Reason.NO_ALTERNATIVE, Reason.NOT_SELECTED]
    assert credit.examples.tolist() == [0, 1]


def test_zero_contrasts_are_dropped_only_when_asked(batch: Any, replays: Replays) -> None:
    credit = RULE.apply(batch(outcome=[1], lengths=[4]), Context(replays=replays), {"zeros": "drop"})
    assert credit.reason.tolist() == [0, Reason.DROPPED, Reason.NO_ALTERNATIVE, Reason.NOT_SELECTED]


def test_replays_of_other_size_are_refused(batch: Any, replays: Replays) -> None:
    with pytest.raises(RuleError, match="expected 4 alternatives of 2 rollouts, got 4 of 3"):
        RULE.apply(batch(outcome=[1], lengths=[4]), Context(replays=replays), {"rollouts": 2})
