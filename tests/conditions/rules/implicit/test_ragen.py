from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason
from equipoise_conditions.rules.implicit.ragen import group_spread, kept_groups

RULE = RULES["ragen"]
# Deviations: 0, .7071, 0, 1.4142.
GROUPS: dict[str, Any] = {
    "outcome": [1, 1, 1, 0, 0, 0, 2, 0],
    "lengths": [1] * 8,
    "task": [0, 0, 1, 1, 2, 2, 3, 3],
}


@pytest.mark.parametrize(
    ("keep", "kept"),
    [(0.25, [3]), (0.5, [1, 3]), (0.49, [3]), (0.0, [3]), (0.75, [0, 1, 3]), (1.0, [0, 1, 2, 3])],
)
def test_the_groups_with_the_largest_spread_stay_and_others_are_dropped(
    batch: Any, keep: float, kept: list[int]
) -> None:
    t = batch(**GROUPS)
    credit = RULE.apply(t, Context(), {"keep": keep})
    stays = np.isin(t.task, kept)
    assert np.array_equal(credit.defined, stays)
    assert (credit.reason[~stays] == Reason.DROPPED).all()
    grpo = RULES["grpo"].apply(t, Context())
    assert credit.value[stays].tolist() == grpo.value[stays].tolist()


def test_zero_stays_an_example_where_too_few_groups_differ(batch: Any) -> None:
    credit = RULE.apply(batch(**GROUPS), Context(), {"keep": 0.75})
    assert credit.defined.tolist() == [True] * 4 + [False] * 2 + [True] * 2
    assert credit.value[:2].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("keep", "slack", "kept"),
    [(0.6, 0.0, [3]), (0.7, 0.0, [1, 3]), (0.67, 0.01, [3]), (0.999, 0.0, [1, 3]), (1.0, 0.0, [0, 1, 2, 3])],
)
def test_the_fewest_groups_that_hold_a_share_of_the_spread(
    batch: Any, keep: float, slack: float, kept: list[int]
) -> None:
    _, spread = group_spread(batch(**GROUPS))
    got = kept_groups(spread, keep=keep, strategy="top_p", slack=slack)
    assert np.flatnonzero(got).tolist() == kept


def test_ties_go_to_the_smaller_key_whatever_the_order_of_the_batch(batch: Any) -> None:
    # Three thirds in every order: the same deviation, to the last bit.
    outcome, task = [1, 0, 0, 0, 1, 0, 0, 0, 1], [7] * 3 + [3] * 3 + [5] * 3
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(9)
        t = batch(outcome=np.array(outcome)[order], lengths=[1] * 9, task=np.array(task)[order].tolist())
        credit = RULE.apply(t, Context(), {"keep": 0.34})
        assert set(t.task[credit.defined].tolist()) == {3}


def test_a_group_of_one_has_no_spread(batch: Any) -> None:
    t = batch(outcome=[5, 1, 0], lengths=[1, 1, 1], task=[0, 1, 1])
    assert RULE.apply(t, Context(), {"keep": 0.5}).defined.tolist() == [False, True, True]
    lone = RULE.apply(t, Context(), {"keep": 1.0, "singleton": "undefined"})
    assert lone.reason.tolist() == [Reason.NO_GROUP, 0, 0]


def test_equal_outcomes_keep_a_group_of_zeroes_or_none(batch: Any) -> None:
    t = batch(outcome=[0.1] * 6, lengths=[1] * 6, task=[0, 0, 0, 1, 1, 1])
    assert RULE.apply(t, Context()).value[:3].tolist() == [0, 0, 0]
    assert not RULE.apply(t, Context(), {"strategy": "top_p"}).defined.any()


def test_forks_neither_vote_nor_train(batch: Any) -> None:
    t = batch(
        outcome=[1, 9, 1, 0],
        lengths=[1, 1, 1, 1],
        task=[0, 0, 1, 1],
        parent=[-1, 0, -1, -1],
        branch=[0] * 4,
        state=[0, 0, 1, 2],
        action=[0, 1, 0, 0],
    )
    credit = RULE.apply(t, Context(), {"keep": 0.5})
    assert credit.reason.tolist() == [Reason.DROPPED] * 2 + [Reason.DEFINED] * 2
