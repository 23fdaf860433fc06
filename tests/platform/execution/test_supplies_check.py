"""Needs that nothing supplies are refused when a suite is checked, not in the middle of its run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.platform.execution.supplied import Block, collected

from equipoise.cli.suite_file import open_suite
from equipoise.environments.registry import make_environment
from equipoise.errors import ExecutionError
from equipoise.execution.supplies.offered import SUPPLIED, lacking
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
