"""The outbox is drained once, whole, and blind until a block is complete."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.tracking.writer import Writer

if TYPE_CHECKING:
    from tests.platform.tracking.conftest import Project, Served


def test_every_cell_and_base_becomes_one_ended_run_beside_the_suites_own(project: "Project") -> None:
    project.finish(20)
    summary = project.writer().sync()
    runs = project.runs()
    assert sorted(runs) == sorted([*project.cells(0), *project.cells(1), "b0/base", "b1/base", "suite"])
    assert {run.info.status for run in runs.values()} == {"FINISHED"}
    assert (summary.written, summary.acknowledged, summary.pending) == (20, 20, False)


def test_a_run_shows_rule_budget_training_and_outcomes_of_its_cell(project: "Project") -> None:
    project.finish(20)
    project.writer().sync()
    run = project.runs()["b1/cell/gigpo/matched/0"]
    stored = project.store.results_by_key(project.suite)["b1/cell/gigpo/matched/0"]
    pool = [row["successes"] for row in stored["outcomes"] if row["split"] == "pool"]
    assert run.info.run_name == "b1 gigpo matched"
    assert run.data.params == {
        "condition": "gigpo",
        "rule": "gigpo",
        "arm": "matched",
        "twin": "0",
        "block": "1",
        "rule.gamma": "0.95",
    }
    assert run.data.metrics["eval/pool"] == sum(pool) / 32
    assert run.data.metrics["budget/slots"] == 192
    assert run.data.metrics["sys/seconds_train"] == 1.5
    assert run.data.tags["equipoise.breach"] == "expected 192 slots, counted 191"
    assert [use.dataset.name for use in run.inputs.dataset_inputs] == ["trajectories of block 1"]


def test_curves_keep_every_step_in_order(project: "Project") -> None:
    project.finish(2)
    project.writer().sync()
    key = project.cells(0)[0]
    history = project.client().get_metric_history(project.runs()[key].info.run_id, "train/loss")
    stored = project.store.results_by_key(project.suite)[key]["steps"]["loss"]
    assert [(point.step, point.value) for point in history] == list(enumerate(stored, start=1))
    assert [point.timestamp for point in history] == sorted(point.timestamp for point in history)


def test_outcomes_stay_hidden_until_the_last_cell_of_the_block(project: "Project") -> None:
    project.finish(9)
    project.writer().sync()
    before = project.runs()
    assert len(before) == 10
    assert not any(name.startswith("eval/") for run in before.values() for name in run.data.metrics)
    client = project.client()
    shown = [a.path for a in client.list_artifacts(before["b0/cell/outcome/native/0"].info.run_id, "tables")]
    assert "tables/outcomes.json" not in shown

    project.finish(1)
    project.writer().sync()
    after = project.runs()
    assert {run.info.run_id for run in before.values()} < {run.info.run_id for run in after.values()}
    assert all("eval/pool" in after[key].data.metrics for key in [*project.cells(0), "b0/base"])
    shown = [a.path for a in client.list_artifacts(after["b0/cell/outcome/native/0"].info.run_id, "tables")]
    assert "tables/outcomes.json" in shown


def test_a_second_block_does_not_reveal_itself_with_the_first(project: "Project") -> None:
    project.finish(12)
    project.writer().sync()
    runs = project.runs()
    assert "eval/pool" in runs["b0/base"].data.metrics
    assert "eval/pool" not in runs["b1/base"].data.metrics


def test_syncing_again_changes_nothing(project: "Project") -> None:
    project.finish(10)
    project.writer().sync()
    before = {key: (run.info.run_id, run.data.metrics) for key, run in project.runs().items()}
    project.store.outbox_rewind(project.suite)
    summary = project.writer().sync()
    assert (summary.written, summary.unchanged, summary.pending) == (0, 10, False)
    assert {key: (run.info.run_id, run.data.metrics) for key, run in project.runs().items()} == before


def test_a_failed_job_is_shown_as_failed_with_its_message(project: "Project") -> None:
    project.finish(1)
    lease = project.claim()
    project.store.fail(lease, "code_error", "ZeroDivisionError: division by zero", now=project.clock())
    project.writer().sync()
    run = project.runs()[lease.key]
    assert run.info.status == "FAILED"
    assert run.data.params["condition"] == "outcome"
    assert "division by zero" in run.data.tags["mlflow.note.content"]


def test_a_retried_job_leaves_one_run_that_tells_of_the_last_attempt(project: "Project") -> None:
    project.finish(1)
    lease = project.claim()
    project.store.fail(lease, "code_error", "a bug", now=project.clock())
    project.writer().sync()
    project.store.retry(project.suite)
    project.finish(1)
    project.writer().sync()
    run = project.runs()[lease.key]
    assert (run.info.status, run.data.tags["equipoise.attempt"]) == ("FINISHED", "2")
    assert "mlflow.note.content" not in run.data.tags


def test_values_too_long_for_mlflow_are_whole_in_an_artifact(project: "Project") -> None:
    sentence = "expected 2048 slots, counted 2047 " * 400
    project.finish(1)
    project.finish(1, lambda result: result.update(breaches=[sentence]))
    project.writer().sync()
    run = project.runs()[project.cells(0)[0]]
    assert len(run.data.tags["equipoise.breach"]) <= 8000
    path = project.client().download_artifacts(run.info.run_id, "long/tags/equipoise.breach.txt")
    assert Path(path).read_text(encoding="utf-8") == sentence


def test_foreign_mlflow_variables_do_not_reach_our_runs(
    project: "Project", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_RUN_ID", "0123456789abcdef0123456789abcdef")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "another")
    project.finish(2)
    assert project.writer().sync().problems == []
    assert len(project.runs()) == 3
    assert "MLFLOW_RUN_ID" not in os.environ


def test_a_server_that_is_not_there_delays_and_loses_nothing(project: "Project") -> None:
    project.finish(3)
    summary = project.writer("http://127.0.0.1:9").sync()
    assert (summary.written, summary.pending) == (0, True)
    assert "http://127.0.0.1:9 does not answer" in summary.sentence
    assert "`equipoise sync` continues" in summary.sentence
    assert len(project.store.outbox_pending()) == 3
    assert project.writer().sync().pending is False
    assert len(project.runs()) == 4


def test_a_refused_run_waits_and_the_others_pass(project: "Project") -> None:
    project.finish(1)
    project.finish(1, lambda result: result["cell"].update(arm="x" * 300))
    project.finish(1)
    refusing = project.writer()
    client = project.client()
    kind = type(client)
    original = kind.log_batch

    def log_batch(self: Any, run_id: str, *args: Any, **kwargs: Any) -> Any:
        # MLflow's own refusal, provoked by a metric name that it does not allow.
        if any(param.value == "x" * 300 for param in kwargs.get("params", ())):
            return self.log_metric(run_id, "not@allowed", 1.0)
        return original(self, run_id, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "log_batch", log_batch)
        summary = refusing.sync()
    assert summary.acknowledged == 2
    assert "MLflow refuses run b0/cell/outcome/native/0" in summary.sentence
    assert [row.key for row in project.store.outbox_pending()] == ["b0/cell/outcome/native/0"]
    assert project.writer().sync().problems == []
    assert {run.info.status for run in project.runs().values()} == {"FINISHED"}


def test_rebuild_makes_new_runs_with_the_same_content(project: "Project") -> None:
    project.finish(10)
    project.writer().sync()
    before = project.runs()
    summary = project.writer().rebuild()
    after = project.runs()
    assert summary.written == 10
    assert before.keys() == after.keys()
    assert not {run.info.run_id for run in before.values()} & {run.info.run_id for run in after.values()}
    assert {key: run.data.metrics for key, run in before.items()} == {
        key: run.data.metrics for key, run in after.items()
    }


def test_a_run_deleted_by_hand_comes_back_with_a_rebuild(project: "Project") -> None:
    project.finish(2)
    project.writer().sync()
    client = project.client()
    client.delete_experiment(client.get_run(project.runs()["b0/base"].info.run_id).info.experiment_id)
    project.writer().rebuild()
    assert len(project.runs()) == 3


def test_the_suite_run_carries_the_registered_text_and_tells_the_progress(project: "Project") -> None:
    project.finish(3)
    project.writer().sync()
    run = project.runs()["suite"]
    client = project.client()
    assert "2 of 18 cells have ended" in run.data.tags["mlflow.note.content"]
    text = Path(client.download_artifacts(run.info.run_id, "suite.yaml")).read_text(encoding="utf-8")
    assert text == "# why we ask\nname: seven-rules-household\n"
    table = json.loads(Path(client.download_artifacts(run.info.run_id, "tables/jobs.json")).read_text())
    assert [row[0] for row in table["data"]] == sorted(["b0/base", *project.cells(0)[:2]])


def test_a_second_writer_waits_for_the_first(project: "Project") -> None:
    from equipoise.errors import TrackingError
    from equipoise.tracking.locks import locked

    path = project.home / "mlflow.lock"
    with (
        locked(path, "another sync writes to MLflow"),
        pytest.raises(TrackingError, match="another sync writes to MLflow"),
        locked(path, "another sync writes to MLflow", patience=0.1),
    ):
        pass


def test_a_remote_server_gets_runs_and_artifacts_over_http(served: "Served", project: "Project") -> None:
    project.finish(10)
    project.store.add_suite("eq1:" + "77" * 32, "another", {"conditions": []}, "2026-09-21T14:00:00+00:00")
    client = served.project.client()
    over_http = Writer(_renamed(project), served.address, lock=project.home / "mlflow.lock")
    summary = over_http.sync()
    assert summary.problems == []
    experiment = client.get_experiment_by_name(f"elsewhere @ {project.suite[4:12]}")
    runs = client.search_runs([experiment.experiment_id])
    assert len(runs) == 11
    assert all(run.info.status == "FINISHED" for run in runs)
    assert sum("eval/pool" in run.data.metrics for run in runs) == 10


def _renamed(project: "Project") -> Any:
    from dataclasses import replace

    from equipoise.tracking.source import StoreSource

    class Elsewhere(StoreSource):
        def facts(self, suite: str) -> Any:
            return replace(super().facts(suite), name="elsewhere")

    return Elsewhere(project.store, project.home)
