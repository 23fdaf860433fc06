"""What a plan says of each condition and arm before it is run, from hand-made results of a pilot."""

from typing import Any

import pytest

from equipoise.suites.outlook import cells_outlook, outlook_warnings
from equipoise.suites.piloting import Pilot
from equipoise.suites.planning import outline
from equipoise_budget import Cost
from equipoise_preregistration import Suite


def suite_of(**budget: Any) -> Suite:
    # 8 tasks x 4 rollouts x 4 turns are at most 128 examples.
    return Suite.model_validate(
        {
            "name": "small",
            "environment": {"name": "bifurcation", "tasks": {"pool": 8, "held_out": 8}, "horizon": 4},
            "collection": {"rollouts_per_task": 4},
            "conditions": [
                {"id": "outcome", "rule": "grpo", "baseline": True},
                {"id": "sparse", "rule": "exact"},
            ],
            "budget": {"examples": 64, "optimizer_steps": 8, **budget},
            "evaluation": {"episodes_per_task": 4, "held_out_episodes": 2},
        }
    )


def pilot_of(suite: Suite, *, sparse: int = 20, cells: bool = True) -> Pilot:
    """Two blocks: `outcome` leaves 96 and 104 examples, `sparse` always the same; slots cost 10 FLOPs and 0.5 s."""
    results: dict[str, Any] = {}
    for block, dense in ((0, 96), (1, 104)):
        results[f"b{block}/collect"] = {
            "kind": "collect",
            "cost": Cost(rollout_tokens=1000, flops=500.0, environment_steps=100).to_json(),
        }
        for name, left, tokens in (("outcome", dense, 0), ("sparse", sparse, 1000)):
            results[f"b{block}/signals/{name}"] = {
                "kind": "signals",
                "block": block,
                "condition": name,
                "credit": {"examples": left},
                "cost": Cost(rollout_tokens=tokens).to_json(),
            }
    if cells:
        results["b0/cell/outcome/matched/0"] = {
            "kind": "cell",
            "cell": {"condition": "outcome"},
            "dose": {"slots": 64},
            "cost": Cost(flops=640.0).to_json(),
            "seconds": {"train": 32.0, "evaluate": 4.8},
            "outcomes": [{"episodes": 48}],
        }
    return Pilot("pilot @ 01234567", suite, results)


def row(rows: list[dict[str, Any]], condition: str, arm: str) -> dict[str, Any]:
    return next(r for r in rows if (r["condition"], r["arm"]) == (condition, arm))


def test_without_a_pilot_only_the_budget_is_known() -> None:
    rows = cells_outlook(suite_of(), None)
    assert [(r["condition"], r["arm"]) for r in rows] == [
        (name, arm) for name in ("outcome", "sparse") for arm in ("native", "matched", "twin")
    ]
    matched = row(rows, "sparse", "matched")
    assert (matched["slots"], matched["steps"]) == (64, 8)
    unknown = ("native_examples", "native_steps", "fill", "share_repeated", "flops", "seconds", "prompts")
    assert {name: matched[name] for name in unknown} == dict.fromkeys(unknown)
    native = row(rows, "sparse", "native")
    assert (native["slots"], native["steps"], native["fill"]) == (None, None, "native")
    assert outlook_warnings(suite_of(), rows) == []


def test_more_slots_than_turns_are_filled_whatever_a_rule_leaves() -> None:
    rows = cells_outlook(suite_of(examples=136, under="cycle"), None)
    assert row(rows, "outcome", "matched")["fill"] == "cycle"


def test_a_pilot_says_what_is_left_and_what_it_costs() -> None:
    rows = cells_outlook(suite_of(under="cycle"), pilot_of(suite_of()))
    dense, sparse = row(rows, "outcome", "matched"), row(rows, "sparse", "matched")
    assert (dense["native_examples"], dense["native_steps"], dense["fill"]) == (100, 13, "thin")
    assert (dense["repetition"], dense["share_repeated"]) == (1.0, 0.0)
    # 20 examples in 64 slots: 3.2 times each, 44 of 64 slots repeat one.
    assert (sparse["native_examples"], sparse["native_steps"], sparse["fill"]) == (20, 3, "cycle")
    assert (sparse["repetition"], sparse["share_repeated"]) == (3.2, 0.688)
    # Collection 500, and 64 slots of 10; 48 episodes of 0.1 s and 64 slots of 0.5 s.
    assert dense["flops"] == 500 + 640
    assert dense["seconds"] == pytest.approx(32 + 4.8)
    native = row(rows, "outcome", "native")
    assert (native["slots"], native["steps"], native["flops"]) == (100, 13, 500 + 1000)
    assert row(rows, "outcome", "twin")["share_repeated"] == 0.0


def test_resampling_repeats_as_draws_with_replacement_do() -> None:
    sparse = row(cells_outlook(suite_of(), pilot_of(suite_of())), "sparse", "matched")
    # 20 (1 - .95^64) = 19.25 different ones are expected.
    assert sparse["share_repeated"] == pytest.approx(1 - 20 * (1 - 0.95**64) / 64, abs=5e-4)


def test_numbers_are_scaled_by_the_rollouts_of_a_block() -> None:
    twice = suite_of().model_copy(
        update={"collection": suite_of().collection.model_copy(update={"rollouts_per_task": 8})}
    )
    rows = cells_outlook(twice, pilot_of(suite_of()))
    assert row(rows, "outcome", "native")["slots"] == 200
    assert row(rows, "outcome", "native")["flops"] == 2 * 500 + 200 * 10


def test_a_pilot_without_a_finished_cell_knows_no_time() -> None:
    matched = row(cells_outlook(suite_of(), pilot_of(suite_of(), cells=False)), "outcome", "matched")
    assert matched["native_examples"] == 100
    assert (matched["flops"], matched["seconds"]) == (None, None)


@pytest.mark.parametrize(
    ("budget", "left", "said"),
    [
        ({}, 15, "shown 4.27 times on average, more than 4"),
        ({"max_repetition": 4}, 15, "beyond max_repetition (4), so the cell will be refused"),
        ({"under": "pad"}, 20, "69% of the slots are padding, more than half"),
        ({"under": "refill"}, 20, "about 9 further rollouts a task are needed, but the cap is 8"),
        ({}, 0, "no example in the pilot"),
        ({"generation": {"rollout_tokens": 16}, "doubly": True}, 20, "not one prompt fits budget.generation"),
    ],
)
def test_doubtful_budgets_are_warned_of(budget: dict[str, Any], left: int, said: str) -> None:
    suite = suite_of(**budget)
    found = outlook_warnings(suite, cells_outlook(suite, pilot_of(suite, sparse=left)))
    assert any(said in warning and warning.startswith("sparse, ") for warning in found), found


@pytest.mark.parametrize(("budget", "left"), [({}, 16), ({"under": "pad"}, 32), ({"under": "refill"}, 22)])
def test_budgets_at_the_bounds_are_not_warned_of(budget: dict[str, Any], left: int) -> None:
    suite = suite_of(**budget)
    assert outlook_warnings(suite, cells_outlook(suite, pilot_of(suite, sparse=left))) == []


def test_a_limit_of_generation_leaves_prompts_out_where_it_holds() -> None:
    # `sparse` costs 2000 tokens for 8 prompts: 1100 are 4 of them.
    for doubly in (False, True):
        suite = suite_of(generation={"rollout_tokens": 1100}, doubly=doubly)
        rows = cells_outlook(suite, pilot_of(suite, sparse=40))
        assert row(rows, "sparse", "native")["prompts"] == 4
        assert row(rows, "sparse", "native")["slots"] == 20
        assert row(rows, "sparse", "matched")["prompts"] == (4 if doubly else 8)
        assert row(rows, "outcome", "native")["prompts"] == 8


def test_rounds_share_the_slots_and_each_costs_its_collection() -> None:
    rounds = suite_of().model_copy(
        update={"collection": suite_of().collection.model_copy(update={"rounds": 2})}
    )
    rows = cells_outlook(rounds, pilot_of(suite_of()))
    native, matched = (row(rows, "outcome", arm) for arm in ("native", "matched"))
    assert (native["slots"], native["steps"]) == (200, 26)
    assert (matched["slots"], matched["steps"], matched["fill"]) == (64, 8, "thin")
    assert matched["flops"] == 2 * 500 + 64 * 10
    # 20 examples are left for the 32 slots of a round.
    sparse = row(rows, "sparse", "matched")
    assert (sparse["fill"], sparse["repetition"]) == ("resample", 1.6)
    assert sparse["share_repeated"] == pytest.approx(1 - 20 * (1 - 0.95**32) / 32, abs=5e-4)


def test_a_cell_that_will_be_refused_is_said_to_be_and_costs_no_training() -> None:
    suite = suite_of(max_repetition=4)
    rows = cells_outlook(suite, pilot_of(suite, sparse=15))
    refused, native = row(rows, "sparse", "matched"), row(rows, "sparse", "native")
    assert (refused["fill"], refused["slots"]) == ("refused", 64)
    # Collection 500; 48 episodes of 0.1 s are judged.
    assert (refused["flops"], refused["seconds"]) == (500, pytest.approx(4.8))
    assert (native["fill"], native["flops"]) == ("native", 500 + 150)
    assert row(rows, "outcome", "matched")["fill"] == "thin"


def test_a_pilot_of_another_experiment_is_told() -> None:
    suite = suite_of()
    wide = suite.model_copy(update={"policy": suite.policy.model_copy(update={"hidden": 16})})
    tasks = suite.environment.tasks.model_copy(update={"pool": 4})
    fewer = suite.model_copy(update={"environment": suite.environment.model_copy(update={"tasks": tasks})})
    assert pilot_of(suite).differs(suite) == ()
    assert pilot_of(suite).differs(fewer) == ()
    assert pilot_of(wide).differs(suite) == ("policy",)
    assert any(
        "was run with another policy" in words for words in outline(suite, 0.04, pilot_of(wide))["warnings"]
    )
