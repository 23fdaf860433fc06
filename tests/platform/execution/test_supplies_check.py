"""Needs that nothing supplies are refused when a suite is checked, not in the middle of its run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.platform.execution.supplied import Block, collected

from equipoise.cli.suite_file import open_suite
from equipoise.environments.registry import make_environment
from equipoise.errors import ExecutionError
from equipoise.execution.supplies.judging import JUDGES
from equipoise.execution.supplies.offered import SCALES, SUPPLIED, lacking
from equipoise.execution.supplies.table import measure
from equipoise_conditions import RULES, Need
from equipoise_preregistration import Suite, SuiteError

TASKS = {"pool": 2, "held_out": 1, "demonstrations": 4}


def _written(folder: Path, environment: str, rules: dict[str, str], pool: int = 2) -> Path:
    lines = "\n".join(
        f"  - {{id: {name}, rule: {rule}{', baseline: true' if place == 0 else ''}}}"
        for place, (name, rule) in enumerate(rules.items())
    )
    size = "{rooms: 4, doors: 2, pivotal: 1, signs: 2}"
    extra = f"  options: {size}\n" if environment == "bifurcation" else ""
    path = folder / "suite.yaml"
    path.write_text(
        "name: needs\n"
        f"environment:\n  name: {environment}\n  tasks: {{pool: {pool}, held_out: 1}}\n  horizon: 4\n{extra}"
        "collection: {rollouts_per_task: 4}\n"
        f"conditions:\n{lines}\n"
        "budget: {examples: 16, optimizer_steps: 4}\n"
        "blocks: 2\n"
        "analysis: {looks: [2]}\n",
        encoding="utf-8",
    )
    return path


def _faults(path: Path) -> list[tuple[int, str, str]]:
    with pytest.raises(SuiteError) as caught:
        open_suite(str(path))
    return [(fault.line, fault.path, fault.message) for fault in caught.value.faults]


def test_the_check_says_which_condition_needs_what_and_what_could_supply_it(tmp_path: Path) -> None:
    rules = {"outcome": "grpo", "gain": "igpo", "vine": "vineppo", "players": "shapley"}
    faults = _faults(_written(tmp_path, "bifurcation", rules))
    assert faults == [
        (
            10,
            "conditions[1].rule",
            (
                "the rule 'igpo' of condition 'gain' needs 'gold', which nothing supplies in the environment "
                "Corridor; what could: an environment whose tasks have a known answer in words"
            ),
        ),
        (
            12,
            "conditions[3].rule",
            (
                "the rule 'shapley' of condition 'players' needs 'coalitions', which nothing supplies in the "
                "environment Corridor; what could: an environment that plays a trajectory again with some of its "
                "players taken out"
            ),
        ),
    ]


def test_truth_is_refused_where_the_environment_does_not_know_it(tmp_path: Path) -> None:
    faults = _faults(
        _written(tmp_path, "household", {"outcome": "grpo", "oracle": "exact", "j": "turn_judge"})
    )
    assert [(line, path) for line, path, _ in faults] == [(10 - 1, "conditions[1].rule")]
    assert faults[0][2].endswith("such as bifurcation; the rule 'replay' measures them instead")


def test_a_critic_needs_a_second_task(tmp_path: Path) -> None:
    ((_, _, message),) = _faults(_written(tmp_path, "bifurcation", {"a": "grpo", "b": "gae"}, pool=1))
    assert message.endswith("supplies, and there is one task; raise environment.tasks.pool")


def test_a_judge_that_nobody_is_and_a_scale_that_it_does_not_answer_on_are_told_with_their_lines(
    tmp_path: Path,
) -> None:
    assert SCALES.keys() == JUDGES.keys()
    rules = {
        "a": "grpo",
        "b": "turn_judge, judge: gpt4",
        "c": "turn_judge, scale: five-point",
        "d": "router, over_parameters: {judge: scriptd}",
        "e": "router, over: router, over_parameters: {over_parameters: {scale: five-point}}",
        "f": "turn_judge, judge: scripted, scale: ternary",
    }
    assert _faults(_written(tmp_path, "household", rules)) == [
        (9, "conditions[1].judge", "expected one of scripted, got 'gpt4'"),
        (
            10,
            "conditions[2].scale",
            "expected ternary, the scale on which the judge 'scripted' answers, got 'five-point'",
        ),
        (
            11,
            "conditions[3].over_parameters.judge",
            "expected one of scripted, got 'scriptd'; did you mean 'scripted'?",
        ),
        (
            12,
            "conditions[4].over_parameters.over_parameters.scale",
            "expected ternary, the scale on which the judge 'scripted' answers, got 'five-point'",
        ),
    ]


def test_what_is_lacking_is_told_beside_faulty_parameters(tmp_path: Path) -> None:
    rules = {
        "a": "grpo",
        "b": "router, over: turn_jugde",
        "c": "igpo",
        "d": "hcapo, clip_low: 2",
        "e": "turn_judge, judge: gpt4",
        "f": "shapley, permutations: -1",
    }
    faults = _faults(_written(tmp_path, "household", rules))
    assert [(line, path) for line, path, _ in faults] == [
        (9, "conditions[1].over"),
        (10, "conditions[2].rule"),
        (11, "conditions[3].clip_low"),
        (12, "conditions[4].judge"),
        (13, "conditions[5].permutations"),
    ]
    assert "did you mean 'turn_judge'?" in faults[0][2]
    assert "needs 'gold'" in faults[1][2]


def test_a_suite_whose_needs_are_all_supplied_passes(tmp_path: Path) -> None:
    rules = {"a": "grpo", "b": "gae", "c": "vineppo", "d": "turn_judge", "e": "remax", "f": "spo_tree"}
    loaded = open_suite(str(_written(tmp_path, "bifurcation", rules)))
    assert [condition.rule for condition in loaded.suite.conditions] == list(rules.values())


@pytest.mark.parametrize("name", sorted(RULES))
def test_every_rule_is_either_supplied_or_told_what_could(name: str) -> None:
    environment = make_environment("bifurcation", {"tasks": TASKS})
    for need in RULES[name].needed():
        why = lacking(need, environment)
        assert (why is None) == (need in SUPPLIED)
        assert why is None or "a supplier of its own" not in why


def test_every_need_is_supplied_or_named() -> None:
    environment = make_environment("household", {"tasks": TASKS})
    told = {need: lacking(need, environment) for need in Need}
    assert {need for need, why in told.items() if why is not None} == {*Need} - SUPPLIED | {Need.TRUTH}
    assert json.dumps(sorted(SUPPLIED))


def test_a_worker_refuses_it_too(
    make_suite: Callable[..., Suite], tmp_path_factory: pytest.TempPathFactory
) -> None:
    block: Block = collected(make_suite(), tmp_path_factory.mktemp("block"))
    with pytest.raises(ExecutionError, match=r"the rule 'igpo' needs 'gold', which nothing supplies in the"):
        measure(block.case("igpo"))
