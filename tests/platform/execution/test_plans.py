"""From credit to slots: every axis and fill of a budget, held by the counts of real runs."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.execution.batches import Batch
from equipoise.execution.costs import decoder_of
from equipoise.execution.material import prompt_costs
from equipoise.execution.plans import plan_of, registered_budget
from equipoise.execution.world import World
from equipoise.suites.jobs import jobs_of
from equipoise_budget import BudgetRefused, Cost, EmptyBudget, Plan, affordable
from equipoise_conditions.credit import Credit
from equipoise_preregistration import Suite

Make = Callable[..., Suite]
AXES = ["examples", "optimizer_steps"]


@pytest.fixture
def rerun(ran: Any, make_suite: Make, tmp_path: Path) -> Callable[..., Any]:
    """One cell of the suite that ran, under another budget; files lie in a folder of its own."""

    def again(key: str, **budget: Any) -> tuple[Any, Path]:
        written = make_suite(budget={"examples": 16, "optimizer_steps": 4, **budget}).model_dump(mode="json")
        changed = copy.copy(ran)
        payload = ran.payloads[key]
        inputs = {**payload["inputs"], "collect": f"b{payload['block']}/collect"}
        changed.payloads = {**ran.payloads, key: {**payload, "suite": written, "inputs": inputs}}
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        return changed.again(key, folder), folder

    return again


def examples_of(ran: Any, condition: str) -> list[int]:
    """Turns that a rule leaves in block 0."""
    return [int(turn) for turn in ran.turns(0, condition).examples]


def test_padding_adds_slots_without_signal_and_is_counted(ran: Any, rerun: Any) -> None:
    left = len(examples_of(ran, "outcome"))
    result, folder = rerun(
        "b0/cell/outcome/matched/0", examples=left + 16 - left % 8, optimizer_steps=8, under="pad"
    )
    dose, plan = result["dose"], Plan.load(folder / "plan.npz")
    assert result["breaches"] == []
    assert dose["slots"] == left + 16 - left % 8
    assert (dose["optimizer_steps"], dose["unique_examples"], dose["repetition"]) == (8, left, {"1": left})
    assert dose["padding_slots"] == dose["slots"] - left == int(plan.padding.sum())
    assert sorted(plan.example[~plan.padding].tolist()) == examples_of(ran, "outcome")


def test_a_rule_that_leaves_too_little_collects_more_and_pays_for_it(ran: Any, rerun: Any) -> None:
    left = len(examples_of(ran, "outcome"))
    slots = left + 8 - left % 4
    results = [
        rerun(f"b0/cell/outcome/{arm}/0", examples=slots, optimizer_steps=4, under="refill")
        for arm in ("matched", "twin")
    ]
    for result, folder in results:
        assert result["breaches"] == []
        assert result["planned"]["fill"] == "refill"
        assert result["dose"]["slots"] == slots
        waves = result["generation"]["refill"]["waves"]
        assert 1 <= sum(waves) <= 8
        grown, before = Batch.load(folder), ran.batch("b0/collect")
        assert grown.trajectories.n == before.trajectories.n + 2 * sum(waves)
        first = before.trajectories
        for name in ("task", "outcome"):
            kept = getattr(grown.trajectories, name)[: first.n]
            np.testing.assert_array_equal(kept, getattr(first, name))
        new_turns = grown.trajectories.n_turns - first.n_turns
        assert result["cost"]["environment_steps"] == new_turns
        assert result["cost"]["environment_resets"] == 2 * sum(waves)
        assert result["cost"]["rollout_tokens"] > 0
    rule, twin = (result for result, _ in results)
    assert rule["dose"]["repetition"] == {"1": slots}
    assert rule["digests"]["trajectories"] == twin["digests"]["trajectories"]
    assert rule["dose"]["weight_abs"] == twin["dose"]["weight_abs"]


def test_forks_are_made_again_on_what_was_collected_besides(ran: Any, rerun: Any) -> None:
    # Its tree grows from a fixed number of trajectories a task: further ones leave it no more examples.
    left = len(examples_of(ran, "carl"))
    result, folder = rerun("b0/cell/carl/matched/0", examples=16, under="refill")
    assert left < 16
    assert f"expected 16 examples, got {left} from 12 rollouts a task" in result["message"]
    assert len(result["breaches"]) == 1
    trajectories = Batch.load(folder).trajectories
    collected = np.flatnonzero(trajectories.collected)
    assert collected.tolist() == list(range(2 * (4 + 8)))
    assert trajectories.n > collected.size


def test_a_cap_that_does_not_suffice_ends_the_cell_untrained_and_owing(ran: Any, rerun: Any) -> None:
    # At most 2 tasks x (4 + 1) rollouts x 4 turns are 40 examples; every trajectory of this maze is 4 turns long.
    left, slots = len(examples_of(ran, "replay")), 40
    result, _ = rerun(
        "b0/cell/replay/matched/0", examples=slots, optimizer_steps=4, under="refill", refill={"cap": 1}
    )
    assert left < slots
    assert result["end"] == "ok"
    assert result["dose"]["slots"] == 0
    assert "which is all that the cap allows" in result["message"]
    assert len(result["breaches"]) == 1
    assert result["generation"]["refill"]["waves"] == [1]
    assert result["cost"]["environment_steps"] > 0
    assert result["outcomes"] == ran.results["b0/base"]["outcomes"]


def test_a_refill_that_passes_a_limit_of_generation_ends_the_cell_and_is_charged(
    ran: Any, rerun: Any
) -> None:
    left = len(examples_of(ran, "outcome"))
    slots = left + 4 - left % 4
    refill = {"examples": slots, "optimizer_steps": 4, "under": "refill", "doubly": True}
    first = ran.batch("b0/collect").trajectories
    before = first.n_turns
    free, _ = rerun("b0/cell/outcome/matched/0", **refill, generation={"environment_steps": 10**6})
    needed = before + free["cost"]["environment_steps"]
    results = {}
    for name, limit in (("enough", needed), ("short", needed - 1)):
        results[name], _ = rerun(
            "b0/cell/outcome/matched/0", **refill, generation={"environment_steps": limit}
        )
    # A limit may be reached, and what was generated within it is what is generated without one.
    assert results["enough"]["digests"] == free["digests"]
    assert results["enough"]["cost"] == free["cost"]
    short = results["short"]
    assert (short["end"], short["dose"]["slots"]) == ("ok", 0)
    assert short["message"] == (
        f"meter 'budget.generation.environment_steps': expected at most {needed - 1} environment_steps, spent "
        f"{needed}; raise budget.generation.environment_steps by at least 1, or do less"
    )
    assert short["breaches"] == [f"the budget is {slots} slots, counted 0: {short['message']}"]
    assert short["cost"]["environment_steps"] == free["cost"]["environment_steps"]
    assert short["cost"]["forward_tokens_train"] == 0


def test_a_batch_that_is_past_the_limit_itself_is_not_refilled(ran: Any, rerun: Any) -> None:
    before = ran.batch("b0/collect").trajectories.n_turns
    left = len(examples_of(ran, "carl"))
    slots = left + 4 - left % 4
    assert slots < before
    refill = {"examples": slots, "optimizer_steps": 4, "under": "refill", "doubly": True}
    result, _ = rerun("b0/cell/carl/matched/0", **refill, generation={"environment_steps": before - 1})
    assert f"expected at most {before - 1} environment_steps, spent " in result["message"]
    assert result["dose"]["slots"] == 0
    assert result["cost"]["forward_tokens_train"] == 0


def test_a_rule_whose_examples_would_be_shown_too_often_is_refused(ran: Any, rerun: Any) -> None:
    left = len(examples_of(ran, "carl"))
    bound = {"optimizer_steps": 1, "max_repetition": 2}
    result, _ = rerun("b0/cell/carl/matched/0", examples=2 * left, **bound)
    assert result["breaches"] == []
    result, _ = rerun("b0/cell/carl/twin/0", examples=2 * left + 1, **bound)
    assert (
        f"expected at least {left + 1} examples for {2 * left + 1} slots (max_repetition 2), got {left}"
        in (result["message"])
    )
    assert len(result["breaches"]) == 1


@pytest.mark.parametrize("condition", ["outcome", "hindsight", "carl", "oracle", "noise"])
def test_tokens_and_weight_mass_are_those_of_the_budget_in_rule_and_twin(
    rerun: Any, ran: Any, condition: str
) -> None:
    tokens = ran.batch("b0/collect").trajectories.tokens_of_turn
    target = round(16 * float(tokens.mean()))
    for arm in ("matched", "twin"):
        result, _ = rerun(f"b0/cell/{condition}/{arm}/0", match=[*AXES, "tokens", "weight_mass"])
        assert result["breaches"] == []
        assert result["dose"]["slots"] == 16
        held = result["reached"]
        assert held["tokens"]["target"] == target
        assert abs(result["dose"]["tokens_in_loss"] - target) <= 0.02 * target
        assert held["weight_mass"]["counted"] == pytest.approx(16.0, rel=1e-12)
        assert result["dose"]["weight_abs"] == pytest.approx(16.0, rel=1e-12)
        assert {axis["held"] for axis in held.values()} == {True}


def test_the_denser_side_is_thinned_to_the_effective_sample_size(ran: Any, rerun: Any) -> None:
    full = ran.results["b0/cell/noise/matched/0"]["planned"]["ess_trajectories"]
    target = round(0.6 * full, 2)
    for arm in ("matched", "twin"):
        result, _ = rerun(
            f"b0/cell/noise/{arm}/0",
            match=[*AXES, "effective_sample_size"],
            targets={"effective_sample_size": target},
            tolerances={"effective_sample_size": 0.25},
        )
        assert result["breaches"] == []
        assert result["dose"]["slots"] == 16
        assert result["dose"]["ess_trajectories"] == pytest.approx(target, rel=0.25)
        assert result["dose"]["ess_trajectories"] < full


def test_counted_levels_are_those_that_were_planned(ran: Any) -> None:
    names = ("ess_tokens", "ess_trajectories", "ess_tasks", "weight_mass", "padding_slots")
    for _, _, arms in ran.cells():
        for result in arms.values():
            for name in names:
                assert result["dose"][name] == pytest.approx(result["planned"][name], rel=1e-9), name


def test_native_cells_train_on_the_prompts_that_their_condition_can_afford(ran: Any, rerun: Any) -> None:
    batch, world = ran.batch("b0/collect"), ran.world(0)
    model = world.model_from(ran.folders["b0/base"] / "base.safetensors")
    costs = prompt_costs(batch, Cost(), model, 2)
    limit = max(cost.rollout_tokens for cost in costs)
    order = world.rng("order", "prompts").permutation(2)
    result, folder = rerun("b0/cell/outcome/native/0", generation={"rollout_tokens": limit})
    fits = result["generation"]["prompts"]
    assert (fits["prompts"], fits["of"], fits["binding"]) == ([int(order[0])], 2, "rollout_tokens")
    assert fits["used"]["rollout_tokens"] == costs[order[0]].rollout_tokens
    task = batch.trajectories.task_of_turn[Plan.load(folder / "plan.npz").example]
    assert set(task.tolist()) <= {int(order[0])}
    # Without `doubly` the matched arm keeps to the training side alone.
    matched, _ = rerun("b0/cell/outcome/matched/0", generation={"rollout_tokens": limit})
    assert matched["generation"]["prompts"] is None


def test_both_sides_are_matched_or_the_refusal_names_what_binds(ran: Any, rerun: Any) -> None:
    whole = ran.batch("b0/collect").trajectories.n_turns
    result, folder = rerun(
        "b0/cell/outcome/matched/0", generation={"environment_steps": whole - 1}, doubly=True
    )
    assert result["breaches"] == []
    assert (result["dose"]["slots"], result["dose"]["tokens_in_loss"] > 0) == (16, True)
    assert len(result["generation"]["prompts"]["prompts"]) == 1
    task = ran.batch("b0/collect").trajectories.task_of_turn[Plan.load(folder / "plan.npz").example]
    assert len(set(task.tolist())) == 1
    refused, _ = rerun("b0/cell/outcome/twin/0", generation={"environment_steps": 4}, doubly=True)
    assert "environment_steps: the limit 4 allows 0 of 2 prompts" in refused["message"]
    assert len(refused["breaches"]) == 1


def test_costs_of_prompts_add_up_to_what_was_counted(ran: Any) -> None:
    world = ran.world(0)
    model = world.model_from(ran.folders["b0/base"] / "base.safetensors")
    for condition in ("carl", "replay", "outcome"):
        spent = Cost.from_json(ran.results[f"b0/signals/{condition}"]["cost"])
        stored = json.loads((ran.folders[f"b0/signals/{condition}"] / "cost.json").read_text())
        assert Cost.from_json(stored) == spent
        costs = prompt_costs(ran.batch_of(0, condition), spent, model, 2)
        total = Cost.from_json(ran.results["b0/collect"]["cost"]) + spent
        for name in ("rollout_tokens", "environment_steps", "environment_resets", "scoring_tokens"):
            assert sum(getattr(cost, name) for cost in costs) == getattr(total, name)
        assert sum(cost.flops for cost in costs) == pytest.approx(total.flops, rel=1e-12)
    assert decoder_of(model).parameters > 0


def test_the_target_of_tokens_is_that_of_the_collected_turns_whatever_a_condition_adds(
    ran: Any, make_suite: Make
) -> None:
    suite = make_suite(budget={"examples": 16, "optimizer_steps": 4, "match": [*AXES, "tokens"]})
    world = World(suite, 0)
    mean = float(ran.batch("b0/collect").trajectories.tokens_of_turn.mean())
    for condition in ("outcome", "carl"):
        budget = registered_budget(world, ran.batch_of(0, condition).trajectories)
        assert budget.targets == {"tokens": float(round(16 * mean))}
        assert budget.stop is None


def test_a_displacement_is_part_of_the_plan(ran: Any, make_suite: Make) -> None:
    budget = {"match": [*AXES, "displacement"], "targets": {"displacement": 0.02}}
    world = World(make_suite(budget={"examples": 16, "optimizer_steps": 4, **budget}), 0)
    cell = {"condition": "outcome", "arm": "matched", "twin": 0}
    batch, credit = ran.batch("b0/collect"), ran.credit(0, "outcome")
    plan = plan_of(world, cell, batch.trajectories, credit)
    assert plan.stop is not None
    assert (plan.stop.divergence, plan.stop.tolerance) == (0.02, 0.1)
    assert plan.digest() != ran.plan("b0/cell/outcome/matched/0").digest()
    twin = plan_of(world, {**cell, "arm": "twin"}, batch.trajectories, credit)
    assert twin.stop == plan.stop
    assert plan_of(world, {**cell, "arm": "native"}, batch.trajectories, credit).stop is None


def test_credit_of_tokens_has_the_mass_of_its_budget_too(ran: Any, make_suite: Make) -> None:
    world = World(
        make_suite(budget={"examples": 16, "optimizer_steps": 4, "match": [*AXES, "weight_mass"]}), 0
    )
    trajectories = ran.batch("b0/collect").trajectories
    rng = np.random.default_rng(0)
    credit = Credit(
        rng.normal(size=trajectories.n_tokens), np.zeros(trajectories.n_tokens, dtype=int), "token"
    )
    cell = {"condition": "outcome", "arm": "matched", "twin": 0}
    rule, twin = (plan_of(world, {**cell, "arm": arm}, trajectories, credit) for arm in ("matched", "twin"))
    assert rule.mass == pytest.approx(16.0, rel=1e-12)
    assert twin.mass == rule.mass
    assert sorted(np.abs(twin.token_weight)) == sorted(np.abs(rule.token_weight))


def test_slots_need_not_be_shared_out_over_tasks(ran: Any, make_suite: Make) -> None:
    trajectories, credit = ran.batch("b0/collect").trajectories, ran.credit(0, "outcome")
    cell = {"condition": "outcome", "arm": "matched", "twin": 0}
    digests = set()
    for stratify in ("task", "none"):
        budget = {"examples": 4, "optimizer_steps": 4, "stratify": stratify}
        plan = plan_of(World(make_suite(budget=budget), 0), cell, trajectories, credit)
        assert plan.slots == 4
        digests.add(plan.digest())
    assert plan.fill == "thin"
    assert digests


def test_nothing_affordable_is_an_empty_budget(ran: Any) -> None:
    trajectories, credit = ran.batch("b0/collect").trajectories, ran.credit(0, "outcome")
    nothing = affordable([Cost(rollout_tokens=9)] * 2, {"rollout_tokens": 8}, [1, 0])
    with pytest.raises(EmptyBudget, match="the limit 8 allows 0 of 2 prompts"):
        plan_of(
            ran.world(0), {"condition": "outcome", "arm": "native", "twin": 0}, trajectories, credit, nothing
        )


def test_a_mass_cannot_be_made_of_nothing(ran: Any, make_suite: Make) -> None:
    world = World(
        make_suite(budget={"examples": 16, "optimizer_steps": 4, "match": [*AXES, "weight_mass"]}), 0
    )
    trajectories = ran.batch("b0/collect").trajectories
    zero = Credit(np.zeros(trajectories.n_turns), np.zeros(trajectories.n_turns, dtype=int))
    with pytest.raises(BudgetRefused, match="expected weights that can be rescaled to 16, got a mass of 0"):
        plan_of(world, {"condition": "outcome", "arm": "matched", "twin": 0}, trajectories, zero)


def test_cells_that_refill_are_given_the_blocks_own_batch(make_suite: Make) -> None:
    for under, given in (("refill", True), ("cycle", False)):
        suite = make_suite(budget={"examples": 16, "optimizer_steps": 4, "under": under})
        cells = [job for job in jobs_of(suite) if job.kind == "cell"]
        assert cells
        assert {"collect" in job.payload["inputs"] for job in cells} == {given}


def test_names_of_conditions_do_not_decide_any_order(ran: Any, make_suite: Make) -> None:
    trajectories, credit = ran.batch("b0/collect").trajectories, ran.credit(0, "hindsight")
    budget = {"examples": 12, "optimizer_steps": 4, "match": [*AXES, "tokens"]}
    conditions: list[dict[str, Any]] = [
        {"id": "zebra", "rule": "hcapo"},
        {"id": "aardvark", "rule": "grpo", "baseline": True},
    ]
    digests = {
        plan_of(
            World(make_suite(budget=budget, conditions=listed), 0),
            {"condition": "zebra", "arm": "matched", "twin": 0},
            trajectories,
            credit,
        ).digest()
        for listed in (conditions, conditions[::-1], [{**conditions[0]}, {**conditions[1], "id": "yak"}])
    }
    assert len(digests) == 1
