"""What a budget may ask for; each message names the value to mend and the number that would do."""

from collections.abc import Mapping
from typing import Any

import pytest

from equipoise_preregistration import Suite, SuiteError, parse_suite


def filled(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    return parameters


RULES = dict.fromkeys(("grpo", "gigpo"), filled)

# 4 tasks x 2 rollouts x 8 turns are at most 64 distinct examples of 8 trajectories.
BASE = """\
name: tiny
environment: {tasks: {pool: 4}, horizon: 8}
collection: {rollouts_per_task: 2}
conditions:
  - {id: outcome, rule: grpo, baseline: true}
  - {id: gigpo, rule: gigpo}
"""


def parsed(budget: str, more: str = "") -> Suite:
    text = f"{BASE}budget: {{optimizer_steps: 4, {budget}}}\n{more}"
    return parse_suite(text.encode(), "s.yaml", rules=RULES)


def faults(budget: str, more: str = "") -> dict[str, str]:
    with pytest.raises(SuiteError) as caught:
        parsed(budget, more)
    return {fault.path: fault.message for fault in caught.value.faults}


def test_a_budget_that_asks_for_everything_is_read() -> None:
    budget = parsed(
        "examples: 64, under: resample, over: thin, stratify: none, "
        "match: [examples, optimizer_steps, tokens, weight_mass, effective_sample_size, displacement], "
        "targets: {tokens: 256, effective_sample_size: 6.5, displacement: 0.05}, tolerances: {tokens: 0.01}, "
        "generation: {rollout_tokens: 10000, judge_calls: 0}, doubly: true"
    ).budget
    assert budget.targets.tokens == 256
    assert budget.targets.weight_mass is None
    assert (budget.tolerances.tokens, budget.tolerances.displacement) == (0.01, 0.1)
    assert budget.generation.limits == {"rollout_tokens": 10000.0, "judge_calls": 0.0}


def test_slots_and_steps_are_always_matched() -> None:
    found = faults("examples: 64, match: [examples, tokens]")
    assert found["budget.match"].endswith("add optimizer_steps")


def test_an_axis_is_named_once() -> None:
    found = faults("examples: 64, match: [examples, optimizer_steps, tokens, tokens]")
    assert found == {"budget.match[3]": "expected each axis once, got 'tokens' again; take it out"}


def test_a_target_of_what_is_not_matched_is_refused() -> None:
    assert (
        "add tokens to budget.match"
        in faults("examples: 64, targets: {tokens: 100}")["budget.targets.tokens"]
    )


@pytest.mark.parametrize("axis", ["effective_sample_size", "displacement"])
def test_an_axis_without_a_default_needs_its_target(axis: str) -> None:
    found = faults(f"examples: 64, match: [examples, optimizer_steps, {axis}]")
    assert f"expected a target of {axis}" in found["budget.targets"]


def test_every_slot_has_a_token() -> None:
    found = faults("examples: 64, match: [examples, optimizer_steps, tokens], targets: {tokens: 63}")
    assert found["budget.targets.tokens"].startswith("expected at least 64, one token for each slot, got 63")


@pytest.mark.parametrize(("examples", "most"), [(64, 8), (4, 4)])
def test_no_plan_holds_more_trajectories_than_there_are(examples: int, most: int) -> None:
    found = faults(
        f"examples: {examples}, match: [examples, optimizer_steps, effective_sample_size], "
        "targets: {effective_sample_size: 8.5}"
    )
    assert found["budget.targets.effective_sample_size"].startswith(f"expected at most {most}, got 8.5")


def test_padding_reaches_any_budget_and_repeats_nothing() -> None:
    assert parsed("examples: 4096, under: pad").budget.under == "pad"
    assert (
        "repeats nothing, got 4"
        in faults("examples: 64, under: pad, max_repetition: 4")["budget.max_repetition"]
    )
    assert parsed("examples: 64, under: pad, max_repetition: 1").budget.max_repetition == 1


def test_refills_reach_what_their_cap_allows_and_show_nothing_twice() -> None:
    # 4 tasks x (2 + 8) rollouts x 8 turns.
    assert parsed("examples: 320, under: refill").budget.refill.cap == 8
    found = faults("examples: 324, under: refill")
    assert found["budget.examples"].startswith(
        "expected at most 320, got 324: 4 tasks x 10 rollouts x 8 turns"
    )
    assert "raise budget.refill.cap" in found["budget.examples"]


def test_tokens_are_matched_only_where_there_is_a_choice_of_examples() -> None:
    found = faults("examples: 64, under: pad, over: keep_largest, match: [examples, optimizer_steps, tokens]")
    assert set(found) == {"budget.under", "budget.over"}


def test_a_twin_that_moves_weight_between_trajectories_cannot_keep_their_effective_sample_size() -> None:
    axes = "match: [examples, optimizer_steps, effective_sample_size], targets: {effective_sample_size: 4}"
    budget = f"examples: 64, {axes}"
    assert set(faults(budget, "arms: {twin: across}\n")) == {"arms.twin"}
    assert parsed(budget, "arms: {twin: across, twins: 0}\n").arms.twins == 0
    assert parsed(budget, "arms: {twin: anywhere}\n").arms.twin == "anywhere"


def test_both_sides_need_a_limit() -> None:
    found = faults("examples: 64, under: refill, doubly: true")
    assert set(found) == {"budget.doubly"}
    limited = parsed("examples: 64, under: refill, doubly: true, generation: {flops: 1.0e9}").budget
    assert limited.generation.limits == {"flops": 1e9}


def test_an_unknown_axis_is_told_the_nearest() -> None:
    found = faults("examples: 64, match: [examples, optimizer_steps, token]")
    assert "did you mean 'tokens'" in found["budget.match[2]"]


def test_unknown_keys_of_the_sections_of_a_budget_are_refused() -> None:
    found = faults("examples: 64, targets: {token: 1}, refill: {caps: 1}, generation: {tokens: 1}")
    assert set(found) == {"budget.targets.token", "budget.refill.caps", "budget.generation.tokens"}


@pytest.mark.parametrize(
    ("rounds", "examples", "found"),
    [
        (
            3,
            48,
            {
                "budget.optimizer_steps": "expected a multiple of collection.rounds (3), for it is the total of all "
                "rounds, got 4; the nearest are 3 and 6"
            },
        ),
        (
            8,
            48,
            {
                "budget.optimizer_steps": "expected a multiple of collection.rounds (8), for it is the total of all "
                "rounds, got 4; the nearest are 8"
            },
        ),
        (
            5,
            48,
            {
                "budget.examples": "expected a multiple of collection.rounds (5), for it is the total of all rounds, "
                "got 48; the nearest are 45 and 50",
                "budget.optimizer_steps": "expected a multiple of collection.rounds (5), for it is the total of all "
                "rounds, got 4; the nearest are 5",
            },
        ),
    ],
)
def test_rounds_share_the_budget_exactly(rounds: int, examples: int, found: dict[str, str]) -> None:
    collection = f"collection: {{rollouts_per_task: 2, rounds: {rounds}}}\n"
    assert faults_of_rounds(f"examples: {examples}", collection) == found


def faults_of_rounds(budget: str, collection: str) -> dict[str, str]:
    text = f"{BASE}budget: {{optimizer_steps: 4, {budget}}}\n".replace(
        "collection: {rollouts_per_task: 2}\n", collection
    )
    with pytest.raises(SuiteError) as caught:
        parse_suite(text.encode(), "s.yaml", rules=RULES)
    return {fault.path: fault.message for fault in caught.value.faults}


def test_more_rounds_hold_more_examples_and_axes_that_do_not_add_up_are_refused() -> None:
    collection = "collection: {rollouts_per_task: 2, rounds: 2}\n"
    found = faults_of_rounds("examples: 132, max_repetition: 1", collection)
    assert found["budget.examples"].startswith(
        "expected at most 128, got 132: 4 tasks x 2 rollouts x 8 turns x 2 rounds are at most 128 distinct"
    )
    found = faults_of_rounds(
        "examples: 64, match: [examples, optimizer_steps, effective_sample_size, displacement], "
        "targets: {effective_sample_size: 17, displacement: 0.1}",
        collection,
    )
    assert "got displacement with 2 rounds" in found["budget.match[3]"]
    assert "add weight_mass" in found["budget.match[2]"]
    assert found["budget.targets.effective_sample_size"] == (
        "expected at most 16, got 17: 4 tasks x 2 rollouts x 2 rounds and 64 slots hold no more trajectories"
    )


def test_rounds_share_the_targets_too() -> None:
    collection = "collection: {rollouts_per_task: 2, rounds: 2}\n"
    axes = "match: [examples, optimizer_steps, tokens, weight_mass, effective_sample_size]"
    found = faults_of_rounds(
        f"examples: 64, {axes}, targets: {{tokens: 151, effective_sample_size: 1.5}}", collection
    )
    assert found == {
        "budget.targets.tokens": "expected a multiple of collection.rounds (2), for it is the total of all rounds, "
        "got 151; the nearest are 150 and 152",
        "budget.targets.effective_sample_size": "expected at least 2, one trajectory in each round "
        "(collection.rounds), got 1.5; raise it",
    }
