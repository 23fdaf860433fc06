"""What a run shows is a function of the record and the suite alone."""

import math
from typing import Any

import pytest

from equipoise.tracking.facts import EndedJob, SuiteFacts
from equipoise.tracking.model import is_complete, run_view
from equipoise.tracking.scalars import curve, flatten, metric_name, number, text

CELLS = frozenset({"b0/cell/a/native/0", "b0/cell/a/matched/0"})
FACTS = SuiteFacts("s", "eq1:" + "ab" * 32, rules={"a": ("gigpo", {"gamma": 0.9})}, blocks={0: CELLS})


def ended(key: str = "b0/cell/a/native/0", state: str = "done", **result: Any) -> EndedJob:
    cell = {"condition": "a", "rule": "gigpo", "arm": key.split("/")[3], "twin": 0, "block": 0}
    return EndedJob(key, "cell", state, {"cell": cell}, {"cell": cell, **result}, 1, 1000, 5000)


def test_a_block_is_complete_only_when_each_of_its_cells_is_done() -> None:
    records = {key: ended(key) for key in CELLS}
    assert is_complete(0, FACTS, records)
    assert not is_complete(0, FACTS, {"b0/cell/a/native/0": ended()})
    failed = {**records, "b0/cell/a/native/0": ended(state="failed")}
    assert not is_complete(0, FACTS, failed)
    assert not is_complete(1, FACTS, records)


def test_success_rates_are_sums_over_tasks_and_not_means_of_rates() -> None:
    outcomes = [
        {"split": "pool", "task": 0, "successes": 1, "episodes": 2},
        {"split": "pool", "task": 1, "successes": 0, "episodes": 6},
        {"split": "held_out", "task": 0, "successes": 3, "episodes": 4},
    ]
    evaluation = run_view(ended(outcomes=outcomes), FACTS, reveal=True).evaluation
    assert evaluation is not None
    assert evaluation.metrics["eval/pool"] == 1 / 8
    assert evaluation.metrics["eval/held_out"] == 3 / 4
    assert evaluation.tables["tables/outcomes.json"]["successes"] == [1, 0, 3]


def test_hidden_outcomes_leave_no_trace_in_the_view() -> None:
    outcomes = [{"split": "pool", "task": 0, "successes": 77_777, "episodes": 88_888}]
    view = run_view(ended(outcomes=outcomes), FACTS, reveal=False)
    assert "77777" not in str(view)
    assert "88888" not in str(view)
    assert view.digest == run_view(ended(outcomes=outcomes), FACTS, reveal=True).digest


def test_the_digest_tells_apart_runs_that_differ_in_one_number() -> None:
    one = run_view(ended(steps={"loss": [0.5, 0.25]}), FACTS, reveal=True)
    same = run_view(ended(steps={"loss": [0.5, 0.25]}), FACTS, reveal=True)
    other = run_view(ended(steps={"loss": [0.5, 0.250000001]}), FACTS, reveal=True)
    assert one.digest == same.digest != other.digest


def test_a_diverged_run_is_a_result_with_its_broken_curves_named() -> None:
    view = run_view(ended(end="diverged", steps={"loss": [1.0, math.inf, math.nan]}), FACTS, reveal=True)
    assert view.status == "FINISHED"
    assert view.tags["equipoise.end"] == "diverged"
    assert view.tags["equipoise.not_finite"] == "train/loss"
    assert "never repeated" in view.note


@pytest.mark.parametrize(
    ("state", "status"), [("failed", "FAILED"), ("exhausted", "FAILED"), ("cancelled", "KILLED")]
)
def test_ends_without_a_result_have_their_own_status(state: str, status: str) -> None:
    assert run_view(ended(state=state), FACTS, reveal=False).status == status


def test_a_base_policy_is_a_run_of_no_rule_in_the_arm_base() -> None:
    record = EndedJob("b3/base", "base", "done", {"block": 3}, {"block": 3, "outcomes": []}, 1, 0, 1)
    view = run_view(record, FACTS, reveal=False)
    assert view.name == "b3 base"
    assert view.params == {"condition": "base", "rule": "none", "arm": "base", "twin": "0", "block": "3"}


def test_infinite_values_become_nan_because_mlflow_would_draw_them() -> None:
    assert math.isnan(number(math.inf) or 0.0)
    assert number(None) is None
    assert number("text") is None
    assert number(value=True) == 1.0


def test_curves_count_steps_from_one_and_leave_out_what_was_not_measured() -> None:
    assert curve([0.5, None, 0.25]) == ((1, 0.5), (3, 0.25))


def test_nested_parameters_get_dotted_names() -> None:
    assert flatten({"a": {"b": 1, "c": {}}, "d": "x"}) == {"a.b": 1, "a.c": {}, "d": "x"}
    assert text({"b": 1}) == '{"b": 1}'
    assert text("plain") == "plain"


def test_signs_that_mlflow_refuses_in_names_are_replaced() -> None:
    assert metric_name("eval/acc@1{x}") == "eval/acc_1_x_"
