"""Rounds and use of generation, read from results made by hand."""

from typing import Any

import pytest

from equipoise.suites.received import generation_of, rounds_of
from equipoise_budget import Cost
from equipoise_preregistration import Suite


def suite_of(**budget: Any) -> Suite:
    return Suite.model_validate(
        {
            "name": "made-up",
            "conditions": [{"id": "own", "rule": "grpo", "baseline": True}, {"id": "other", "rule": "gigpo"}],
            "environment": {"tasks": {"pool": 4}},
            "collection": {"rollouts_per_task": 2},
            "budget": {"examples": 4, "optimizer_steps": 2, **budget},
        }
    )


RESULTS = {
    "b0/collect": {"cost": Cost(rollout_tokens=100, environment_steps=20).to_json()},
    "b0/signals/own": {"cost": Cost(rollout_tokens=40, environment_steps=8).to_json()},
}


def fits(used: float, *prompts: int, binding: str | None) -> dict[str, Any]:
    return {
        "refill": None,
        "prompts": {"prompts": list(prompts), "of": 4, "binding": binding, "used": {"rollout_tokens": used}},
    }


def cell(arm: str, **told: Any) -> dict[str, Any]:
    return {"cell": {"condition": "own", "arm": arm, "block": 0}, **told}


LIMIT = {"generation": {"rollout_tokens": 120}}


def test_a_run_is_charged_for_the_prompts_that_it_trained_on() -> None:
    told = generation_of(
        cell("native", generation=fits(105.0, 2, 0, 3, binding="rollout_tokens")), suite_of(**LIMIT), RESULTS
    )
    assert told is not None
    assert (told.limits, told.used) == ({"rollout_tokens": 120.0}, {"rollout_tokens": 105.0})
    assert (told.binding, told.prompts, told.of) == (("rollout_tokens",), 3, 4)


@pytest.mark.parametrize(("arm", "budget"), [("native", {}), ("matched", LIMIT), ("twin", LIMIT)])
def test_a_run_without_limits_of_its_own_tells_none(arm: str, budget: dict[str, Any]) -> None:
    told = cell(arm, generation={"refill": None, "prompts": None})
    assert generation_of(told, suite_of(**budget), RESULTS) is None


def test_a_run_that_refills_is_charged_for_all_that_it_generated() -> None:
    refill = {"waves": [1], "cost": Cost(rollout_tokens=30).to_json()}
    suite = suite_of(**LIMIT, doubly=True, under="refill")
    told = generation_of(cell("matched", generation={"refill": refill, "prompts": None}), suite, RESULTS)
    assert told is not None
    # 100 collected, 40 measured, 30 refilled: beyond 120.
    assert (told.used, told.binding, told.prompts) == ({"rollout_tokens": 170.0}, ("rollout_tokens",), None)


def test_rounds_are_added_up_and_told_one_by_one() -> None:
    def one(number: int, used: float, binding: str | None, examples: int, **more: Any) -> dict[str, Any]:
        return {
            "round": number,
            "dose": {"slots": 2 * examples, "optimizer_steps": 1, "unique_examples": examples},
            "credit": {"examples": examples},
            "digests": {"plan": "eq1:x" if examples else "none"},
            "generation": fits(used, 0, 1, binding=binding),
            **more,
        }

    collected = {"episodes": 8, "turns": 30, "success": 0.25}
    result = cell(
        "native", rounds=[one(1, 90.0, None, 24, collected=collected), one(2, 110.0, "rollout_tokens", 0)]
    )
    told = generation_of(result, suite_of(**LIMIT), RESULTS)
    assert told is not None
    assert (told.limits["rollout_tokens"], told.used["rollout_tokens"]) == (240.0, 200.0)
    assert (told.prompts, told.of, told.binding) == (4, 8, ("rollout_tokens",))
    first, second = rounds_of(result)
    assert (first.slots, first.unique_examples, first.examples, first.undefined) == (48, 24, 24, 6)
    assert (first.success, first.empty, first.planned) == (0.25, False, True)
    assert (second.success, second.undefined, second.empty, second.planned) == (None, None, True, False)
    assert rounds_of(cell("native")) == ()
