"""What is told of a file beside its wrong values: everything that does not depend on them, in the same pass."""

import pytest
from tests.preregistration.test_budget_checks import RULES

from equipoise_preregistration import SuiteError, parse_suite
from equipoise_preregistration.experiment import Budget
from equipoise_preregistration.salvage import salvage
from equipoise_preregistration.sections import UnknownValue

HEAD = (
    "name: tiny\nconditions:\n  - {id: outcome, rule: grpo, baseline: true}\n  - {id: gigpo, rule: gigpo}\n"
)


def faults(more: str, head: str = HEAD) -> dict[str, str]:
    with pytest.raises(SuiteError) as caught:
        parse_suite((head + more).encode(), "s.yaml", rules=RULES)
    return {fault.path: fault.message for fault in caught.value.faults}


def test_a_sound_section_comes_back_whole() -> None:
    data = {"examples": 8, "optimizer_steps": 2, "refill": {"cap": 3}}
    assert salvage(Budget, data) == Budget.model_validate(data)


def test_what_is_not_known_can_be_asked_of_the_rest() -> None:
    data = {
        "examples": 8,
        "optimizer_steps": "2",
        "match": ["examples"],
        "generation": {"flops": "x", "judge_calls": 3},
    }
    budget = salvage(Budget, data)
    assert budget is not None
    assert (budget.examples, budget.under, budget.match) == (8, "resample", ("examples",))
    assert budget.generation.judge_calls == 3
    for name in ("optimizer_steps", "batch"):
        with pytest.raises(UnknownValue):
            getattr(budget, name)
    with pytest.raises(UnknownValue):
        _ = budget.generation.limits


@pytest.mark.parametrize("data", [None, 3, "text", [1]])
def test_of_what_is_no_mapping_nothing_is_known(data: object) -> None:
    assert salvage(Budget, data) is None


def test_a_misspelt_fill_does_not_hide_that_batches_are_ragged() -> None:
    found = faults("budget: {examples: 100, optimizer_steps: 64, over: keep_lagest}\n")
    assert set(found) == {"budget.over", "budget.examples"}
    assert found["budget.examples"].endswith("the nearest are 64 (batch 1) and 128 (batch 2)")


def test_what_depends_on_a_wrong_value_is_not_guessed() -> None:
    # Whether 10^6 slots can be filled depends on the fill: pad can, resample cannot.
    found = faults("budget: {examples: 1000000, optimizer_steps: 4, under: padd}\n")
    assert set(found) == {"budget.under"}


def test_type_faults_and_faults_between_sections_are_told_together() -> None:
    found = faults(
        "training: {clip: [0.2], path: grpo}\n"
        "budget: {examples: 8, optimizer_steps: 4, doubly: true, tolerance: x}\n"
        "analysis: {alpha: high, looks: [1]}\nblocks: 3\n"
        "hypotheses:\n  - {id: H1, says: 3, contrast: content(gigp)}\n"
    )
    assert set(found) == {
        "training.clip",
        "training",
        "budget.doubly",
        "budget.tolerance",
        "analysis.alpha",
        "analysis.looks",
        "hypotheses[0].says",
        "hypotheses[0].contrast",
    }


def test_limits_of_which_one_is_wrong_are_not_called_none() -> None:
    found = faults("budget: {examples: 8, optimizer_steps: 4, doubly: true, generation: {flops: x}}\n")
    assert set(found) == {"budget.generation.flops"}


def test_a_condition_with_a_wrong_key_still_is_the_baseline() -> None:
    head = HEAD.replace("baseline: true", "baseline: true, twin: inside")
    found = faults("budget: {examples: 8, optimizer_steps: 4}\n", head)
    assert set(found) == {"conditions[0].twin"}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("[0.2]", "expected 2 entries, got [0.2]; write `clip: [0.2, ...]`"),
        ("[]", "expected 2 entries, got []; write `clip: [..., ...]`"),
    ],
)
def test_a_list_that_ends_too_early_is_shown_whole(written: str, said: str) -> None:
    found = faults(f"budget: {{examples: 8, optimizer_steps: 4}}\ntraining: {{clip: {written}}}\n")
    assert found == {"training.clip": said}
