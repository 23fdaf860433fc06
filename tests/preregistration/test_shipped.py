"""The suites, the defaults and the schema that come with the package."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from equipoise_conditions.registry import rules
from equipoise_preregistration import SuiteError, load_suite, schema, shipped_suites
from equipoise_preregistration.experiment import Condition
from equipoise_preregistration.suite import Suite

REQUIRED = {
    ("name",),
    ("conditions",),
    ("budget",),
    ("budget", "examples"),
    ("budget", "optimizer_steps"),
    ("conditions", "id"),
    ("conditions", "rule"),
    ("hypotheses", "id"),
    ("hypotheses", "contrast"),
}


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Paths of all values that are not mappings."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    else:
        yield path, value


def defaults() -> dict[tuple[str, ...], Any]:
    """Every default in code."""
    suite = Suite.model_validate(
        {
            "name": "x",
            "conditions": [{"id": "a", "rule": "r", "baseline": True}, {"id": "b", "rule": "r"}],
            "budget": {"examples": 1, "optimizer_steps": 1},
            "hypotheses": [{"id": "H", "contrast": "content(b)"}],
        }
    ).model_dump(mode="json")
    suite["conditions"] = suite["conditions"][1]
    suite["hypotheses"] = suite["hypotheses"][0]
    return {path: value for path, value in leaves(suite) if path not in REQUIRED}


def test_the_file_of_defaults_states_every_default_of_the_code() -> None:
    text = files("equipoise_preregistration").joinpath("defaults.yaml").read_text(encoding="utf-8")
    assert dict(leaves(YAML(typ="safe").load(text))) == defaults()


@pytest.mark.parametrize("name", sorted(shipped_suites()))
def test_every_shipped_suite_is_valid_and_bears_its_own_name(name: str) -> None:
    suite = load_suite(name).suite
    assert suite.name == name
    assert {condition.control for condition in suite.conditions} >= {"positive", "negative"}


def test_the_demo_states_only_what_it_says() -> None:
    suite = load_suite("demo").suite
    assert [condition.id for condition in suite.conditions] == [
        "outcome",
        "rloo",
        "gigpo",
        "hindsight",
        "carl",
        "oracle",
        "random",
    ]
    assert (suite.blocks, suite.budget.examples, suite.budget.optimizer_steps) == (5, 1024, 64)
    assert suite.baseline.rule == "grpo"


def test_the_parameters_of_every_rule_are_written_out_in_a_shipped_suite() -> None:
    for condition in load_suite("demo").suite.conditions:
        names = {parameter.name for parameter in rules()[condition.rule].parameters}
        assert set(condition.parameters) == names - set(Condition.model_fields)


def test_a_name_that_is_no_suite_is_told_the_nearest_one() -> None:
    with pytest.raises(SuiteError, match="did you mean 'demo'"):
        load_suite("dmeo")


def test_a_folder_is_no_suite(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="got a folder"):
        load_suite(tmp_path)


def test_the_schema_knows_every_key_and_refuses_others() -> None:
    written = schema()
    assert set(written["properties"]) == set(Suite.model_fields)
    assert written["additionalProperties"] is False
    assert set(written["required"]) == {"name", "conditions", "budget"}
    assert written["$defs"]["Condition"]["additionalProperties"] is not False
