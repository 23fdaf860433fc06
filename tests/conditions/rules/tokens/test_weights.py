from typing import Any

import numpy as np

from equipoise_conditions import RULES, Context, Reason, to_tokens
from equipoise_conditions.rules.tokens.weights import top_rho_thresholds, uncertainty_weights

GTPO, MASK = RULES["gtpo"], RULES["entropy_mask"]
PLAIN = {"std": "none"}


def test_uncertain_tokens_weigh_more_and_the_mean_stays(batch: Any) -> None:
    # h / mean h = .5, 1, 1.5; the advantage is 1 and −1.
    t = batch(outcome=[2, 0], lengths=[3, 1], entropy=np.array([0.5, 1.0, 1.5, 1.0]))
    credit = GTPO.apply(t, Context(), PLAIN | {"beta": 1.0})
    np.testing.assert_allclose(credit.value, [0.5, 1.0, 1.5, -1.0], atol=1e-7)
    assert GTPO.apply(t, Context(), PLAIN | {"beta": 0.0}).value.tolist() == [1.0, 1.0, 1.0, -1.0]


def test_surprisal_may_stand_in_for_entropy(batch: Any) -> None:
    t = batch(outcome=[2, 0], lengths=[2, 1], logprob=np.array([-1.0, -3.0, -1.0]), entropy=np.ones(3))
    credit = GTPO.apply(t, Context(), PLAIN | {"beta": 1.0, "signal": "surprisal"})
    np.testing.assert_allclose(credit.value, [0.5, 1.5, -1.0], atol=1e-7)


def test_the_mean_is_over_tokens_in_the_loss(batch: Any) -> None:
    t = batch(
        outcome=[2, 0], lengths=[3, 1], entropy=np.array([1.0, 100.0, 3.0, 1.0]),
        mask=np.array([True, False, True, True]),
    )  # fmt: skip
    credit = GTPO.apply(t, Context(), PLAIN | {"beta": 1.0})
    np.testing.assert_allclose(credit.value[[0, 2]], [0.5, 1.5], atol=1e-7)
    assert credit.reason[1] == Reason.MASKED


def test_floor_cap_and_an_answer_without_uncertainty() -> None:
    row = np.array([0, 0, 1, 1, 2, 2])
    value = np.array([0.0, 2.0, 1.0, 100.0, 0.0, 0.0])
    weight = uncertainty_weights(value, row, 4, beta=2.0, cap=3.0)
    np.testing.assert_allclose(weight, [0.0, 3.0, 0.0, 2.0, 1.0, 1.0], atol=1e-7)


def test_the_threshold_keeps_at_least_one_and_all_ties() -> None:
    value = np.array([0.1, 0.5, 0.9, 0.3, 0.7, 0.5, 0.5])
    row = np.array([0, 0, 0, 0, 0, 1, 1])
    assert top_rho_thresholds(value, row, 3, 0.5).tolist() == [0.7, 0.5, 0.0]
    assert top_rho_thresholds(value, row, 3, 0.01).tolist() == [0.9, 0.5, 0.0]
    assert top_rho_thresholds(value, row, 1, 0.0).tolist() == [np.inf]
    assert top_rho_thresholds(value, row, 1, 1.0).tolist() == [-np.inf]


def test_other_tokens_leave_the_loss_or_stay_in_it_with_zero(batch: Any) -> None:
    t = batch(outcome=[2, 0], lengths=[2, 2], entropy=np.array([0.1, 0.9, 0.2, 0.8]))
    masked = MASK.apply(t, Context(), PLAIN | {"rho": 0.5})
    assert masked.loss_mask.tolist() == [False, True, False, True]
    assert to_tokens(masked, t).reason.tolist() == [Reason.MASKED, 0, Reason.MASKED, 0]
    zero = MASK.apply(t, Context(), PLAIN | {"rho": 0.5, "below": "zero"})
    assert zero.value.tolist() == [0.0, 1.0, 0.0, -1.0]
    assert to_tokens(zero, t).defined.all()


def test_a_share_of_the_batch_is_not_a_share_of_each_trajectory(batch: Any) -> None:
    t = batch(outcome=[2, 0], lengths=[2, 2], entropy=np.array([0.1, 0.2, 0.8, 0.9]))
    assert MASK.apply(t, Context(), {"rho": 0.5}).loss_mask.tolist() == [False, False, True, True]
    each = MASK.apply(t, Context(), {"rho": 0.5, "scope": "trajectory"})
    assert each.loss_mask.tolist() == [False, True, False, True]


def test_forks_and_masked_tokens_do_not_move_the_threshold(batch: Any) -> None:
    t = batch(
        outcome=[2, 0, 1], lengths=[2, 2, 2], parent=[-1, -1, 0], branch=[0, 0, 1], state=[1, 2, 1, 3, 1, 2],
        action=[0, 0, 1, 0, 0, 1], entropy=np.array([0.1, 0.9, 0.2, 0.8, 5.0, 5.0]),
        mask=np.array([True, True, True, False, True, True]),
    )  # fmt: skip
    credit = to_tokens(MASK.apply(t, Context(), PLAIN | {"rho": 0.34}), t)
    assert credit.reason.tolist() == [
        Reason.MASKED,
        0,
        Reason.MASKED,
        Reason.MASKED,
        Reason.COPY,
        Reason.DROPPED,
    ]
    assert credit.value[1] == 1.0


def test_keeping_all_is_grpo(forest: Any) -> None:
    t = forest(2)
    value = MASK.apply(t, Context(), {"rho": 1.0}).value
    grpo = RULES["grpo"].apply(t, Context()).value[t.trajectory_of_token]
    np.testing.assert_array_equal(value[~np.isnan(value)], grpo[~np.isnan(value)])


def test_a_group_of_one_without_siblings_may_be_undefined(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[1])
    for rule in (GTPO, MASK):
        assert rule.apply(t, Context(), {"singleton": "undefined"}).reason.tolist() == [Reason.NO_GROUP]
        assert rule.apply(t, Context()).value.tolist() == [0.0]
