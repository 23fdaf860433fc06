"""Limits of generation that nothing can keep to; each message names what is needed and how to mend."""

import pytest
from tests.preregistration.test_budget_checks import BASE, RULES, faults, parsed

from equipoise_preregistration import parse_suite

STEPS, TOKENS = "budget.generation.environment_steps", "budget.generation.rollout_tokens"

# The base suite plays each of 4 prompts twice, at most 8 turns.


def test_one_prompt_takes_a_step_of_each_of_its_rollouts() -> None:
    found = faults("examples: 4, generation: {environment_steps: 1}, doubly: true")
    assert found == {
        STEPS: "expected at least 2, got 1: one prompt is played 2 times (collection.rollouts_per_task), and each "
        "takes at least one environment step; raise it, lower collection.rollouts_per_task, or write null for no limit"
    }
    assert parsed("examples: 4, generation: {environment_steps: 2}").budget.generation.environment_steps == 2


def test_a_rollout_has_four_tokens() -> None:
    found = faults("examples: 4, generation: {rollout_tokens: 7, environment_steps: 1}")
    assert found[TOKENS].startswith("expected at least 8, got 7: ")
    assert STEPS in found
    assert parsed("examples: 4, generation: {rollout_tokens: 8}").budget.generation.rollout_tokens == 8


def test_limits_that_no_cell_keeps_to_are_refused() -> None:
    limits, off = "examples: 4, generation: {rollout_tokens: 100}", "arms: {native: false}\n"
    assert faults(limits, off)["budget.generation"].startswith("expected an arm that keeps to the limits")
    assert parsed(f"{limits}, doubly: true", off).budget.doubly


@pytest.mark.parametrize(("fill", "most"), [("", 48), ("under: refill, ", 3), ("max_repetition: 2, ", 6)])
def test_a_limit_of_steps_is_one_of_slots_where_both_sides_are_matched(fill: str, most: int) -> None:
    # Three steps are three examples.
    within, beyond = most // 4 * 4, most // 4 * 4 + 4
    limit = f"{fill}generation: {{environment_steps: 3}}"
    if within:
        assert parsed(f"examples: {within}, {limit}, doubly: true").budget.examples == within
    assert parsed(f"examples: {beyond}, {limit}").budget.examples == beyond
    found = faults(f"examples: {beyond}, {limit}, doubly: true")
    assert "3 steps are at most 3 different examples" in found[STEPS]
    assert found[STEPS].endswith("raise it, or lower examples")


def test_the_limit_is_of_a_round_and_so_is_the_share_of_slots() -> None:
    limit = "generation: {environment_steps: 3}, max_repetition: 1, doubly: true"
    assert faults(f"examples: 4, {limit}")[STEPS].startswith(
        "expected at least 4 where `doubly: true`, got 3"
    )
    rounds = BASE.replace("rollouts_per_task: 2", "rollouts_per_task: 2, rounds: 4")
    text = f"{rounds}budget: {{optimizer_steps: 4, examples: 12, {limit}}}\n"
    assert parse_suite(text.encode(), "s.yaml", rules=RULES).collection.rounds == 4


def test_padding_needs_no_number_of_examples() -> None:
    assert parsed("examples: 64, under: pad, generation: {environment_steps: 2}, doubly: true").budget.doubly
