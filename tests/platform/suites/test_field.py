"""The field's rules side by side: one suite, one collection, and each rule's own price in the ledger."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from equipoise.store import open_store
from equipoise_preregistration.shipped import find_suite

if TYPE_CHECKING:
    import subprocess

Equipoise = Callable[..., "subprocess.CompletedProcess[str]"]


def smaller(path: Path) -> None:
    """The shipped suite with all of its conditions, and numbers that take seconds."""
    yaml = YAML(typ="safe")
    suite = yaml.load(find_suite("field"))
    suite["environment"] |= {"tasks": {"pool": 4, "held_out": 2}, "horizon": 8}
    suite["policy"] |= {"hidden": 32, "layers": 1}
    suite["policy"]["warm_start"] = {"demonstrations": 160, "success": [0.05, 0.95], "probe_every": 10}
    suite |= {"collection": {"rollouts_per_task": 4}, "arms": {"native": False, "twins": 0}, "blocks": 1}
    suite |= {"budget": {"examples": 32, "optimizer_steps": 4, "max_repetition": 64}}
    suite |= {"evaluation": {"episodes_per_task": 2, "held_out_episodes": 0}}
    with path.open("w", encoding="utf-8") as file:
        yaml.dump(suite, file)


@pytest.fixture(scope="module")
def results(equipoise: Equipoise, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("field")
    smaller(folder / "field.yaml")
    done = equipoise("run", folder / "field.yaml", "--exploratory", "--home", folder / "home")
    assert done.returncode == 0, done.stderr
    store = open_store(folder / "home", create=False)
    (suite,) = store.suites()
    return dict(store.results_by_key(suite.hash))


def signals(results: dict[str, Any]) -> dict[str, Any]:
    return {value["condition"]: value for value in results.values() if value["kind"] == "signals"}


@pytest.mark.slow
def test_more_than_twelve_rules_run_in_the_household_on_one_collection(results: dict[str, Any]) -> None:
    rules = {value["rule"] for value in signals(results).values()}
    assert len(rules) >= 20
    cells = [value for value in results.values() if value["kind"] == "cell"]
    assert len(cells) == len(signals(results))
    received = {
        (cell["dose"]["slots"], cell["dose"]["optimizer_steps"]) for cell in cells if cell["end"] == "ok"
    }
    assert received <= {(32, 4), (0, 0)}, "exactly the budget, or nothing where a rule left nothing"
    assert sum(cell["dose"]["slots"] == 32 for cell in cells) >= 12


@pytest.mark.slow
def test_the_ledger_has_each_rules_own_cost(results: dict[str, Any]) -> None:
    cost = {name: value["cost"] for name, value in signals(results).items()}
    free = (
        "grpo",
        "rloo",
        "reinforce_pp",
        "otb",
        "gtpo",
        "entropy",
        "tempo",
        "gigpo",
        "confidence",
        "random",
    )
    for name in free:
        assert not any(value for key, value in cost[name].items() if key != "seconds"), name
    for name in ("remax", "vineppo", "c3", "oracle"):
        assert cost[name]["rollout_tokens"] > 0, name
        assert cost[name]["environment_resets"] > 0, name
    for name in ("hcapo", "hca", "outcome_ratio", "gae", "agent_prm", "process"):
        assert cost[name]["scoring_tokens"] > 0, name
        assert cost[name]["flops"] > 0, name
    turns = results["b0/collect"]["turns"]
    assert cost["judge"]["judge_calls"] == turns, "one call a turn"
    assert 0 < cost["routed"]["judge_calls"] < turns, "only the turns that the policy was unsure of"
    assert cost["oracle"]["rollout_tokens"] > cost["vineppo"]["rollout_tokens"]
    json.dumps(cost)  # as it stands in the store


@pytest.mark.slow
def test_no_rule_blurs_undefined_and_zero(results: dict[str, Any]) -> None:
    for name, value in signals(results).items():
        credit = value["credit"]
        assert sum(credit["reasons"].values()) == credit["units"], name
    assert "NOT_SELECTED" in signals(results)["oracle"]["credit"]["reasons"]
    assert "NOT_SELECTED" in signals(results)["routed"]["credit"]["reasons"]
