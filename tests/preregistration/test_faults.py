"""Every fault of a file is reported, with its place, what was expected, what came and the nearest name."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise_conditions.errors import RuleError
from equipoise_preregistration import SuiteError, parse_suite, shipped_suites
from equipoise_preregistration.faults import Fault

GOOD = """\
name: tiny
conditions:
  - {id: outcome, rule: grpo, baseline: true}
  - {id: gigpo, rule: gigpo, gamma: 0.9}
budget: {examples: 64, optimizer_steps: 4}
"""


def gigpo(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    unknown = sorted(set(parameters) - {"gamma"})
    if unknown:
        message = f"unknown parameter {unknown[0]!r}"
        raise RuleError(message)
    gamma = parameters.get("gamma", 0.95)
    if not isinstance(gamma, float):
        message = f"gamma: expected a number, got {gamma!r}"
        raise RuleError(message)
    return {"gamma": gamma}


def grpo(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    if parameters:
        message = f"unknown parameter {next(iter(parameters))!r}"
        raise RuleError(message)
    return {}


RULES = {"grpo": grpo, "gigpo": gigpo}


def faults_of(text: str | bytes, environments: Collection[str] | None = None) -> tuple[Fault, ...]:
    raw = text.encode() if isinstance(text, str) else text
    with pytest.raises(SuiteError) as caught:
        parse_suite(raw, "s.yaml", rules=RULES, environments=environments)
    return caught.value.faults


def only_fault(text: str | bytes, environments: Collection[str] | None = None) -> Fault:
    (fault,) = faults_of(text, environments=environments)
    return fault


def test_a_minimal_suite_has_every_default_written_out() -> None:
    suite = parse_suite(GOOD.encode(), "s.yaml", rules=RULES)
    assert suite.blocks == 10
    assert suite.analysis.looks == (10,)
    assert suite.conditions[1].parameters == {"gamma": 0.9}
    assert suite.baseline.id == "outcome"
    assert suite.budget.batch == 16


def test_the_defaults_of_a_rule_are_written_out() -> None:
    suite = parse_suite(GOOD.replace(", gamma: 0.9", "").encode(), "s.yaml", rules=RULES)
    assert suite.conditions[1].parameters == {"gamma": 0.95}


def test_a_fault_is_shown_with_its_source_line_and_a_caret() -> None:
    fault = only_fault(GOOD + "blocks: ten\n")
    assert fault.render("s.yaml") == (
        "s.yaml:6:9: blocks: expected an integer, got the text 'ten'\n    6 | blocks: ten\n      |         ^"
    )


def test_all_faults_are_reported_at_once_in_the_order_of_the_file() -> None:
    text = """\
name: my suite
qestion: hm
environment: {name: huosehold, horizon: 1.5}
conditions:
  - {id: outcome, rule: grpo, baseline: true}
  - {id: gigpo, rule: gigpoo}
  - {id: gigpo, rule: gigpo, gama: 0.9}
budget: {examples: 2050, optimizer_steps: 64}
"""
    found = faults_of(text, environments=["household", "bifurcation"])
    assert [(fault.line, fault.column, fault.path) for fault in found] == [
        (1, 7, "name"),
        (2, 1, "qestion"),
        (3, 21, "environment.name"),
        (3, 41, "environment.horizon"),
        (6, 23, "conditions[1].rule"),
        (7, 10, "conditions[2].id"),
        (7, 30, "conditions[2].gama"),
        (8, 20, "budget.examples"),
    ]


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("qestion: hm", "qestion", "did you mean 'question'?"),
        ("arms: {twinns: 1}", "arms.twinns", "did you mean 'twins'?"),
        ("analysis: {multiplicity: holn}", "analysis.multiplicity", "did you mean 'holm'?"),
        ("environment: {name: houshold}", "environment.name", "did you mean 'household'?"),
        ("policy: {name: tiny-qwen}", "policy.name", "did you mean 'tiny-qwen3'?"),
    ],
)
def test_the_nearest_known_name_is_offered(text: str, path: str, message: str) -> None:
    fault = only_fault(f"{GOOD}{text}\n", environments=["household"])
    assert fault.path == path
    assert message in fault.message


def test_an_unknown_rule_is_told_the_nearest_one() -> None:
    fault = only_fault(GOOD.replace("rule: gigpo", "rule: gipgo"))
    assert fault.message == "expected one of the rules gigpo, grpo, got 'gipgo'; did you mean 'gigpo'?"
    assert (fault.line, fault.column) == (4, 23)


def test_a_wrong_parameter_of_a_rule_is_pointed_at() -> None:
    fault = only_fault(GOOD.replace("0.9", "high"))
    assert (fault.path, fault.line, fault.column) == ("conditions[1].gamma", 4, 37)
    assert "expected a number, got 'high'" in fault.message


def test_a_misspelt_key_of_a_condition_is_not_taken_for_a_parameter() -> None:
    fault = only_fault(GOOD.replace("gamma: 0.9", "contrl: positive"))
    assert "did you mean 'control'?" in fault.message


@pytest.mark.parametrize(
    "line",
    [
        "blocks: 0",
        "blocks: -1",
        "blocks: true",
        "blocks: 1.5",
        'blocks: "5"',
        "seed: -1",
        "seed: 9007199254740992",
        "training: {learning_rate: 0}",
        "training: {learning_rate: .nan}",
        "training: {learning_rate: .inf}",
        "training: {learning_rate: 1e-3x}",
        "collection: {temperature: -1.0}",
        "collection: {rollouts_per_task: 0}",
        "environment: {tasks: {pool: 0}}",
        "environment: {size: {objects: .nan}}",
        "environment: {size: {1: 2}}",
        "environment: [household]",
        "environment:",
        "analysis: {alpha: 1}",
        "analysis: {smallest_effect: 0}",
        "analysis: {primary: total}",
        "policy: {warm_start: {success: [0.2]}}",
        "policy: {warm_start: {success: [0.2, 1.5]}}",
        "policy: {warm_start: {success: 0.5}}",
        "arms: {twins: -1}",
        "hypotheses: {id: H1}",
        "question: 5",
        "1: x",
        "2026-01-01: x",
    ],
)
def test_a_value_out_of_place_is_one_fault_on_its_line(line: str) -> None:
    fault = only_fault(f"{GOOD}{line}\n")
    assert fault.line == 6
    assert fault.message.startswith("expected ")
    assert ", got " in fault.message


@pytest.mark.parametrize("key", ["name", "conditions", "budget"])
def test_the_three_keys_without_a_default_are_asked_for(key: str) -> None:
    text = {"name": "name: tiny\n", "budget": GOOD[GOOD.index("budget") :]}.get(key)
    text = text or GOOD[GOOD.index("conditions") : GOOD.index("budget")]
    fault = only_fault(GOOD.replace(text, ""))
    assert fault.path == key
    assert fault.message == f"expected this key, got none; write `{key}: ...` at the top"


def test_a_missing_key_of_a_section_is_asked_for_at_the_section() -> None:
    fault = only_fault(GOOD.replace("examples: 64, ", ""))
    assert (fault.path, fault.line, fault.column) == ("budget.examples", 5, 9)


def test_the_first_line_of_an_empty_list_of_conditions_is_pointed_at() -> None:
    text = "name: tiny\nconditions: []\nbudget: {examples: 64, optimizer_steps: 4}\n"
    fault = only_fault(text)
    assert (fault.path, fault.line) == ("conditions", 2)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "got an empty file"),
        ("# only a comment\n", 1, "got an empty file"),
        ("- a\n- b\n", 1, "got a list"),
        ("suite\n", 1, "got a single value"),
        ("name: [a\nblocks: 3\n", 2, "expected YAML 1.2"),
        ("name: a: b\n", 1, "mapping values are not allowed"),
        ("name: a\n\tblocks: 1\n", 2, "expected YAML 1.2"),
        ("name: a\nname: b\n", 2, 'duplicate key "name"'),
        ("arms: {twins: 1, twins: 2}\n", 1, 'duplicate key "twins"'),
        ("--- {}\n--- {}\n", 2, "another document"),
        ("name: \x01\n", 1, "control character"),
        ("&x\na: *x\n", 1, "contains itself"),
        ("name: *nobody\n", 1, "undefined alias"),
        ("name: 2026-13-45\n", 1, "expected YAML 1.2"),
    ],
)
def test_what_is_no_mapping_in_yaml_is_one_fault_with_its_line(text: str, line: int, words: str) -> None:
    fault = only_fault(text)
    assert fault.line == line
    assert words in fault.message


def test_bytes_that_are_not_utf8_are_pointed_at() -> None:
    fault = only_fault(b"name: a\nquestion: caf\xe9?\n")
    assert (fault.line, fault.column) == (2, 14)
    assert "0xe9" in fault.message


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm() -> None:
    raw = b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()
    assert parse_suite(raw, "s.yaml", rules=RULES).name == "tiny"


def test_aliases_that_multiply_are_stopped() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    assert "values, got more" in only_fault("\n".join(lines)).message


def test_nesting_without_end_is_a_fault_and_not_a_crash() -> None:
    assert only_fault("a: " + "[" * 1200).message.startswith("expected YAML 1.2")


def test_yaml_1_2_keeps_no_and_reads_exponents() -> None:
    text = GOOD.replace("name: tiny", "name: no") + "training: {learning_rate: 1e-3}\n"
    suite = parse_suite(text.encode(), "s.yaml", rules=RULES)
    assert suite.name == "no"
    assert suite.training.learning_rate == 0.001


def test_a_value_that_came_in_by_a_merge_is_pointed_at_where_it_came_in() -> None:
    text = GOOD.replace("- {id: gigpo, rule: gigpo, gamma: 0.9}", "- {<<: *base, id: gigpo}")
    first, second = faults_of("x: &base {rule: gigpo, gamma: bad}\n" + text)
    assert (first.path, first.line) == ("x", 1)
    assert (second.path, second.line, second.column) == ("conditions[1].gamma", 5, 5)


def test_the_caret_stands_under_its_character_behind_a_wide_line() -> None:
    fault = only_fault(GOOD + "question: 'über'\nblocks:   zehn\n")
    assert fault.render("s.yaml").splitlines()[-1].index("^") == len("    7 | blocks:   ")


DEMO = shipped_suites()["demo"].read_text(encoding="utf-8").splitlines()


JUNK = ["", "x", ": ", "{", "]", "- ", "&a ", "*a", "\t", "~", "1e999", "0x", '"', "|"]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_damage_to_a_file_escapes_as_anything_but_a_suite_error(data: st.DataObject) -> None:
    lines = list(DEMO)
    for _ in range(data.draw(st.integers(1, 3))):
        index = data.draw(st.integers(0, len(lines) - 1))
        cut = data.draw(st.integers(0, len(lines[index])))
        junk = data.draw(
            st.sampled_from(["", "x", ": ", "{", "]", "- ", "&a ", "*a", "\t", "~", "1e999", "0x", '"', "|"])
        )
        lines[index] = lines[index][:cut] + junk + lines[index][cut + data.draw(st.integers(0, 4)) :]
    with suppress(SuiteError):
        parse_suite("\n".join(lines).encode(), "s.yaml")


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60))
def test_no_bytes_escape_as_anything_but_a_suite_error(raw: bytes) -> None:
    with pytest.raises(SuiteError):
        parse_suite(raw, "s.yaml", rules=RULES)


REAL = """\
name: tiny
conditions:
  - {id: outcome, rule: grpo, baseline: true, preset: [verl]}
  - {id: a, rule: hcapo, clip_low: 2, clip_high: 1.5, omega: x}
  - {id: b, rule: shapley, index: banzhaf, permutations: 8}
  - {id: c, rule: router, over: turn_jugde}
  - {id: d, rule: router, over_parameters: {balot: mean}}
  - {id: e, rule: hcapo, clip_low: 2, clip_high: 3}
  - {id: f, rule: hcapo, clip_low: 2, clip_high: x}
  - {id: g, rule: GIGPO}
  - {id: h, rule: hcapo, clip_high: 0.5}
budget: {examples: 64, optimizer_steps: 4}
blocks: ten
"""


def test_parameters_that_do_not_go_together_have_their_places_beside_all_other_faults() -> None:
    with pytest.raises(SuiteError) as caught:
        parse_suite(REAL.encode(), "s.yaml")
    found = [(fault.line, fault.column, fault.path, fault.message) for fault in caught.value.faults]
    said = (
        (3, 55, "[0].preset", "got ['verl']; did you mean 'verl'?"),
        (4, 36, "[1].clip_low", "clip_low: expected clip_low <= clip_high, got 2 > 1.5"),
        (4, 62, "[1].omega", "got 'x'"),
        (5, 58, "[2].permutations", "expected 0 for the index 'banzhaf', got 8"),
        (6, 33, "[3].over", "unknown rule 'turn_jugde'; did you mean 'turn_judge'?"),
        (7, 44, "[4].over_parameters", "unknown parameter 'balot'; did you mean 'ballot'?"),
        (9, 50, "[6].clip_high", "got 'x'"),
        (10, 19, "[7].rule", "did you mean 'gigpo'?"),
        (11, 37, "[8].clip_high", "clip_low: expected clip_low <= clip_high, got 0.8 > 0.5"),
    )
    assert len(found) == len(said) + 1, "and the blocks"
    for (line, column, path, message), (at, from_, below, part) in zip(found, said, strict=False):
        assert (line, column, path) == (at, from_, f"conditions{below}")
        assert part in message
    assert found[-1][2] == "blocks"
