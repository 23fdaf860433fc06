from typing import Any

import numpy as np

from equipoise_conditions import RULES, Context, Reason
from equipoise_conditions.rules.values.mc_prm import history_codes, visit_counts

RULE = RULES["mc_prm"]


def test_two_episodes_that_begin_alike_by_hand(batch: Any) -> None:
    # Outcomes become +1 and -1; the first move saw both, the second moves differ.
    t = batch(
        outcome=[1, 0], lengths=[3, 2], state=np.array([0, 1, 2, 0, 1]), action=np.array([0, 1, 2, 0, 2])
    )
    value = RULE.apply(t, Context(), {"gamma": 0.5}).value
    assert value.tolist() == [0.5, 0.75, 0.625, 0.5, 0.25]
    assert visit_counts(t).tolist() == [2, 1, 1, 2, 1]


def test_late_turns_are_discounted_more_unless_counted_from_the_end(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    assert RULE.apply(t, Context(), {"gamma": 0.5}).value.tolist() == [1.0, 0.75, 0.625]
    from_the_end = RULE.apply(t, Context(), {"gamma": 0.5, "discount_from": "end"})
    assert from_the_end.value.tolist() == [0.625, 0.75, 1.0]


def test_without_discount_it_is_the_mean_outcome_of_the_visits(batch: Any) -> None:
    t = batch(outcome=[1, 0, 0], lengths=[1, 1, 1], state=np.array([0, 0, 0]), action=np.array([1, 1, 0]))
    for start in ("start", "end"):
        value = RULE.apply(t, Context(), {"gamma": 1.0, "discount_from": start}).value
        assert value.tolist() == [0.5, 0.5, 0.0]


def test_the_whole_history_tells_visits_apart(batch: Any) -> None:
    # Both reach state 5 and do the same there, by another first action, from another state, in another task.
    t = batch(
        outcome=[1, 0, 0, 0],
        lengths=[2, 2, 2, 2],
        task=[0, 0, 0, 1],
        state=np.array([0, 5, 0, 5, 1, 5, 0, 5]),
        action=np.array([0, 1, 2, 1, 0, 1, 0, 1]),
    )
    code, n_codes = history_codes(t)
    assert n_codes == len(set(code.tolist())) == 8


def test_forks_are_neither_visits_nor_examples(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1], parent=[-1, 0], state=np.array([0, 0]))
    credit = RULE.apply(t, Context())
    assert credit.reason.tolist() == [0, Reason.DROPPED]
    assert credit.value[0] == 1.0


def test_no_credit_is_negative_unless_whitened(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1], state=np.array([0, 1]))
    assert RULE.apply(t, Context()).value.tolist() == [1.0, 0.0]
    white = RULE.apply(t, Context(), {"whiten": "batch", "std": "population", "eps": 0.0})
    assert white.value.tolist() == [1.0, -1.0]
