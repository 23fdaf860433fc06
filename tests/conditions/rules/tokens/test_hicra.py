from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, RuleError
from equipoise_conditions.rules.tokens.hicra import amplified, entropy_marks

HICRA, ENTROPY = RULES["hicra"], RULES["hicra_entropy"]


def marks(*tokens: int) -> Context:
    return Context(planning=np.array(tokens, dtype=bool))


def test_praise_grows_and_blame_shrinks_on_planning_tokens(batch: Any) -> None:
    # Outcomes 2 and 0 differ from their mean by 1 and −1.
    t = batch(outcome=[2, 0], lengths=[2, 2])
    credit = HICRA.apply(t, marks(1, 0, 0, 1), {"std": "none"})
    np.testing.assert_allclose(credit.value, [1.2, 1.0, -1.0, -0.8])
    assert credit.granularity == "token"


def test_without_planning_tokens_it_is_grpo(forest: Any) -> None:
    t = forest(1)
    value = HICRA.apply(t, marks(*[0] * t.n_tokens)).value
    grpo = RULES["grpo"].apply(t, Context()).value[t.trajectory_of_token]
    np.testing.assert_array_equal(value[~np.isnan(value)], grpo[~np.isnan(value)])


def test_alpha_above_one_praises_the_blamed() -> None:
    value = amplified(np.array([-1.0, 1.0]), np.array([True, True]), 1.5)
    assert value.tolist() == [0.5, 2.5]


def test_marks_of_another_batch_are_refused(batch: Any) -> None:
    with pytest.raises(RuleError, match="planning: expected 2 entries"):
        HICRA.apply(batch(outcome=[1], lengths=[2]), marks(1))
    with pytest.raises(RuleError, match="one mark for each of 1 tokens, got 2"):
        amplified(np.array([1.0]), np.array([True, False]), 0.2)


def test_forks_copies_and_tokens_outside_the_loss_get_nothing(batch: Any) -> None:
    t = batch(
        outcome=[1, 0, 1], lengths=[2, 2, 2], parent=[-1, -1, 0], branch=[0, 0, 1], state=[1, 2, 1, 3, 1, 2],
        action=[0, 0, 1, 0, 0, 1], mask=np.array([True, False, True, True, True, True]),
    )  # fmt: skip
    credit = HICRA.apply(t, marks(1, 1, 1, 1, 1, 1), {"std": "none"})
    assert credit.reason.tolist() == [0, Reason.MASKED, 0, 0, Reason.COPY, Reason.DROPPED]
    np.testing.assert_allclose(credit.value[[0, 2, 3]], [0.6, -0.4, -0.4])


def test_a_group_of_one_is_zero_raw_or_undefined(batch: Any) -> None:
    t = batch(outcome=[2], lengths=[2])
    assert HICRA.apply(t, marks(1, 0)).value.tolist() == [0.0, 0.0]
    raw = HICRA.apply(t, marks(1, 0), {"singleton": "raw", "std": "none"})
    assert raw.value.tolist() == [2.4, 2.0]
    assert HICRA.apply(t, marks(1, 0), {"singleton": "undefined"}).reason.tolist() == [Reason.NO_GROUP] * 2


def test_uncertain_tokens_count_only_in_correct_answers_longer_than_average(batch: Any) -> None:
    # Four tokens (correct), two (correct), three (wrong): the mean is three, so only the first is longer.
    t = batch(
        outcome=[1, 1, 0], lengths=[4, 2, 3], token=np.arange(9),
        entropy=np.array([0.1, 0.4, 0.2, 0.3, 0.1, 0.9, 0.1, 0.9, 0.8]),
    )  # fmt: skip
    plain = ENTROPY.apply(t, marks(*[0] * 9), {"std": "none", "entropy_share": 0.5}).value
    # Place floor(.5 · 4) = 2 holds 0.3; only 0.4 is above it.
    np.testing.assert_allclose(plain, np.array([1, 1.2, 1, 1, 1, 1, -2, -2, -2]) / 3)


def test_a_group_without_a_correct_answer_is_left_alone_planning_tokens_too(batch: Any) -> None:
    t = batch(outcome=[0, 0, 1, 0], lengths=[1, 1, 1, 1], task=[0, 0, 1, 1])
    advantage = np.array([-1.0, -1.0, 1.0, -1.0])
    marked = entropy_marks(t, advantage, np.ones(4, dtype=bool), 0.3)
    assert marked.tolist() == [False, False, True, True]


def test_an_answer_without_tokens_in_the_loss_is_never_amplified(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 1], mask=np.array([False, False, True]))
    marked = entropy_marks(t, np.array([1.0, 1.0, -1.0]), np.zeros(3, dtype=bool), 0.3)
    assert not marked.any()


def test_a_bound_in_single_precision_may_let_its_own_token_pass(batch: Any) -> None:
    # 0.7 rounds down in single precision, so 0.7 is above its own bound.
    t = batch(outcome=[1, 0], lengths=[3, 1], entropy=np.array([0.1, 0.2, 0.7, 0.5]))
    advantage, planning = np.array([1.0, 1.0, 1.0, -1.0]), np.zeros(4, dtype=bool)
    assert not entropy_marks(t, advantage, planning, 0.3).any()
    single = entropy_marks(t, advantage, planning, 0.3, single_bound=True)
    assert single.tolist() == [False, False, True, False]
