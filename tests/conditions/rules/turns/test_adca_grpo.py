import math
from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, MissingNeed, Reason, RuleError, Verdicts

RULE = RULES["adca_grpo"]
GOOD, BAD, NONE = 1.0, -1.0, math.nan


def judged(*scores: Any, asked: Any = None) -> Context:
    rows = [score if isinstance(score, list) else [score] for score in scores]
    return Context(judge=Verdicts(np.array(rows), np.ones(len(rows), dtype=bool) if asked is None else asked))


def test_step_scores_and_the_outcome_are_summed_from_the_end(batch: Any) -> None:
    # Steps +1 -1 | +1 +1: means 0 and 1, so .5; the outcomes 1 and 0 are centred to ±.5.
    t = batch(outcome=[1, 0], lengths=[2, 2])
    context, params = judged(GOOD, BAD, GOOD, GOOD), {"std": "none", "base": 1.0}
    assert RULE.apply(t, context, params).value.tolist() == [-0.5, -1.0, 0.5, 0.0]
    assert RULE.apply(t, context, params | {"alpha": 0.5}).value.tolist() == [0.0, -0.25, 0.0, -0.25]
    everywhere = RULE.apply(t, context, params | {"outcome_on": "all"})
    assert everywhere.value.tolist() == [0.0, -1.0, 0.0, 0.0]
    steps = RULE.apply(t, context, params | {"outcome_on": "none", "alpha": 0.5})
    assert steps.value.tolist() == [-1.0, -1.5, 1.0, 0.5], "without the outcome alpha is not used"


def test_a_trajectory_has_one_vote_or_each_of_its_steps_has(batch: Any) -> None:
    t = batch(outcome=[1, 1], lengths=[3, 1])
    context, params = judged(GOOD, GOOD, GOOD, BAD), {"std": "none", "base": 1.0}
    assert RULE.apply(t, context, params).value.tolist() == [3.0, 2.0, 1.0, -1.0]
    assert RULE.apply(t, context, params | {"vote": "turn"}).value.tolist() == [1.5, 1.0, 0.5, -1.5]


def test_the_deviation_weighs_trajectories_and_knows_three_guards(batch: Any) -> None:
    # Means 0 and 1, mu = .5; mean squared deviations (.25 + 2.25)/2 and .25: variance .75 of two votes.
    t = batch(outcome=[1, 1], lengths=[2, 1])
    context = judged(GOOD, BAD, GOOD)
    params: dict[str, Any] = {"std": "population", "base": 1.0, "eps": 0.0}
    got = RULE.apply(t, context, params).value
    np.testing.assert_allclose(got[2], 0.5 / math.sqrt(0.75))
    np.testing.assert_allclose(RULE.apply(t, context, params | {"variance_eps": 0.25}).value[2], 0.5)
    np.testing.assert_allclose(RULE.apply(t, context, params | {"std_floor": 2.0}).value[2], 0.25)
    np.testing.assert_allclose(RULE.apply(t, context, params | {"std_floor": 1.5, "eps": 0.5}).value[2], 0.25)
    np.testing.assert_allclose(
        RULE.apply(t, context, params | {"std": "sample"}).value[2], 0.5 / math.sqrt(1.5)
    )


def test_allocation_shares_one_over_the_steps_of_a_success(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 2])
    params = {"scheme": "allocation", "normalise": False, "std": "none"}
    # Success: good 1 and bad .2 of 1.2; failure: bad 1 and good .2 of 1.2, negative. Outcomes ±.5 at the end.
    got = RULE.apply(t, judged(GOOD, BAD, BAD, GOOD), params).value
    np.testing.assert_allclose(got, [1.5, 0.2 / 1.2 + 0.5, -1.5, -0.2 / 1.2 - 0.5])
    nothing = RULE.apply(t, judged(BAD, BAD, BAD, BAD), params | {"bad_in_success": 0.0})
    np.testing.assert_allclose(nothing.value[:2], [0.5, 0.5])
    with pytest.raises(RuleError, match="expected last or all with the scheme allocation"):
        RULE.apply(t, judged(GOOD, BAD, BAD, GOOD), params | {"outcome_on": "none"})


def test_length_norm_divides_by_the_root_of_the_steps_in_decouple_alone(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[4, 1])
    context = judged(GOOD, BAD, GOOD, GOOD, BAD)
    for scheme, factor in (("decouple", 2.0), ("allocation", 1.0)):
        plain = RULE.apply(t, context, {"scheme": scheme}).value
        normed = RULE.apply(t, context, {"scheme": scheme, "length_norm": True}).value
        np.testing.assert_allclose(normed[:4], plain[:4] / factor)
        np.testing.assert_allclose(normed[4], plain[4])


def test_a_step_without_a_verdict_undoes_the_sums_up_to_it(batch: Any) -> None:
    t = batch(outcome=[1, 0, 0], lengths=[3, 2, 1])
    asked = np.array([True, True, True, True, False, True])
    context = judged(GOOD, NONE, GOOD, GOOD, GOOD, BAD, asked=asked)
    reasons = RULE.apply(t, context).reason.tolist()
    unparsable, silent = int(Reason.UNPARSABLE), int(Reason.NOT_MEASURED)
    assert reasons == [unparsable, unparsable, 0, silent, silent, 0]
    good = RULE.apply(t, context, {"missing": "good"})
    assert good.value.tolist() == RULE.apply(t, judged(GOOD, GOOD, GOOD, GOOD, GOOD, BAD)).value.tolist()
    outcome = RULE.apply(t, context, {"missing": "outcome"})
    assert outcome.value.tolist() == RULE.apply(t, judged(GOOD, GOOD, GOOD, GOOD, BAD, BAD)).value.tolist()


def test_several_verdicts_are_put_to_the_vote_and_a_tie_is_bad(batch: Any) -> None:
    t = batch(outcome=[1, 0, 0], lengths=[1, 1, 1])
    votes = judged([GOOD, GOOD, BAD], [GOOD, BAD, NONE], [GOOD, NONE, NONE])
    one = judged(GOOD, BAD, GOOD)
    assert RULE.apply(t, votes).value.tolist() == RULE.apply(t, one).value.tolist()
    graded = judged(0.9, 0.2, 0.8)
    assert RULE.apply(t, graded, {"good_above": 0.5}).value.tolist() == RULE.apply(t, one).value.tolist()


def test_equal_steps_and_lone_trajectories_leave_what_varies(batch: Any) -> None:
    t = batch(outcome=[1, 1], lengths=[2, 2])
    assert RULE.apply(t, judged(GOOD, GOOD, GOOD, GOOD), {"eps": 0.0}).value.tolist() == [0.0] * 4
    t = batch(outcome=[1.0, 1.0], lengths=[1, 2], task=[0, 1])
    params = {"preset": "agentevolver"}
    np.testing.assert_allclose(RULE.apply(t, judged(GOOD, GOOD, BAD), params).value, [0, 0, -1], atol=1e-6)
    reasons = RULE.apply(t, judged(GOOD, GOOD, BAD), {"singleton": "undefined"}).reason
    assert (reasons == Reason.NO_GROUP).all()


def test_a_turn_outside_the_loss_is_no_step_but_its_outcome_votes(batch: Any) -> None:
    mask = np.array([True, True, False, False])
    t = batch(outcome=[1, 0], lengths=[2, 2], mask=mask)
    credit = RULE.apply(t, judged(GOOD, BAD, NONE, NONE), {"std": "none", "base": 1.0})
    assert credit.value[:2].tolist() == [0.5, -0.5]
    # The last turn is outside: the outcome goes to the one before.
    t = batch(outcome=[1, 0], lengths=[2, 2], mask=np.array([True, False, True, True]))
    credit = RULE.apply(t, judged(GOOD, NONE, GOOD, GOOD), {"std": "none"})
    assert credit.value[:2].tolist() == [0.5, 0.0]


def test_forks_have_no_credit_and_verdicts_must_be_there_and_of_this_batch(forest: Any, batch: Any) -> None:
    t = forest(5)
    credit = RULE.apply(t, judged(*[GOOD, BAD] * (t.n_turns // 2), *[BAD] * (t.n_turns % 2)))
    assert np.array_equal(credit.defined, t.collected[t.trajectory_of_turn])
    with pytest.raises(RuleError, match="judge: expected one entry for each of 1 turns, got 2"):
        RULE.apply(batch(outcome=[1], lengths=[1]), judged(GOOD, BAD))
    with pytest.raises(MissingNeed):
        RULE.apply(t, Context())
