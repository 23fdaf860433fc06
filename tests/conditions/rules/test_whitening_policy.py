"""All rules that offer whitening do the same to the same credit."""

from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason, Trajectories, Verdicts
from equipoise_conditions.arrays import FloatArray

VALUE = np.array([0.25, 0.75, -1.0, 4.0, 0.5])
TASK = [0, 0, 1, 1, 1]
# Parameters under which a rule's own credit is the outcome, given what `measured` returns.
OUTCOME: dict[str, dict[str, Any]] = {
    "reinforce": {"subtract": "none"},
    "mc_prm": {},
    "gae": {},
    "gae_turn": {},
    "agent_prm": {"label": "promise"},
    "archer": {},
    "process_reward": {},
    "poad": {},
    "bi_level_gae": {},
    "itpo": {"beta": 1.0},
    "mappa": {},
}
EACH = pytest.mark.parametrize("name", sorted(OUTCOME))
OVER = pytest.mark.parametrize("over", ["batch", "group"])


def one_turn_each(batch: Any, value: FloatArray, task: list[int]) -> Trajectories:
    made: Trajectories = batch(outcome=value.tolist(), lengths=[1] * value.size, task=task)
    return made


def measured(value: FloatArray) -> Context:
    zero = np.zeros(value.size)
    return Context(
        values=zero,
        token_values=zero,
        step_scores=value,
        log_ratio=value,
        judge=Verdicts(value[:, None], np.ones(value.size, dtype=np.bool_)),
    )


def by_hand(value: FloatArray, params: dict[str, Any]) -> FloatArray:
    scale = 1.0
    if params["std"] != "none":
        variance = float(value.var(ddof=1 if params["std"] == "sample" else 0))
        inside, outside = (params["eps"], 0.0) if params["eps_inside"] else (0.0, params["eps"])
        scale = float(np.sqrt(variance + inside)) + outside
    result: FloatArray = (value - value.mean()) / scale
    return result


def test_no_rule_is_left_out() -> None:
    offering = {name for name, rule in RULES.items() if "whiten" in {p.name for p in rule.parameters}}
    assert offering == set(OUTCOME) | {"grpo"}, "grpo's credit is never the outcome: it is compared below"
    for name in offering:
        assert {"std", "eps", "eps_inside"} <= {p.name for p in RULES[name].parameters}


@EACH
@OVER
@pytest.mark.parametrize("std", ["sample", "population", "none"])
@pytest.mark.parametrize("eps_inside", [False, True])
def test_equal_credit_is_whitened_equally(
    name: str, over: str, std: str, eps_inside: bool, batch: Any
) -> None:
    how = {"std": std, "eps": 0.25, "eps_inside": eps_inside}
    t = one_turn_each(batch, VALUE, TASK)
    plain = RULES[name].apply(t, measured(VALUE), OUTCOME[name])
    np.testing.assert_allclose(plain.value, VALUE)
    parts = [VALUE] if over == "batch" else [VALUE[:2], VALUE[2:]]
    got = RULES[name].apply(t, measured(VALUE), OUTCOME[name] | how | {"whiten": over})
    np.testing.assert_allclose(got.value, np.concatenate([by_hand(part, how) for part in parts]), atol=1e-12)


@EACH
@OVER
@pytest.mark.parametrize("std", ["sample", "population", "none"])
def test_one_unit_is_whitened_to_nothing(name: str, over: str, std: str, batch: Any) -> None:
    one = np.array([0.75])
    params = OUTCOME[name] | {"whiten": over, "std": std}
    credit = RULES[name].apply(one_turn_each(batch, one, [0]), measured(one), params)
    assert credit.reason.tolist() == [0]
    assert credit.value.tolist() == [0.0]


@OVER
@pytest.mark.parametrize("singleton", ["zero", "raw", "undefined"])
def test_a_group_of_one_votes_only_when_raw_whatever_the_rule(batch: Any, over: str, singleton: str) -> None:
    outcome = np.array([1.0, 0.0, 3.0, 0.0, 0.5])
    t = one_turn_each(batch, outcome, [0, 0, 1, 1, 2])
    params = {"std": "none", "whiten": over, "singleton": singleton}
    grpo = RULES["grpo"].apply(t, Context(), params)
    reinforce = RULES["reinforce"].apply(t, Context(), params | {"subtract": "mean"})
    np.testing.assert_allclose(grpo.value, reinforce.value)
    assert grpo.reason.tolist() == reinforce.reason.tolist()
    assert grpo.reason[4] == (Reason.NO_GROUP if singleton == "undefined" else 0)
    centre = 0.1 if singleton == "raw" and over == "batch" else 0.0
    np.testing.assert_allclose(grpo.value[:4], np.array([0.5, -0.5, 1.5, -1.5]) - centre)


def test_the_zero_of_a_group_of_one_is_in_no_deviation(batch: Any) -> None:
    t = one_turn_each(batch, np.array([1.0, 0.0, 1.0, 0.0, 1.0]), [0, 0, 1, 1, 2])
    params = {"whiten": "batch", "singleton": "zero", "eps": 0.0}
    # Credit of the four with siblings: r, -r, r, -r, with a sample deviation of r root(4/3).
    expected = np.array([1, -1, 1, -1, 0]) * np.sqrt(0.75)
    np.testing.assert_allclose(RULES["grpo"].apply(t, Context(), params).value, expected)
    np.testing.assert_allclose(
        RULES["reinforce"].apply(t, Context(), params | {"subtract": "mean"}).value, expected
    )
    tokens = {"singleton": "zero", "eps": 0.0}
    np.testing.assert_allclose(RULES["reinforce_pp_baseline"].apply(t, Context(), tokens).value, expected)


def test_a_lone_trajectory_without_a_baseline_does_not_vote_in_itpo(batch: Any) -> None:
    ratio = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    t = one_turn_each(batch, ratio, [0, 0, 1, 1, 2])
    params = {"beta": 1.0, "baseline": "leave_one_out", "whiten": "batch", "eps": 0.0}
    credit = RULES["itpo"].apply(t, measured(ratio), params)
    np.testing.assert_allclose(credit.value, np.array([1, -1, 1, -1, 0]) * np.sqrt(0.75))
