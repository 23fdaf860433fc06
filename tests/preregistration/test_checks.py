"""What must hold between sections; each message names the value to mend and the number that would do."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from equipoise_preregistration import Suite, SuiteError, parse_suite


def filled(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    return parameters


RULES = dict.fromkeys(("grpo", "gigpo", "replay", "random"), filled)

BASE = """\
name: tiny
conditions:
  - {id: outcome, rule: grpo, baseline: true}
  - {id: gigpo, rule: gigpo}
budget: {examples: 64, optimizer_steps: 4}
blocks: 5
"""


def faults(more: str = "", change: tuple[str, str] = ("", "")) -> dict[str, str]:
    text = BASE.replace(*change) if change[0] else BASE
    with pytest.raises(SuiteError) as caught:
        parse_suite((text + more).encode(), "s.yaml", rules=RULES)
    return {fault.path: fault.message for fault in caught.value.faults}


def test_a_budget_that_is_not_divisible_names_its_neighbours() -> None:
    found = faults(change=("examples: 64, optimizer_steps: 4", "examples: 2050, optimizer_steps: 64"))
    assert found == {
        "budget.examples": "expected a multiple of optimizer_steps (64), got 2050, which leaves 2 over; "
        "the nearest are 2048 (batch 32) and 2112 (batch 33)"
    }


def test_more_steps_than_examples_names_the_one_neighbour_there_is() -> None:
    found = faults(change=("examples: 64", "examples: 3"))
    assert found["budget.examples"].endswith("the nearest are 4 (batch 1)")


def test_a_budget_beyond_every_fill_is_refused_with_the_binding_number() -> None:
    small = "environment: {tasks: {pool: 1}, horizon: 1}\ncollection: {rollouts_per_task: 3}\n"
    found = faults(small)
    # 1 task x 3 rollouts x 1 turn, each shown 16 times: 48 slots.
    assert found["budget.examples"].startswith("expected at most 48, got 64: ")


def test_a_budget_at_the_bound_is_accepted() -> None:
    small = "environment: {tasks: {pool: 1}, horizon: 1}\ncollection: {rollouts_per_task: 4}\n"
    assert parse_suite((BASE + small).encode(), "s.yaml", rules=RULES).budget.examples == 64


def test_a_suite_without_a_baseline_is_refused() -> None:
    assert "got none" in faults(change=(", baseline: true", ""))["conditions"]


def test_a_second_baseline_is_refused_and_the_first_is_named() -> None:
    found = faults(change=("rule: gigpo}", "rule: gigpo, baseline: true}"))
    assert found == {
        "conditions[1].baseline": "expected exactly one baseline, got 'gigpo' besides 'outcome'; unmark one"
    }


def test_a_faulty_condition_does_not_make_the_baseline_look_missing() -> None:
    found = faults(change=("baseline: true", "baseline: yes-please"))
    assert list(found) == ["conditions[0].baseline"]


def test_a_baseline_that_is_a_control_is_refused() -> None:
    assert "conditions[0].control" in faults(change=("baseline: true", "baseline: true, control: negative"))


def test_one_condition_is_no_comparison() -> None:
    assert "at least two" in faults(change=("  - {id: gigpo, rule: gigpo}\n", ""))["conditions"]


@pytest.mark.parametrize("other", ["outcome", "Outcome"])
def test_ids_that_a_disk_could_not_tell_apart_are_refused(other: str) -> None:
    found = faults(change=("id: gigpo", f"id: {other}"))
    assert (
        found["conditions[1].id"]
        == f"expected an id that no other has, got {other!r}, the id of conditions[0]"
    )


def test_hypotheses_with_one_id_are_refused() -> None:
    text = "hypotheses:\n  - {id: H1, contrast: content(gigpo)}\n  - {id: H1, contrast: total(gigpo)}\n"
    assert list(faults(text)) == ["hypotheses[1].id"]


def test_twins_without_the_matched_arm_are_refused() -> None:
    assert list(faults("arms: {matched: false}\n")) == ["arms.twins"]


def test_a_suite_without_any_arm_is_refused() -> None:
    assert list(faults("arms: {native: false, matched: false, twins: 0}\n")) == ["arms"]


@pytest.mark.parametrize(
    ("looks", "path", "words"),
    [
        ("[6]", "analysis.looks[0]", "at or before the last block (5), got 6"),
        ("[3, 3, 5]", "analysis.looks[1]", "increasing order, got 3 after 3"),
        ("[3]", "analysis.looks", "the last block (5), got 3; append 5"),
        ("[0, 5]", "analysis.looks[0]", "at least 1, got 0"),
    ],
)
def test_looks_are_increasing_numbers_of_blocks_up_to_the_last(looks: str, path: str, words: str) -> None:
    assert words in faults(f"analysis: {{looks: {looks}}}\n")[path]


def test_the_success_band_must_increase() -> None:
    found = faults("policy: {warm_start: {success: [0.6, 0.5]}}\n")
    assert (
        found["policy.warm_start.success"] == "expected [lowest, highest] in increasing order, got [0.6, 0.5]"
    )


def test_claims_on_held_out_tasks_need_episodes_and_tasks() -> None:
    found = faults(
        "evaluation: {primary: held_out, held_out_episodes: 0}\nenvironment: {tasks: {held_out: 0}}\n"
    )
    assert set(found) == {"evaluation.held_out_episodes", "environment.tasks.held_out"}


@pytest.mark.parametrize(
    ("contrast", "words"),
    [
        ("content(gigp)", "expected one of the conditions outcome, gigpo, got 'gigp'; did you mean 'gigpo'?"),
        ("contnt(gigpo)", "did you mean 'content(gigpo)'?"),
        ("gigpo", "expected one of content(CONDITION)"),
        ("content(outcome)", "got the baseline 'outcome'"),
    ],
)
def test_a_hypothesis_is_about_a_contrast_of_a_condition(contrast: str, words: str) -> None:
    found = faults(f'hypotheses:\n  - {{id: H1, contrast: "{contrast}"}}\n')
    assert words in found["hypotheses[0].contrast"]


@pytest.mark.parametrize(
    ("contrast", "arms", "off"),
    [
        ("content", "{twins: 0}", "twins"),
        ("shape", "{twins: 0}", "twins"),
        ("volume", "{native: false}", "native"),
        ("total", "{native: false}", "native"),
        ("volume", "{matched: false, twins: 0}", "matched"),
    ],
)
def test_a_contrast_needs_the_arms_it_is_made_of(contrast: str, arms: str, off: str) -> None:
    found = faults(f"arms: {arms}\nhypotheses:\n  - {{id: H1, contrast: {contrast}(gigpo)}}\n")
    assert f"switch on arms.{off}" in found["hypotheses[0].contrast"]


def test_checks_look_at_sound_sections_though_others_are_faulty() -> None:
    found = faults("arms: {matched: false}\nanalysis: {alpha: 7}\n")
    assert set(found) == {"arms.twins", "analysis.alpha"}


def test_a_suite_built_in_python_is_held_to_the_same() -> None:
    data = {
        "name": "tiny",
        "conditions": [{"id": "a", "rule": "grpo"}, {"id": "b", "rule": "gigpo"}],
        "budget": {"examples": 10, "optimizer_steps": 4},
    }
    with pytest.raises(ValidationError, match="multiple of optimizer_steps") as caught:
        Suite.model_validate(data)
    assert "exactly one condition" in str(caught.value)


def test_a_suite_cannot_be_changed() -> None:
    suite = parse_suite(BASE.encode(), "s.yaml", rules=RULES)
    with pytest.raises(ValidationError, match="frozen"):
        suite.blocks = 3
    with pytest.raises(TypeError):
        suite.conditions[0].parameters["gamma"] = 1  # type: ignore[index]


@pytest.mark.parametrize(
    ("analysis", "path", "words"),
    [
        ("looks: [3, 5]", "analysis.spending", "expected obf, pocock or e-process with 2 looks, got 'none'"),
        ("spending: obf", "analysis.looks", "expected at least one look with `spending: obf`, got none"),
        ("looks: [1, 5], spending: pocock", "analysis.looks[0]", "after 2 blocks or more, got 1"),
        (
            "looks: [2, 3, 4, 5], spending: e-process, engine: exact-stratum",
            "analysis.engine",
            "expected paired or auto",
        ),
        ("looks: [5], spending: bonferroni", "analysis.spending", "'bonferroni'"),
        ("gatekeeping: [volume, content]", "analysis.gatekeeping[0]", "the primary family (content) first"),
        ("gatekeeping: [content, shape, content]", "analysis.gatekeeping[2]", "each family once"),
    ],
)
def test_the_plan_of_the_inference_is_checked(analysis: str, path: str, words: str) -> None:
    assert words in faults(f"analysis: {{{analysis}}}\n")[path]


def test_a_gate_needs_the_arms_of_its_family() -> None:
    found = faults("analysis: {gatekeeping: [content, volume]}\narms: {native: false}\n")
    assert "that volume is made of (native, matched)" in found["analysis.gatekeeping[1]"]
