"""What a suite's cells receive: equal doses in matched and twin cells, from the same trajectories."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.errors import ExecutionError
from equipoise.execution.execute import execute

MASSES = ("slots", "weight_abs", "weight_sq", "ess")


def test_every_job_ran_and_every_budget_was_held(ran: Any) -> None:
    cells = [result for result in ran.results.values() if result["kind"] == "cell"]
    assert len(cells) == 2 * 7 * 3
    assert len(ran.results) == len(cells) + 2 * (1 + 1 + 7)
    assert [cell["breaches"] for cell in cells if cell["breaches"]] == []
    assert {cell["end"] for cell in cells} == {"ok"}


def test_a_twin_receives_what_its_rule_receives_step_by_step(ran: Any) -> None:
    for _, _, arms in ran.cells():
        for name in MASSES:
            assert arms["matched"]["steps"][name] == arms["twin"]["steps"][name]
        # A twin moves afresh at every step, so that only which turns are shown, and how often, may differ.
        for name in (*MASSES, "optimizer_steps", "zero_weight_slots", "positive_slots", "ess_trajectories"):
            assert arms["matched"]["dose"][name] == arms["twin"]["dose"][name]


def test_all_matched_and_twin_cells_receive_the_same_slots_and_steps(ran: Any) -> None:
    for _, _, arms in ran.cells():
        for arm in ("matched", "twin"):
            assert arms[arm]["steps"]["slots"] == [4, 4, 4, 4]
            assert (arms[arm]["dose"]["slots"], arms[arm]["dose"]["optimizer_steps"]) == (16, 4)


def test_a_native_cell_shows_every_example_of_its_rule_once(ran: Any) -> None:
    for block, condition, arms in ran.cells():
        plan = ran.plan(f"b{block}/cell/{condition}/native/0")
        examples = ran.turns(block, condition).examples
        assert sorted(plan.example.tolist()) == examples.tolist()
        assert arms["native"]["dose"]["optimizer_steps"] == -(-len(examples) // 4)


def test_a_slot_carries_the_credit_of_its_example_and_undefined_credit_is_never_one(ran: Any) -> None:
    for block, condition, _ in ran.cells():
        credit = ran.turns(block, condition)
        for arm in ("native", "matched"):
            plan = ran.plan(f"b{block}/cell/{condition}/{arm}/0")
            assert credit.defined[plan.example].all()
            np.testing.assert_array_equal(plan.weight, credit.value[plan.example])


def test_a_twin_moves_credit_inside_its_trajectories_and_nothing_else(ran: Any) -> None:
    moved = 0
    for block, condition, _ in ran.cells():
        owner = ran.batch_of(block, condition).trajectories.trajectory_of_turn
        matched = ran.plan(f"b{block}/cell/{condition}/matched/0")
        twin = ran.plan(f"b{block}/cell/{condition}/twin/0")
        np.testing.assert_array_equal(owner[matched.example], owner[twin.example])
        for name in ("weight", "step"):
            np.testing.assert_array_equal(getattr(matched, name), getattr(twin, name))
        here = int((matched.example != twin.example).sum())
        share = ran.results[f"b{block}/signals/{condition}"]["credit"]["shuffle_active_share"]
        assert (here > 0) == (share > 0), "a twin that can change nothing repeats its rule"
        moved += here
    assert moved > 50


def test_copies_are_never_trained(ran: Any) -> None:
    for block in (0, 1):
        own = ran.batch_of(block, "carl").trajectories.own
        assert not own.all()
        for arm in ("native", "matched", "twin"):
            assert own[ran.plan(f"b{block}/cell/carl/{arm}/0").example].all()


def test_two_rules_of_equal_credit_present_the_same_slots_and_end_in_the_same_weights(ran: Any) -> None:
    for block in (0, 1):
        for arm in ("native", "matched"):
            one, other = (ran.results[f"b{block}/cell/{name}/{arm}/0"] for name in ("outcome", "echo"))
            assert one["digests"] == other["digests"]
            assert one["outcomes"] == other["outcomes"]
            assert one["steps"] == other["steps"]


def test_rules_with_the_same_examples_share_their_slots(ran: Any) -> None:
    for block in (0, 1):
        plans = [ran.plan(f"b{block}/cell/{name}/matched/0") for name in ("outcome", "oracle", "noise")]
        for one, other in pairwise(plans):
            np.testing.assert_array_equal(one.example, other.example)


def test_blocks_share_tasks_and_nothing_else(ran: Any) -> None:
    one, other = ran.world(0), ran.world(1)
    assert one.env.reset("pool", 1) == other.env.reset("pool", 1)
    for name in ("base", "collect"):
        first, second = (ran.results[f"b{block}/{name}"]["digests"] for block in (0, 1))
        assert all(first[key] != second[key] for key in first)


def test_all_cells_of_a_block_saw_the_trajectories_that_were_collected(ran: Any) -> None:
    for block, condition, arms in ran.cells():
        collected = ran.results[f"b{block}/collect"]["digests"]["trajectories"]
        seen = {result["digests"]["trajectories"] for result in arms.values()}
        if condition == "carl":
            assert len(seen) == 1
            assert seen != {collected}
        else:
            assert seen == {collected}


@pytest.mark.parametrize(
    "key",
    [
        "b0/base",
        "b1/collect",
        "b0/signals/carl",
        "b1/signals/replay",
        "b0/signals/noise",
        "b0/cell/carl/twin/0",
    ],
)
def test_the_same_job_again_gives_the_same_result_and_the_same_files(
    ran: Any, key: str, tmp_path: Path
) -> None:
    result = ran.again(key, tmp_path)
    for one in (result, ran.results[key]):
        one.pop("seconds", None)
    assert result == ran.results[key]
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    first = {path.name: path.read_bytes() for path in ran.folders[key].iterdir() if path.is_file()}
    assert files == first


def test_outcomes_are_counted_by_task(ran: Any) -> None:
    for result in ran.results.values():
        if result["kind"] in ("base", "cell"):
            places = [(o["split"], o["task"], o["episodes"]) for o in result["outcomes"]]
            assert places == [("pool", 0, 2), ("pool", 1, 2), ("held_out", 0, 1)]
            assert all(0 <= o["successes"] <= o["episodes"] for o in result["outcomes"])


def test_training_moves_the_policy_from_where_it_started(ran: Any) -> None:
    for block, _, arms in ran.cells():
        base = ran.results[f"b{block}/base"]["digests"]["weights"]
        for result in arms.values():
            assert result["digests"]["weights"] != base
            assert result["dose"]["l2_from_start"] > 0
            assert result["dose"]["kl_from_start"] > 0


def test_a_job_of_no_known_kind_is_refused(ran: Any, tmp_path: Path) -> None:
    payload = {**ran.payloads["b0/base"], "job": "dream"}
    with pytest.raises(ExecutionError, match=r"expected a job of kind base, .* got 'dream'"):
        execute(payload, tmp_path, {})
