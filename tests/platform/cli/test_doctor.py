import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.cli.errors import ExitCode
from equipoise.cli.main import build
from equipoise.store import DATABASE_FILE, open_store

Run = Callable[[Path], tuple[int, dict[str, dict[str, str]]]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(home: Path) -> tuple[int, dict[str, dict[str, str]]]:
        code = build()(
            ["doctor", "--home", str(home), "--json"], prog_name="equipoise", standalone_mode=False
        )
        return code or 0, {finding["check"]: finding for finding in json.loads(capsys.readouterr().out)}

    return call


def test_a_sound_project_has_no_fault(run: Run, tmp_path: Path) -> None:
    open_store(tmp_path)
    code, findings = run(tmp_path)
    assert code == ExitCode.OK
    assert findings["database"]["says"] == "schema 0004, sound"
    assert "torch" in findings["packages"]["says"]
    assert "fault" not in {finding["state"] for finding in findings.values()}


def test_nothing_is_made_where_there_is_no_project(run: Run, tmp_path: Path) -> None:
    code, findings = run(tmp_path / "none")
    assert code == ExitCode.OK
    assert "will be created" in findings["database"]["says"]
    assert not (tmp_path / "none").exists()


def test_a_damaged_database_is_a_fault(run: Run, tmp_path: Path) -> None:
    (tmp_path / DATABASE_FILE).write_bytes(b"garbage")
    code, findings = run(tmp_path)
    assert code == ExitCode.TROUBLE
    assert findings["database"]["state"] == "fault"


def test_a_newer_schema_is_a_fault(run: Run, tmp_path: Path) -> None:
    open_store(tmp_path).close()
    connection = sqlite3.connect(tmp_path / DATABASE_FILE)
    connection.execute("UPDATE alembic_version SET version_num='9999'")
    connection.commit()
    connection.close()
    code, findings = run(tmp_path)
    assert code == ExitCode.TROUBLE
    assert "upgrade equipoise" in findings["database"]["says"]


def test_people_read_a_table_and_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build()(["doctor", "--home", str(tmp_path)], prog_name="equipoise", standalone_mode=False)
    assert "Suites can run here." in capsys.readouterr().out
