from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, RuleError
from equipoise_conditions.rules.counterfactual.hcapo import hindsight_return

RULE = RULES["hcapo"]
SCORES = np.array([-0.5, -1.0, -2.0, -1.0, -1.0, -1.0])


@pytest.fixture
def pair(batch: Any) -> Any:
    """A success and a failure of three turns each."""
    return batch(outcome=[1, 0], lengths=[3, 3])


def test_returns_are_those_of_the_worked_example(pair: Any) -> None:
    got = hindsight_return(pair, SCORES)
    np.testing.assert_allclose(got, [1.0234, 0.9747, 0.8400, 0, 0, 0], atol=5e-5)


def test_turn_terms_are_those_of_the_worked_example(pair: Any) -> None:
    credit = RULE.apply(pair, Context(hindsight=SCORES), {"std": "population"})
    micro = credit.value - np.array([1, 1, 1, -1, -1, -1])
    np.testing.assert_allclose(micro, [1.156, 1.054, 0.771, -0.993, -0.993, -0.993], atol=5e-4)


def test_the_ratio_is_clipped(pair: Any) -> None:
    scores = np.array([0.0, -10.0, -10.0, 0, 0, 0])
    # exp(0) = 1, exp(-2) = .135: ratios 2.36 and .32 become 1.2 and .8, discounted by .9025, .95, 1.
    np.testing.assert_allclose(hindsight_return(pair, scores)[:3], [1.083, 0.76, 0.8])
    with pytest.raises(RuleError, match="expected clip_low <= clip_high"):
        hindsight_return(pair, scores, clip_low=2.0)


def test_smoothing_leans_on_the_next_turn_of_the_same_trajectory(pair: Any) -> None:
    plain = hindsight_return(pair, SCORES)
    smooth = hindsight_return(pair, SCORES, alpha=0.5)
    assert smooth[0] == pytest.approx((plain[0] + plain[1]) / 2)
    assert smooth[2] == plain[2]


def test_no_harm_is_done_to_successes(batch: Any) -> None:
    # Two successes alone: the turn term must have negatives, which become 0; the episode term is 0.
    t = batch(outcome=[1, 1], lengths=[3, 3])
    harmless = RULE.apply(t, Context(hindsight=SCORES))
    harmful = RULE.apply(t, Context(hindsight=SCORES), {"do_no_harm": False})
    assert harmful.value.min() < 0
    np.testing.assert_array_equal(harmless.value, np.maximum(harmful.value, 0))


def test_the_pool_is_a_task_or_the_batch(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1], task=[0, 1])
    context = Context(hindsight=np.array([-1.0, -1.0]))
    assert RULE.apply(t, context).value.tolist() == [0.0, 0.0]
    np.testing.assert_allclose(RULE.apply(t, context, {"pool": "batch"}).value, [1, -1], atol=1e-5)


def test_turns_that_were_not_scored_are_not_measured(pair: Any) -> None:
    scores = np.where(np.arange(6) == 1, np.nan, SCORES)
    credit = RULE.apply(pair, Context(hindsight=scores))
    assert credit.reason.tolist() == [0, Reason.NOT_MEASURED, 0, 0, 0, 0]


@pytest.mark.parametrize("score", [1e4, 0.5, float("inf")])
def test_a_probability_above_one_is_refused(pair: Any, score: float) -> None:
    scores = np.where(np.arange(6) == 4, score, SCORES)
    with pytest.raises(RuleError, match=r"expected log-probabilities, at most 0, got \S+ at turn 4"):
        RULE.apply(pair, Context(hindsight=scores))


def test_failures_are_not_told_apart(pair: Any) -> None:
    credit = RULE.apply(pair, Context(hindsight=np.array([-1.0, -1, -1, -0.1, -5, -9])))
    assert np.ptp(credit.value[3:]) == 0
