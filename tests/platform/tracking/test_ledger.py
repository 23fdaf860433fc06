import csv
import io
from pathlib import Path
from typing import Any

from equipoise.store import JobSpec, open_store, this_worker
from equipoise.tracking.ledger import ledger_csv, ledger_table
from equipoise.tracking.model import run_view
from equipoise.tracking.source import StoreSource

SUITE = "eq1:" + "ab" * 32
CELL = {"condition": "a", "rule": "grpo", "arm": "matched", "twin": 0, "block": 0}
RESULTS: dict[str, dict[str, Any]] = {
    "b0/base": {"kind": "base", "outcomes": []},
    "b0/collect": {"kind": "collect", "cost": {"rollout_tokens": 100, "flops": 1.0}},
    "b0/signals/a": {"kind": "signals", "cost": {"scoring_tokens": 7, "flops": 0.5}},
    "b0/cell/a/matched/0": {
        "kind": "cell",
        "cell": CELL,
        "planned": {"slots": 4, "optimizer_steps": 2},
        "dose": {"slots": 2, "optimizer_steps": 1},
        "cost": {"forward_tokens_train": 40, "flops": 2.0},
        "allocated": {"slots": [2, 2]},
        "steps": {"slots": [2], "loss": [0.5]},
    },
}
NEEDS = {
    "b0/collect": ("b0/base",),
    "b0/signals/a": ("b0/base", "b0/collect"),
    "b0/cell/a/matched/0": ("b0/base", "b0/signals/a"),
}


def finished(home: Path) -> StoreSource:
    store = open_store(home)
    store.add_suite(SUITE, "small", {"name": "small"}, "2026-09-21T14:00:00+00:00")
    jobs = [
        JobSpec(key, result["kind"], {"block": 0, "cell": CELL} if "cell" in key else {}, NEEDS.get(key, ()))
        for key, result in RESULTS.items()
    ]
    store.add_jobs(SUITE, jobs)
    while lease := store.claim(this_worker()):
        store.finish(lease, RESULTS[lease.key])
    return StoreSource(store, home)


def test_a_run_is_a_line_with_its_own_cost_and_that_of_all_it_trained_on(tmp_path: Path) -> None:
    source = finished(tmp_path)
    content = source.facts(SUITE).files["ledger.csv"]
    assert isinstance(content, bytes)
    (line,) = csv.DictReader(io.StringIO(content.decode()))
    assert (line["run"], line["arm"], line["block"]) == ("b0/cell/a/matched/0", "matched", "0")
    assert (line["allocated_slots"], line["slots"], line["allocated_weight_abs"]) == ("4", "2", "")
    assert (line["rollout_tokens"], line["whole_rollout_tokens"]) == ("", "100")
    assert (line["flops"], line["whole_flops"]) == ("2.0", "3.5")
    assert (line["whole_scoring_tokens"], line["whole_judge_calls"]) == ("7", "")
    assert not any("success" in name or "outcome" in name for name in line)


def test_a_suite_without_runs_has_no_line() -> None:
    assert ledger_table([], [])["run"] == []
    assert ledger_csv([], []).decode().startswith("run,condition,arm,twin,block,")


def test_the_table_of_a_run_shows_allocated_beside_counted(tmp_path: Path) -> None:
    source = finished(tmp_path)
    record = source.records(SUITE)["b0/cell/a/matched/0"]
    table = run_view(record, source.facts(SUITE), reveal=False).tables["tables/steps.json"]
    assert list(table) == ["step", "allocated_slots", "slots", "loss"]
    assert (table["step"], table["allocated_slots"], table["slots"]) == ([1, 2], [2, 2], [2])
