from typing import Any

import numpy as np
import pytest
from tests.conditions.measured import enriched, full_context

from equipoise_conditions import RULES, Context, MissingNeed, Need, Reason, RuleError, to_turns
from equipoise_conditions.context import Verdicts
from equipoise_conditions.rules.judges.router import judged_share

RULE = RULES["router"]
LOGPROB = [-0.1, -2.0, -0.5, -3.0]  # of four turns with one token each


def judge(score: list[float]) -> Context:
    return Context(judge=Verdicts(np.array(score, dtype=float)[:, None], np.ones(len(score), dtype=bool)))


def test_only_turns_below_the_threshold_keep_the_judges_credit(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 2], logprob=LOGPROB)
    params = {"by": "threshold", "threshold": -1.0, "over_parameters": {"centre": "none"}}
    credit = RULE.apply(t, judge([1, 1, -1, -1]), params)
    assert credit.reason.tolist() == [3, 0, 3, 0]
    assert credit.value[credit.defined].tolist() == [1, -1]
    assert judged_share(t, params) == 0.5


def test_the_threshold_itself_is_not_below_it(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 2], logprob=LOGPROB)
    assert judged_share(t, {"by": "threshold", "threshold": -2.0}) == 0.25


@pytest.mark.parametrize(
    ("word", "others"), [("zero", [0.0, 0.0]), ("outcome", [0.5, -0.5]), ("undefined", [np.nan, np.nan])]
)
def test_the_other_turns_get_what_was_chosen(batch: Any, word: str, others: list[float]) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 2], logprob=LOGPROB)
    params = {"quantile": 0.5, "unjudged": word, "std": "none", "over_parameters": {"centre": "none"}}
    credit = RULE.apply(t, judge([1, 1, -1, -1]), params)
    np.testing.assert_array_equal(credit.value[[0, 2]], others)
    assert credit.value[[1, 3]].tolist() == [1, -1]
    assert (credit.reason[[0, 2]] == (Reason.NOT_SELECTED if word == "undefined" else Reason.DEFINED)).all()


def test_verdicts_that_would_not_have_been_asked_for_are_hidden(batch: Any) -> None:
    # Centred over the two routed turns only: their mean is 0, that of all four is not.
    t = batch(outcome=[1, 0], lengths=[2, 2], logprob=LOGPROB)
    credit = RULE.apply(t, judge([1, 1, 1, -1]), {"quantile": 0.5})
    assert credit.value[[1, 3]].tolist() == [1, -1]


def test_equal_confidence_routes_nothing(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 2])
    assert judged_share(t) == 0.0
    assert RULE.apply(t, judge([1, 1, 1, 1])).counts_by_reason() == {"NOT_SELECTED": 4}


@pytest.mark.parametrize("quantile", [0.0, 0.25, 0.5, 1.0])
def test_about_the_asked_share_of_turns_is_routed(batch: Any, quantile: float) -> None:
    t = batch(outcome=[1, 0], lengths=[200, 200], logprob=-np.random.default_rng(1).exponential(size=400))
    share = judged_share(t, {"quantile": quantile})
    assert share == pytest.approx(quantile, abs=1 / 400)


@pytest.mark.parametrize("over", sorted(set(RULES) - {"router"}))
def test_every_rule_can_be_routed(over: str, forest: Any) -> None:
    t = enriched(forest(1), 1)
    inner = RULES[over]
    context = full_context(t, 1, "agents" if inner.card.granularity == "agent" else "turns")
    params = {"over": over, "quantile": 0.5}
    needs = RULE.needed(params)
    assert needs == inner.needed()
    only = Context(**{str(need): getattr(context, need) for need in needs - {Need.FORKS}})
    credit = RULE.apply(t, only, params)
    assert credit.granularity == "turn"
    routed = credit.reason != Reason.NOT_SELECTED
    assert 0 < routed[t.own].sum() < t.own.sum()
    if Need.JUDGE in needs or Need.GENERATOR in needs:
        return  # a judge is asked less, and a generator has moved on
    alone = to_turns(inner.apply(t, context), t)
    kept = credit.defined
    assert np.array_equal(credit.value[kept], alone.value[kept])


def test_wrong_inner_rules_and_parameters_are_told(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[2])
    with pytest.raises(RuleError, match="unknown rule 'turn_jugde'; did you mean 'turn_judge'"):
        RULE.needed({"over": "turn_jugde"})
    with pytest.raises(
        RuleError, match="rule 'turn_judge': unknown parameter 'balot'; did you mean 'ballot'"
    ):
        RULE.needed({"over_parameters": {"balot": "mean"}})
    with pytest.raises(MissingNeed, match="judge"):
        RULE.apply(t, Context())
    with pytest.raises(RuleError, match="measure it on this batch"):
        RULE.apply(t, judge([1, 1, 1]))


def test_a_router_may_stand_over_a_router(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 2], logprob=LOGPROB)
    inner = {"over": "turn_judge", "quantile": 0.5, "over_parameters": {"centre": "none"}}
    credit = RULE.apply(
        t, judge([1, 1, 1, -1]), {"over": "router", "over_parameters": inner, "quantile": 0.3}
    )
    assert credit.defined.tolist() == [False, False, False, True]


def test_forks_keep_routed_credit_only(batch: Any) -> None:
    t = batch(
        outcome=[1, 0],
        lengths=[2, 2],
        parent=[-1, 0],
        branch=[0, 1],
        state=[0, 1, 0, 1],
        action=[0, 0, 0, 1],
        logprob=LOGPROB,
    )
    params = {"over": "carl", "by": "threshold", "threshold": -1.0, "unjudged": "outcome"}
    credit = RULE.apply(t, Context(), params)
    assert credit.reason.tolist() == [Reason.DEFINED, Reason.DEFINED, Reason.COPY, Reason.DEFINED]
    confident = RULE.apply(t, Context(), params | {"threshold": -9.0})
    assert confident.reason.tolist() == [Reason.DEFINED, Reason.DEFINED, Reason.COPY, Reason.DROPPED]
