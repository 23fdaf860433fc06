"""The embedded store is made once, whoever asks first, and opens wherever its folder lies."""

import multiprocessing
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from equipoise.errors import TrackingError
from equipoise.tracking.client import open_client
from equipoise.tracking.embedded import (
    artifact_root,
    database_uri,
    is_embedded,
    prepare,
    tracking_uri,
)
from equipoise.tracking.links import artifact_url, experiment_url, run_url


def test_several_processes_may_prepare_one_folder_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=prepare, args=(tmp_path,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert open_client(database_uri(tmp_path)).search_experiments()[0].name == "Default"


def test_the_database_keeps_a_write_ahead_log(template: Path) -> None:
    connection = sqlite3.connect(template / "mlflow.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_a_ready_folder_costs_no_import_of_mlflow(template: Path) -> None:
    code = (
        "import sys, pathlib; from equipoise.tracking.embedded import prepare; "
        "prepare(pathlib.Path(sys.argv[1])); sys.exit('mlflow' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(template)], check=True)


def test_an_older_schema_is_upgraded_and_not_refused(template: Path, tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_bytes((template / "mlflow.db").read_bytes())
    (tmp_path / "mlflow.ready.json").write_text('{"mlflow": "3.0.0"}', encoding="utf-8")
    prepare(tmp_path)
    assert "3.0.0" not in (tmp_path / "mlflow.ready.json").read_text(encoding="utf-8")


def test_a_database_that_is_none_is_named_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_bytes(b"this is no database " * 100)
    with pytest.raises(TrackingError, match=r"mlflow\.db cannot be made: .*Move it away"):
        prepare(tmp_path)


@pytest.mark.parametrize("sign", "?#%")
def test_a_path_that_no_database_uri_can_carry_is_refused(tmp_path: Path, sign: str) -> None:
    with pytest.raises(TrackingError, match="rename it"):
        database_uri(tmp_path / f"a{sign}b")


def test_odd_signs_in_the_artifact_root_are_percent_encoded(tmp_path: Path) -> None:
    assert artifact_root(tmp_path / "a b&é").endswith("/a%20b%26%C3%A9/mlartifacts")


def test_the_address_is_the_given_one_then_the_environments_then_the_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert tracking_uri(tmp_path) == database_uri(tmp_path)
    assert is_embedded(tmp_path, tracking_uri(tmp_path))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://tracking:5000")
    assert tracking_uri(tmp_path) == "http://tracking:5000"
    assert tracking_uri(tmp_path, "http://other:5000") == "http://other:5000"
    assert not is_embedded(tmp_path, "http://other:5000")


def test_an_address_that_mlflow_cannot_open_is_refused() -> None:
    with pytest.raises(TrackingError, match="Give an http"):
        open_client("carrier-pigeon://loft")


def test_links_open_the_pages_made_for_training() -> None:
    server = "http://127.0.0.1:5000/"
    mode = "workflowType=machine_learning"
    assert experiment_url(server, "7") == f"http://127.0.0.1:5000/#/experiments/7/runs?{mode}"
    assert run_url(server, "7", "ab") == f"http://127.0.0.1:5000/#/experiments/7/runs/ab?{mode}"
    assert artifact_url(server, "7", "ab", "report/a b.html") == (
        f"http://127.0.0.1:5000/#/experiments/7/runs/ab/artifacts/report/a%20b.html?{mode}"
    )


def test_a_database_that_was_left_half_made_is_made_anew(tmp_path: Path) -> None:
    # What a full disk or a kill leaves; MLflow's migrations cannot go on from there.
    for name in ("mlflow.db.draft", "mlflow.db.draft-wal"):
        (tmp_path / name).write_bytes(b"half of it")
    prepare(tmp_path)
    assert not list(tmp_path.glob("*.draft*"))
    assert (tmp_path / "mlflow.db").read_bytes().startswith(b"SQLite format 3\0")
