from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Continuations, Reason, RuleError
from equipoise_conditions.rules.values.vineppo import monte_carlo_value, step_advantages, token_advantages

RULE = RULES["vineppo"]
NAN = float("nan")
RESTORED = int(Reason.NOT_RESTORED)


def rolled(values: list[float], why: int = RESTORED) -> Context:
    """Return continuations of two rollouts each whose mean is the value."""
    mean = np.array(values)
    reason = np.where(np.isnan(mean), why, 0)
    return Context(continuations=Continuations(reason, np.stack([mean - 0.25, mean + 0.25], axis=1)))


def test_three_steps_by_hand(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    for params in ({}, {"preset": "vineppo"}):
        assert RULE.apply(t, rolled([0.5, 0.75, 0.25]), params).value.tolist() == [0.25, -0.5, 0.75]


def test_advantages_sum_to_the_rewards_minus_the_first_value(batch: Any) -> None:
    rng = np.random.default_rng(3)
    t = batch(outcome=[1, 0], lengths=[5, 3], reward=rng.normal(size=8))
    values = rng.random(8).tolist()
    value = RULE.apply(t, rolled(values)).value
    assert value[:5].sum() == pytest.approx(t.reward[:5].sum() - values[0])
    assert value[5:].sum() == pytest.approx(t.reward[5:].sum() - values[5])


def test_a_turn_without_both_its_values_is_undefined_for_their_reason(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[4])
    credit = RULE.apply(t, rolled([0.5, NAN, 0.25, 0.5]))
    assert credit.reason.tolist() == [RESTORED, RESTORED, 0, 0]
    np.testing.assert_array_equal(credit.value, [NAN, NAN, 0.25, 0.5])


def test_the_preset_gives_the_unmeasured_tail_exactly_0(batch: Any) -> None:
    t = batch(outcome=[1, 1], lengths=[4, 2], reward=np.array([0.1, 0.2, 0.3, 1.0, 0.7, 0.1]))
    credit = RULE.apply(t, rolled([0.5, 0.25, NAN, NAN, NAN, NAN]), {"preset": "vineppo"})
    np.testing.assert_allclose(credit.value[:2], [0.1 + 0.25 - 0.5, 0.2 + 1.3 - 0.25])
    assert credit.value[2:].tolist() == [0.0] * 4
    assert credit.defined.all(), "zeroed, not dropped"


def test_the_preset_refuses_a_gap(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    with pytest.raises(RuleError, match=r"one at step 1 .*unmeasured: undefined"):
        RULE.apply(t, rolled([0.5, NAN, 0.25]), {"preset": "vineppo"})


def test_a_gap_in_a_fork_is_nobodys_business(batch: Any) -> None:
    t = batch(outcome=[1, 1], lengths=[2, 2], parent=[-1, 0], branch=[0, 1], state=np.array([0, 1, 0, 1]))
    credit = RULE.apply(t, rolled([0.5, 0.5, NAN, 0.5], int(Reason.COPY)), {"preset": "vineppo"})
    assert credit.reason.tolist() == [0, 0, Reason.COPY, Reason.DROPPED]


def test_one_turn_has_its_reward_minus_its_value(batch: Any) -> None:
    assert RULE.apply(batch(outcome=[1], lengths=[1]), rolled([0.25])).value.tolist() == [0.75]


def test_continuations_of_another_batch_are_refused(batch: Any) -> None:
    with pytest.raises(RuleError, match="measure it on this batch"):
        RULE.apply(batch(outcome=[1], lengths=[2]), rolled([0.5]))


def test_the_end_has_no_value_to_estimate() -> None:
    with pytest.raises(RuleError, match="nothing is left"):
        step_advantages(np.zeros(1), np.array([0.5, 0.5]), np.array([0, 1]))
    with pytest.raises(RuleError, match="1 steps and 1 ends, got 3"):
        step_advantages(np.zeros(1), np.zeros(3), np.array([0, 1]))


def test_an_unfinished_rollout_scores_the_penalty_whatever_it_says() -> None:
    assert monte_carlo_value([1.0, 1.0, 0.0], [True, False, True], penalty=-1.0) == pytest.approx(0.0)
    assert np.isnan(monte_carlo_value([], []))
    assert monte_carlo_value([], [], none=0.0) == 0.0
    with pytest.raises(RuleError, match="got 1 for 2"):
        monte_carlo_value([1.0, 0.0], [True])


def test_a_token_belongs_to_the_step_of_its_first_character() -> None:
    # Steps of 3 and 3 characters; the second token straddles, the last two stand for no text.
    got = token_advantages(np.array([1.0, -1.0]), np.array([0, 3, 6]), np.array([0, 2, 4]), 5)
    assert got.tolist() == [1.0, 1.0, -1.0, -1.0, -1.0]


def test_steps_and_tokens_that_do_not_fit_the_text_are_refused() -> None:
    with pytest.raises(RuleError, match="expected 3 boundaries"):
        token_advantages(np.ones(2), np.array([0, 3]), np.array([0]), 1)
    for first in ([-1], [3], []):
        with pytest.raises(RuleError, match="begin inside a text of 3 characters"):
            token_advantages(np.ones(1), np.array([0, 3]), np.array(first, dtype=np.int64), 1)
