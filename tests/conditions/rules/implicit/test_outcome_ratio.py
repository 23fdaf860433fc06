from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, RuleError

RULE = RULES["outcome_ratio"]
NAN = float("nan")


def told(score: list[float]) -> Context:
    return Context(outcome_scores=np.array(score, dtype=float))


def test_the_ratio_by_hand(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    value = RULE.apply(t, told([-0.5, -1, -2]), {"form": "rho", "centre": "none"}).value
    np.testing.assert_allclose(value, [1.1339, 1.0260, 0.8400], atol=5e-5)
    tight = {"form": "rho", "centre": "none", "clip_low": 0.9, "clip_high": 1.1}
    np.testing.assert_allclose(
        RULE.apply(t, told([-0.5, -1, -2]), tight).value, [1.1, 1.0260, 0.9], atol=5e-5
    )


def test_the_increment_is_what_telling_the_outcome_adds_by_length(batch: Any) -> None:
    # Mean log-probabilities without the outcome: -1 (two tokens) and -3.
    t = batch(outcome=[1], lengths=[2], token_offsets=[0, 2, 3], logprob=[-0.5, -1.5, -3])
    value = RULE.apply(t, told([-0.75, -3.5]), {"centre": "none"}).value
    assert value.tolist() == [0.25, -0.5]
    assert RULE.apply(t, told([-0.75, -3.5])).value.tolist() == [0.375, -0.375]


def test_an_outcome_that_tells_nothing_gives_the_increment_zero_and_rho_fluency(batch: Any) -> None:
    logprob = [-0.1, -2.0, -1.0]
    t = batch(outcome=[1], lengths=[3], logprob=logprob)
    assert not RULE.apply(t, told(logprob)).value.any()
    rho = RULE.apply(t, told(logprob), {"form": "rho"}).value
    assert np.argsort(rho).tolist() == np.argsort(logprob).tolist()


def test_turns_without_a_score_have_no_credit_and_no_vote(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[3, 1])
    for form in ("rho", "increment"):
        credit = RULE.apply(t, told([-1, NAN, -2, NAN]), {"form": form, "centre": "none"})
        assert credit.reason.tolist() == [0, Reason.NOT_MEASURED, 0, Reason.NOT_MEASURED]
        alone = RULE.apply(batch(outcome=[1], lengths=[2]), told([-1, -2]), {"form": form, "centre": "none"})
        assert credit.value[[0, 2]].tolist() == alone.value.tolist()


@pytest.mark.parametrize("scale", [1e6, 1e3])
def test_very_unlikely_actions_do_not_vanish(batch: Any, scale: float) -> None:
    t = batch(outcome=[1], lengths=[2])
    value = RULE.apply(t, told([-scale, -scale - 0.5]), {"form": "rho", "centre": "none"}).value
    np.testing.assert_allclose(value, 2 * np.exp([0, -0.1]) / (1 + np.exp(-0.1)))


def test_an_empty_clip_is_refused(batch: Any) -> None:
    with pytest.raises(RuleError, match="expected clip_low <= clip_high, got 2 > 1"):
        RULE.apply(batch(outcome=[1], lengths=[1]), told([-1]), {"clip_low": 2, "clip_high": 1})


def test_scores_of_another_batch_are_refused(batch: Any) -> None:
    with pytest.raises(RuleError, match="measure it on this batch"):
        RULE.apply(batch(outcome=[1], lengths=[2]), told([-1]))
