from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason
from equipoise_conditions.rules.implicit.confidence import turn_confidence

PROBABILITIES = [0.9, 0.5, 0.8]  # of the tokens of one turn


@pytest.mark.parametrize(
    ("measure", "expected"), [("mean", -0.3406), ("geometric", 0.7114), ("sum", -1.0217), ("min", 0.5)]
)
def test_three_tokens_by_hand(batch: Any, measure: str, expected: float) -> None:
    t = batch(outcome=[1], lengths=[1], token_offsets=[0, 3], logprob=np.log(PROBABILITIES))
    assert turn_confidence(t, measure) == pytest.approx([expected], abs=5e-5)


def test_negative_entropy_is_that_of_the_tokens(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[2], token_offsets=[0, 2, 3], entropy=[0.2, 0.4, 1.0])
    np.testing.assert_allclose(turn_confidence(t, "negative_entropy"), [-0.3, -1.0])


@pytest.mark.parametrize("measure", ["mean", "geometric", "sum", "min", "negative_entropy"])
def test_tokens_outside_the_loss_are_not_read(batch: Any, measure: str) -> None:
    shape: dict[str, Any] = {"outcome": [1], "lengths": [1]}
    hole = batch(
        **shape,
        token_offsets=[0, 3],
        logprob=[-1, -9, -2],
        entropy=[1, 9, 2],
        mask=np.array([True, False, True]),
    )
    without = batch(**shape, token_offsets=[0, 2], logprob=[-1, -2], entropy=[1, 2])
    assert turn_confidence(hole, measure) == pytest.approx(turn_confidence(without, measure))


def test_a_turn_without_a_token_in_the_loss_is_masked_and_has_no_vote(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3], logprob=[-1, -5, -3], mask=np.array([True, False, True]))
    for name in ("confidence", "fluency"):
        credit = RULES[name].apply(t, Context())
        assert credit.reason.tolist() == [Reason.DEFINED, Reason.MASKED, Reason.DEFINED]
        assert credit.value[[0, 2]].tolist() == [1.0, -1.0]


@pytest.mark.parametrize(
    ("centre", "mean"),
    [
        ("none", [0] * 4),
        ("trajectory", [-2, -2, -4, -5]),
        ("group", [-8 / 3] * 3 + [-5]),
        ("batch", [-13 / 4] * 4),
    ],
)
def test_confidence_is_centred_where_asked(batch: Any, centre: str, mean: list[float]) -> None:
    t = batch(outcome=[1, 0, 1], lengths=[2, 1, 1], task=[0, 0, 1], logprob=[-1, -3, -4, -5])
    credit = RULES["confidence"].apply(t, Context(), {"centre": centre})
    np.testing.assert_allclose(credit.value, np.array([-1, -3, -4, -5]) - mean, atol=1e-12)


def test_fluency_is_another_quantity_than_confidence_by_default(batch: Any) -> None:
    # One token of log-probability -1; three of -.5 each: the second is more confident and less likely as a whole.
    t = batch(outcome=[1], lengths=[2], token_offsets=[0, 1, 4], logprob=[-1, -0.5, -0.5, -0.5])
    confidence = RULES["confidence"].apply(t, Context()).value
    fluency = RULES["fluency"].apply(t, Context()).value
    assert confidence.tolist() == [-0.25, 0.25]
    assert fluency.tolist() == [0.25, -0.25]
    same = RULES["fluency"].apply(t, Context(), {"measure": "mean"})
    assert same.value.tolist() == confidence.tolist(), "the audit's fluency, by length, is our confidence"


def test_equal_confidence_and_one_turn_give_zero(batch: Any) -> None:
    for t in (batch(outcome=[1, 0], lengths=[2, 2]), batch(outcome=[1], lengths=[1])):
        assert not RULES["confidence"].apply(t, Context()).value.any()
