from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, MissingNeed, Reason

Q, TREG, SPRO = RULES["r_to_q"], RULES["treg"], RULES["spro"]
NAN = float("nan")


def ratio(*value: float) -> Context:
    return Context(log_ratio=np.array(value))


def test_a_log_ratio_times_beta_is_the_advantage(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    credit = Q.apply(t, ratio(1.0, -2.0, NAN), {"beta": 0.5})
    np.testing.assert_array_equal(credit.value, [0.5, -1.0, NAN])
    assert credit.reason.tolist() == [0, 0, Reason.NOT_MEASURED]


def test_a_contrast_is_the_advantage_whatever_the_outcome(batch: Any) -> None:
    context = Context(contrast=np.array([0.5, NAN]))
    for outcome in (0.0, 1e6):
        credit = TREG.apply(batch(outcome=[outcome], lengths=[2]), context, {"scale": 2.0})
        np.testing.assert_array_equal(credit.value, [1.0, NAN])


def test_tokens_outside_the_loss_forks_and_copies_get_nothing(batch: Any) -> None:
    t = batch(
        outcome=[1, 0], lengths=[2, 2], parent=[-1, 0], branch=[0, 1], state=[1, 2, 1, 2], action=[0, 0, 0, 1],
        mask=np.array([True, False, True, True]),
    )  # fmt: skip
    expected = [0, Reason.MASKED, Reason.COPY, Reason.DROPPED]
    assert Q.apply(t, ratio(1, 1, 1, 1)).reason.tolist() == expected
    assert TREG.apply(t, Context(contrast=np.ones(4))).reason.tolist() == expected
    assert SPRO.apply(t, ratio(1, 1, 1, 1)).reason.tolist() == expected


def test_a_step_is_compared_with_siblings_that_reached_it(batch: Any) -> None:
    # Turn rewards 1 2 and 3 and 5 6 9: means 3, 4 and, reached by one alone, 9.
    t = batch(outcome=[1, 0, 0], lengths=[2, 1, 3])
    context, params = ratio(1, 2, 3, 5, 6, 9), {"beta": 1.0, "cumulative": False}
    assert SPRO.apply(t, context, params).value.tolist() == [-2, -2, 0, 2, 2, 0]
    undefined = SPRO.apply(t, context, params | {"singleton": "undefined"})
    assert undefined.reason.tolist() == [0, 0, 0, 0, 0, Reason.NO_GROUP]
    raw = SPRO.apply(t, context, params | {"singleton": "raw"})
    assert raw.value.tolist() == [-2, -2, 0, 2, 2, 9]


def test_rewards_may_be_summed_up_to_the_step(batch: Any) -> None:
    # Sums 1 3 and 3 and 5 11 20.
    t = batch(outcome=[1, 0, 0], lengths=[2, 1, 3])
    credit = SPRO.apply(t, ratio(1, 2, 3, 5, 6, 9), {"beta": 1.0})
    assert credit.value.tolist() == [-2, -4, 0, 2, 4, 0]


def test_a_turn_is_the_sum_of_its_tokens_in_the_loss_and_gives_its_credit_to_each(batch: Any) -> None:
    t = batch(
        outcome=[1, 0], lengths=[1, 1], token_offsets=[0, 3, 5],
        mask=np.array([True, False, True, True, True]),
    )  # fmt: skip
    credit = SPRO.apply(t, ratio(1, 100, 2, 0, 1), {"beta": 1.0})
    np.testing.assert_array_equal(credit.value, [1, NAN, 1, -1, -1])


def test_tokens_may_be_the_steps_counted_in_the_loss(batch: Any) -> None:
    t = batch(
        outcome=[1, 0], lengths=[1, 1], token_offsets=[0, 3, 5],
        mask=np.array([True, False, True, True, True]),
    )  # fmt: skip
    credit = SPRO.apply(t, ratio(1, 100, 2, 0, 1), {"beta": 1.0, "step": "token", "cumulative": False})
    np.testing.assert_array_equal(credit.value, [0.5, NAN, 0.5, -0.5, -0.5])


def test_an_unknown_ratio_leaves_its_step_and_later_sums_undefined_and_votes_for_nothing(batch: Any) -> None:
    t = batch(outcome=[1, 0, 0], lengths=[2, 2, 2])
    context = ratio(NAN, 2, 1, 2, 3, 4)
    summed = SPRO.apply(t, context, {"beta": 1.0})
    np.testing.assert_array_equal(summed.value, [NAN, NAN, -1, -2, 1, 2])
    assert summed.reason[:2].tolist() == [Reason.NOT_MEASURED] * 2
    alone = SPRO.apply(t, context, {"beta": 1.0, "cumulative": False})
    np.testing.assert_allclose(alone.value, [NAN, -2 / 3, -1, -2 / 3, 1, 4 / 3])


def test_the_outcome_may_be_added(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1])
    params = {"beta": 1.0, "outcome_weight": 2.0, "std": "none"}
    assert SPRO.apply(t, ratio(1, 3), params).value.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("rule", [Q, TREG, SPRO])
def test_what_was_not_measured_is_asked_for(batch: Any, rule: Any) -> None:
    with pytest.raises(MissingNeed, match="score every token"):
        rule.apply(batch(outcome=[1], lengths=[1]), Context())
