"""Rounds: who collects what, what each round and the whole receive, and how a cell ends that cannot go on."""

import copy
import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.execution.batches import Batch
from equipoise.execution.collect import played_pool
from equipoise.execution.plans import plan_of
from equipoise.policies.model import load_weights
from equipoise_budget import Cost, Plan
from equipoise_conditions.credit import Credit, Reason
from equipoise_conditions.projection import to_turns
from equipoise_preregistration import Suite

Make = Callable[..., Suite]

ROUNDS = {"rollouts_per_task": 4, "rounds": 2}
CONDITIONS: list[dict[str, Any]] = [
    {"id": "outcome", "rule": "grpo", "baseline": True},
    {"id": "echo", "rule": "grpo"},
    {"id": "carl", "rule": "carl", "forks": 3},
    {"id": "replay", "rule": "replay", "alternatives": 1, "rollouts": 2},
]
MATCHED = "b0/cell/outcome/matched/0"


@pytest.fixture(scope="module")
def twice(make_suite: Make, run_suite: Any) -> Any:
    return run_suite(make_suite(collection=ROUNDS, conditions=CONDITIONS, blocks=1))


def under(ran: Any, suite: Suite, credit: Credit | None = None, folder: Path | None = None) -> Any:
    """The same block under a changed suite, its first credit given by hand where one is."""
    changed = copy.copy(ran)
    written = suite.model_dump(mode="json")
    changed.payloads = {key: {**payload, "suite": written} for key, payload in ran.payloads.items()}
    if credit is not None and folder is not None:
        folder.mkdir()
        credit.save(folder / "credit.npz")
        signals = {key: folder for key in ran.folders if "/signals/" in key}
        changed.folders = {**ran.folders, **signals}
    return changed


def given(ran: Any, value: float) -> Credit:
    turns = ran.batch("b0/collect").trajectories.n_turns
    return Credit(np.full(turns, value), np.zeros(turns, dtype=np.int64))


def test_matched_and_twin_cells_receive_their_share_in_every_round_and_the_budget_in_all(twice: Any) -> None:
    for _, _, arms in twice.cells():
        for arm in ("matched", "twin"):
            result = arms[arm]
            assert (result["end"], result["message"], result["breaches"]) == ("ok", None, [])
            assert result["steps"]["slots"] == [4, 4, 4, 4]
            assert result["round_of_step"] == [1, 1, 2, 2]
            assert (result["dose"]["slots"], result["dose"]["optimizer_steps"]) == (16, 4)
            for told in result["rounds"]:
                assert (told["dose"]["slots"], told["dose"]["optimizer_steps"]) == (8, 2)
                assert told["planned"]["tokens_in_loss"] == told["dose"]["tokens_in_loss"]
            for name in ("slots", "tokens_in_loss", "unique_examples", "optimizer_steps"):
                assert result["planned"][name] == result["dose"][name]
                assert result["dose"][name] == sum(told["dose"][name] for told in result["rounds"])


def test_native_cells_take_each_round_as_it_comes(twice: Any) -> None:
    for block, condition, arms in twice.cells():
        rounds = arms["native"]["rounds"]
        assert [told["planned"]["fill"] for told in rounds] == ["native", "native"]
        folder = twice.folders[f"b{block}/cell/{condition}/native/0"]
        for told, where in zip(rounds, ("plan.npz", "plan-2.npz"), strict=True):
            assert told["dose"]["slots"] == told["credit"]["examples"]
            assert Plan.load(folder / where).slots == told["credit"]["examples"]
        assert arms["native"]["breaches"] == []


def test_cells_whose_policies_are_equal_meet_the_same_trajectories_in_every_round(twice: Any) -> None:
    for arm in ("native", "matched"):
        one, other = (twice.results[f"b0/cell/{name}/{arm}/0"] for name in ("outcome", "echo"))
        for first, second in zip(one["rounds"], other["rounds"], strict=True):
            assert first["digests"] == second["digests"]
            assert first["credit"] == second["credit"]
        assert one["digests"] == other["digests"]
        assert one["outcomes"] == other["outcomes"]
    twin = twice.results["b0/cell/outcome/twin/0"]
    matched = twice.results[MATCHED]
    assert twin["rounds"][0]["digests"]["trajectories"] == matched["rounds"][0]["digests"]["trajectories"]


def test_the_second_round_is_collected_by_the_policy_that_the_first_one_left(
    twice: Any, make_suite: Make, tmp_path: Path
) -> None:
    half = under(
        twice, make_suite(conditions=CONDITIONS, blocks=1, budget={"examples": 8, "optimizer_steps": 2})
    )
    once, result = half.again(MATCHED, tmp_path), twice.results[MATCHED]
    assert once["digests"]["plan"] == result["rounds"][0]["digests"]["plan"]
    assert once["dose"] == result["rounds"][0]["dose"]
    assert once["steps"]["loss"] == result["steps"]["loss"][:2]
    assert not {"rounds", "round_of_step"} & once.keys()
    assert not (tmp_path / "rounds.csv").exists()

    world = twice.world(0)
    policy = world.fresh_model()
    load_weights(policy, tmp_path / "policy.safetensors")
    batch, cost = played_pool(world.in_round(2), world.sampler(policy, 1.0))
    assert batch.trajectories.digest() == result["rounds"][1]["digests"]["trajectories"]
    # Outcomes need no measurement: beyond training, the round cost its collection.
    told = result["rounds"][1]
    assert Cost.from_json(told["cost"]) == Cost.from_json(told["trained"]) + cost
    assert cost.environment_resets == 2 * 4


def test_every_round_has_random_numbers_of_its_own_and_the_first_those_of_a_single_one(twice: Any) -> None:
    world = twice.world(0)
    draws = [world.in_round(number).uniforms(2, "collect") for number in (1, 2, 3)]
    np.testing.assert_array_equal(draws[0], world.uniforms(2, "collect"))
    assert not (draws[0] == draws[1]).any()
    assert not (draws[1] == draws[2]).any()
    assert world.in_round(2).env is world.env


def test_a_twin_permutes_the_credit_of_its_own_rounds(twice: Any) -> None:
    world = twice.world(0)
    for condition in ("outcome", "carl"):
        folder = twice.folders[f"b0/cell/{condition}/twin/0"]
        batch, credit = Batch.load(folder / "round-2"), Credit.load(folder / "round-2" / "credit.npz")
        twin = Plan.load(folder / "plan-2.npz")
        cell = {"condition": condition, "arm": "matched", "twin": 0}
        rule = plan_of(world.in_round(2), cell, batch.trajectories, credit)
        np.testing.assert_array_equal(rule.weight, twin.weight)
        owner = batch.trajectories.trajectory_of_turn
        np.testing.assert_array_equal(owner[rule.example], owner[twin.example])
    matched = twice.folders["b0/cell/carl/matched/0"]
    own = Batch.load(matched / "round-2").trajectories
    assert own.n > 8, "the rule forks in every round"
    turns = to_turns(Credit.load(matched / "round-2" / "credit.npz"), own)
    assert turns.defined[Plan.load(matched / "plan-2.npz").example].all()


def test_what_a_round_cost_is_charged_to_the_cell_and_told_by_round(twice: Any) -> None:
    for _, condition, arms in twice.cells():
        for arm, result in arms.items():
            first, second = (Cost.from_json(told["cost"]) for told in result["rounds"])
            assert Cost.from_json(result["cost"]) == first + second
            assert first.rollout_tokens == 0
            assert second.rollout_tokens > 0
            with (twice.folders[f"b0/cell/{condition}/{arm}/0"] / "rounds.csv").open() as file:
                rows = list(csv.DictReader(file))
            assert [row["round"] for row in rows] == ["1", "2"]
            assert [row["rollout_tokens"] for row in rows] == ["0", str(second.rollout_tokens)]
            assert [int(row["slots"]) for row in rows] == [t["dose"]["slots"] for t in result["rounds"]]
    supplied = twice.results["b0/cell/replay/matched/0"]["rounds"][1]["supplied"]["replays"]
    assert sum(supplied.values()) == 32
    with (twice.folders[MATCHED] / "ledger.csv").open() as file:
        assert [(row["step"], row["round"]) for row in csv.DictReader(file)] == [
            ("1", "1"),
            ("2", "1"),
            ("3", "2"),
            ("4", "2"),
        ]


def test_the_same_cell_again_leaves_the_same_bits(twice: Any, tmp_path: Path) -> None:
    for key in ("b0/cell/carl/twin/0", "b0/cell/replay/native/0"):
        folder = tmp_path / key.replace("/", "-")
        folder.mkdir()
        assert {**twice.again(key, folder), "seconds": None} == {**twice.results[key], "seconds": None}
        first = twice.folders[key]
        names = [path.relative_to(first) for path in first.rglob("*") if path.is_file()]
        assert len(names) == 8
        assert all((first / name).read_bytes() == (folder / name).read_bytes() for name in names)


def test_a_matched_cell_ends_in_a_round_without_credit_and_owes_its_budget(
    twice: Any, make_suite: Make, tmp_path: Path
) -> None:
    # A policy that cannot be moved to do anything else has no alternative to replay: only the first round has credit.
    cold = make_suite(
        collection={"rollouts_per_task": 4, "rounds": 3, "temperature": 1e-6},
        conditions=CONDITIONS,
        blocks=1,
        budget={"examples": 24, "optimizer_steps": 6},
    )
    changed = under(twice, cold, given(twice, 1.0), tmp_path / "signals")
    for arm in ("matched", "twin"):
        folder = tmp_path / arm
        folder.mkdir()
        result = changed.again(f"b0/cell/replay/{arm}/0", folder)
        assert result["end"] == "ok"
        assert result["message"].startswith("round 2: ")
        assert [told["round"] for told in result["rounds"]] == [1, 2]
        assert [told["dose"]["slots"] for told in result["rounds"]] == [8, 0]
        assert result["rounds"][1]["digests"]["plan"] == "none"
        assert result["breaches"][0].startswith("round 2: the budget is 8 slots, counted 0: ")
        assert result["breaches"][1:] == [
            "the budget is 24 slots, counted 8",
            "the budget is 6 steps, counted 2",
        ]
        assert (result["dose"]["slots"], result["round_of_step"]) == (8, [1, 1])
        assert result["cost"]["rollout_tokens"] == result["rounds"][1]["cost"]["rollout_tokens"] > 0
        assert not (folder / "plan-2.npz").exists()
        assert (folder / "round-2" / "credit.npz").exists()


def test_a_native_cell_trains_nothing_in_a_round_without_credit_and_goes_on(
    twice: Any, tmp_path: Path
) -> None:
    turns = twice.batch("b0/collect").trajectories.n_turns
    nothing = Credit(np.full(turns, np.nan), np.full(turns, int(Reason.NO_ALTERNATIVE)))
    changed = under(twice, twice.suite, nothing, tmp_path / "signals")
    result = changed.again("b0/cell/replay/native/0", tmp_path)
    first, second = result["rounds"]
    assert (first["dose"]["slots"], first["digests"]["plan"], first["breaches"]) == (0, "none", [])
    assert second["dose"]["slots"] == second["credit"]["examples"] > 0
    assert result["message"].startswith("round 1: ")
    assert result["breaches"] == []
    assert set(result["round_of_step"]) == {2}
    assert result["dose"]["slots"] == second["dose"]["slots"]
    # Nothing moved the policy before: the second collection is the base policy's.
    world = twice.world(0)
    base = world.model_from(twice.folders["b0/base"] / "base.safetensors")
    batch, _ = played_pool(world.in_round(2), world.sampler(base, 1.0))
    assert second["digests"]["trajectories"] == batch.trajectories.digest()


def test_a_cell_that_never_has_credit_is_the_policy_it_started_from(
    twice: Any, make_suite: Make, tmp_path: Path
) -> None:
    cold = make_suite(collection={**ROUNDS, "temperature": 1e-6}, conditions=CONDITIONS, blocks=1)
    turns = twice.batch("b0/collect").trajectories.n_turns
    nothing = Credit(np.full(turns, np.nan), np.full(turns, int(Reason.NO_ALTERNATIVE)))
    changed = under(twice, cold, nothing, tmp_path / "signals")
    native = changed.again("b0/cell/replay/native/0", tmp_path)
    matched = changed.again("b0/cell/replay/matched/0", tmp_path)
    assert [told["round"] for told in native["rounds"]] == [1, 2]
    assert "round 1: " in native["message"]
    assert "; round 2: " in native["message"]
    assert native["breaches"] == []
    (breach,) = matched["breaches"]
    assert breach.startswith("the budget is 16 slots, counted 0: round 1: ")
    assert len(matched["rounds"]) == 1
    for result in (native, matched):
        assert result["digests"]["weights"] == twice.results["b0/base"]["digests"]["weights"]
        assert result["digests"]["plan"] == "none"
        assert result["dose"]["slots"] == 0


def test_groups_of_equal_rewards_are_shown_with_weight_0(
    twice: Any, make_suite: Make, tmp_path: Path
) -> None:
    cold = make_suite(collection={**ROUNDS, "temperature": 1e-6}, conditions=CONDITIONS, blocks=1)
    result = under(twice, cold, given(twice, 0.0), tmp_path / "signals").again(MATCHED, tmp_path)
    assert [told["dose"]["zero_weight_slots"] for told in result["rounds"]] == [8, 8]
    assert (result["dose"]["slots"], result["dose"]["weight_abs"], result["breaches"]) == (16, 0.0, [])
    assert result["dose"]["l2_from_start"] == 0.0


def test_a_cell_that_diverges_in_the_second_round_ends_there_and_is_counted_up_to_there(
    twice: Any, make_suite: Make, tmp_path: Path
) -> None:
    hot = make_suite(
        collection={**ROUNDS, "rounds": 4},
        conditions=CONDITIONS,
        blocks=1,
        training={"learning_rate": 1e30},
        budget={"examples": 32, "optimizer_steps": 8},
    )
    # Credit of 0 moves nothing, at any rate of learning.
    result = under(twice, hot, given(twice, 0.0), tmp_path / "signals").again(MATCHED, tmp_path)
    assert result["end"] == "diverged"
    assert result["message"].startswith("round 2: ")
    assert [told["end"] for told in result["rounds"]] == ["ok", "diverged"]
    assert result["breaches"] == []
    taken = result["dose"]["optimizer_steps"]
    assert 2 < taken == len(result["steps"]["slots"]) <= 4
    assert result["round_of_step"] == [1, 1, 2, 2]
    assert len(result["allocated"]["slots"]) == 4


def test_refills_that_run_out_in_a_later_round_end_the_cell_there(
    twice: Any, make_suite: Make, tmp_path: Path
) -> None:
    # Replaying one trajectory a task leaves at most 8 examples, however many are collected.
    sparse = make_suite(
        collection=ROUNDS,
        conditions=[*CONDITIONS[:3], {**CONDITIONS[3], "trajectories_per_task": 1}],
        blocks=1,
        budget={"examples": 32, "optimizer_steps": 4, "under": "refill", "refill": {"cap": 2}},
    )
    changed = under(twice, sparse, given(twice, 1.0), tmp_path / "signals")
    changed.payloads = {
        key: {**payload, "inputs": {**payload["inputs"], "collect": "b0/collect"}}
        for key, payload in changed.payloads.items()
    }
    result = changed.again("b0/cell/replay/matched/0", tmp_path)
    assert [told["dose"]["slots"] for told in result["rounds"]] == [16, 0]
    assert "round 2: " in result["message"]
    assert "raise budget.refill.cap" in result["message"]
    waves = [told["generation"]["refill"]["waves"] for told in result["rounds"]]
    assert (waves[0], sum(waves[1])) == ([], 2)
    refilled = Cost.from_json(result["rounds"][1]["generation"]["refill"]["cost"])
    assert result["cost"]["environment_resets"] > refilled.environment_resets >= 2 * 2
    assert Batch.load(tmp_path / "round-2").trajectories.collected.sum() == 2 * (4 + 2)


def test_limits_of_generation_hold_in_every_round(twice: Any, make_suite: Make, tmp_path: Path) -> None:
    limited = make_suite(
        collection=ROUNDS,
        conditions=CONDITIONS,
        blocks=1,
        budget={"examples": 16, "optimizer_steps": 4, "generation": {"environment_steps": 16}},
    )
    result = under(twice, limited).again("b0/cell/outcome/native/0", tmp_path)
    # 4 rollouts of 4 turns are one prompt's; each round affords one, in an order of its own.
    for told in result["rounds"]:
        assert len(told["generation"]["prompts"]["prompts"]) == 1
        assert told["generation"]["prompts"]["limits"] == {"environment_steps": 16.0}
        assert (told["dose"]["slots"], told["credit"]["examples"]) == (16, 32)


def test_targets_are_totals_of_which_each_round_gets_its_share(
    twice: Any, make_suite: Make, tmp_path: Path
) -> None:
    match = ["examples", "optimizer_steps", "tokens", "weight_mass"]
    suite = make_suite(
        collection=ROUNDS,
        conditions=CONDITIONS,
        blocks=1,
        budget={"examples": 16, "optimizer_steps": 4, "match": match, "targets": {"weight_mass": 24.0}},
    )
    result = under(twice, suite).again(MATCHED, tmp_path)
    assert result["breaches"] == []
    assert [told["reached"]["weight_mass"]["target"] for told in result["rounds"]] == [12.0, 12.0]
    assert result["reached"]["weight_mass"]["target"] == 24.0
    assert result["reached"]["weight_mass"]["counted"] == pytest.approx(24.0)
    tokens = [told["reached"]["tokens"]["target"] for told in result["rounds"]]
    assert result["reached"]["tokens"]["target"] == sum(tokens)
    assert all(told["held"] for told in result["reached"].values())
