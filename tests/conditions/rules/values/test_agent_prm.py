from typing import Any

import numpy as np

from equipoise_conditions import RULES, Context, Reason

RULE = RULES["agent_prm"]
PROMISE = np.array([0.4, 0.5, 0.7])
PAPER = {"gamma": 1.0, "lam": 0.95}


def test_three_turns_by_hand(batch: Any) -> None:
    # delta is .1 .2 .3
    t, context = batch(outcome=[1], lengths=[3]), Context(step_scores=PROMISE)
    progress = RULE.apply(t, context, PAPER).value
    np.testing.assert_allclose(progress, [0.1 + 0.95 * 0.485, 0.485, 0.3], atol=1e-12)
    np.testing.assert_allclose(progress, [0.5608, 0.485, 0.3], atol=1e-4)
    promise = RULE.apply(t, context, PAPER | {"label": "promise"}).value
    np.testing.assert_allclose(promise, [0.9608, 0.985, 1.0], atol=1e-4)


def test_promise_that_was_borne_out_is_zeroed_not_dropped(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    credit = RULE.apply(t, Context(step_scores=np.ones(3)), PAPER)
    assert credit.defined.all()
    np.testing.assert_allclose(credit.value, 0.0, atol=1e-12)


def test_progress_is_turn_level_gae_of_the_promise(batch: Any) -> None:
    promise = np.array([*PROMISE, 0.2, 0.9])
    t, context = batch(outcome=[1, 0], lengths=[3, 2]), Context(step_scores=promise, values=promise)
    assert RULE.apply(t, context).digest() == RULES["gae_turn"].apply(t, context).digest()


def test_forks_and_missing_values(batch: Any) -> None:
    t = batch(outcome=[1, 1, 0], lengths=[1, 1, 1], parent=[-1, 0, -1], state=np.array([0, 0, 1]))
    credit = RULE.apply(t, Context(step_scores=np.array([0.5, 0.5, np.nan])))
    assert credit.reason.tolist() == [0, Reason.DROPPED, Reason.NOT_MEASURED]
