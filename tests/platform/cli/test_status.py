import json
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.cli.main import build
from equipoise.errors import StoreError
from equipoise.store import JobSpec, Store, open_store, this_worker

SUITE = "eq1:0123456789abcdef"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = open_store(tmp_path)
    store.add_suite(SUITE, "three-rules", {}, "2026-01-01T00:00:00Z")
    jobs = [JobSpec(f"b{block}/{kind}", kind, order=block) for block in (0, 1) for kind in ("base", "cell")]
    store.add_jobs(SUITE, jobs)
    worker = this_worker()
    for _ in range(3):
        lease = store.claim(worker)
        assert lease is not None
        row = {"split": "pool", "task": 0, "successes": 7531, "episodes": 9642}
        store.finish(lease, {"kind": lease.kind, "outcomes": [row]})
    lost = store.claim(worker)
    assert lost is not None
    store.fail(lost, "lost", "gone")
    return store


Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: str) -> str:
        build()(["status", *arguments], prog_name="equipoise", standalone_mode=False)
        return capsys.readouterr().out

    return call


def test_each_suite_has_a_table_of_kinds_and_states(run: Run, store: Store, tmp_path: Path) -> None:
    shown = run("--home", str(tmp_path))
    assert "three-rules @ 01234567" in shown
    assert "3 of 4 jobs · 1 of 2 blocks complete" in shown
    assert "attempts: 1 lost" in shown


def test_outcomes_are_never_shown(run: Run, store: Store, tmp_path: Path) -> None:
    for shown in (run("--home", str(tmp_path)), run("--home", str(tmp_path), "--json")):
        assert "7531" not in shown
        assert "9642" not in shown


def test_programs_read_json(run: Run, store: Store, tmp_path: Path) -> None:
    (suite,) = json.loads(run("--home", str(tmp_path), "--json"))
    assert suite["name"] == "three-rules"
    assert suite["counts"] == {"base": {"done": 2}, "cell": {"done": 1, "queued": 1}}
    assert (suite["blocks_complete"], suite["blocks"]) == (1, 2)
    assert suite["ends"] == {"done": 3, "lost": 1}


def test_watching_ends_when_nothing_is_left_to_run(run: Run, store: Store, tmp_path: Path) -> None:
    store.cancel(SUITE)
    assert "cancelled" in run("--home", str(tmp_path), "--watch")


def test_a_folder_without_a_project_is_named_and_not_made(run: Run, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such database"):
        run("--home", str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_a_project_without_suites_says_how_to_begin(run: Run, tmp_path: Path) -> None:
    open_store(tmp_path)
    assert "equipoise register SUITE" in run("--home", str(tmp_path))
