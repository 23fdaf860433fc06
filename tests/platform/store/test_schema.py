import multiprocessing
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from equipoise.errors import StoreError
from equipoise.store import DATABASE_FILE, JobSpec, inspect_store, open_store, this_worker
from equipoise.store.models import Base
from equipoise.store.schema import HEAD, KNOWN


def test_the_migrations_make_exactly_the_tables_of_the_models(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    engine = create_engine(f"sqlite:///{tmp_path / DATABASE_FILE}")
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


def test_the_stated_revisions_are_those_of_the_migrations() -> None:
    config = Config()
    config.set_main_option("script_location", "equipoise.store:migrations")
    config.set_main_option("path_separator", "os")
    script = ScriptDirectory.from_config(config)
    assert tuple(revision.revision for revision in reversed(list(script.walk_revisions()))) == KNOWN
    assert script.get_current_head() == HEAD


def test_steps_of_an_earlier_version_are_kept_without_what_was_not_counted(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    suite = "eq1:" + "ab" * 32
    store.add_suite(suite, "small", {}, "2026-09-21")
    store.add_jobs(suite, [JobSpec("b0/cell/a/matched/0", "cell")])
    lease = store.claim(this_worker())
    assert lease is not None
    store.finish(lease, {"steps": {"slots": [4], "micro_batches": [1], "kl_from_start": [0.5]}})
    store.close()
    engine = create_engine(f"sqlite:///{tmp_path / DATABASE_FILE}")
    config = Config()
    config.set_main_option("script_location", "equipoise.store:migrations")
    config.set_main_option("path_separator", "os")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0002")
    engine.dispose()
    store = open_store(tmp_path)
    (row,) = store.steps(suite, "b0/cell/a/matched/0")
    store.close()
    assert (row.values["slots"], row.values["micro_batches"], row.values["kl_from_start"]) == (4, None, None)


def test_the_database_writes_ahead_and_the_record_is_append_only(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.log(None, "hello", {})
    store.close()
    connection = sqlite3.connect(tmp_path / DATABASE_FILE)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    for statement in ("UPDATE events SET kind='x'", "DELETE FROM events"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)
    connection.close()


def _open(home: Path) -> None:
    open_store(home).close()


def test_eight_processes_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_open, args=(tmp_path,)) for _ in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 8
    assert inspect_store(tmp_path) == HEAD


@pytest.mark.parametrize("content", [b"this is no database at all", b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_file_that_is_not_a_database_is_named_and_left_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / DATABASE_FILE
    path.write_bytes(content)
    for use in (open_store, inspect_store):
        with pytest.raises(StoreError, match="restore a copy, or") as caught:
            use(tmp_path)
        assert str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_damage_inside_a_database_is_found(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for number in range(300):
        store.log(None, "line", {"number": number, "text": "x" * 200})
    store.close()
    path = tmp_path / DATABASE_FILE
    content = bytearray(path.read_bytes())
    # The last third of the file holds pages of the record.
    start = len(content) * 2 // 3 // 4096 * 4096
    content[start : start + 8192] = b"\xee" * 8192
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"):
        inspect_store(tmp_path)


def test_a_newer_schema_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    connection = sqlite3.connect(tmp_path / DATABASE_FILE)
    connection.execute("UPDATE alembic_version SET version_num='9999'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="revision '9999', this version of equipoise knows up to '0004'"):
        open_store(tmp_path)


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / DATABASE_FILE)
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.commit()
    connection.close()
    with pytest.raises(
        StoreError, match="expected a database of equipoise, came one with the tables recipes"
    ):
        open_store(tmp_path)


def test_a_missing_store_is_not_made_unless_asked_for(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such database"):
        open_store(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()
    assert inspect_store(tmp_path / "none") is None


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be written"):
        open_store(tmp_path / "file" / "home")


def test_a_folder_without_write_permission_is_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o555)
    code = (
        "import os, sys\n"
        "from equipoise.errors import StoreError\n"
        "from equipoise.store import open_store\n"
        # The superuser may write anywhere: look at the folder as nobody.
        "os.getuid() == 0 and os.setresuid(65534, 65534, 65534)\n"
        "try:\n    open_store(sys.argv[1])\n"
        "except StoreError as error:\n    sys.exit(7 if 'cannot be written' in str(error) else 8)\n"
    )
    # Nobody must be able to walk to the folder.
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o111)
    done = subprocess.run(
        [sys.executable, "-c", code, str(home)], check=False, capture_output=True, text=True
    )
    assert done.returncode == 7, done.stderr


def test_a_forked_child_cannot_use_the_parents_store(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from equipoise.errors import StoreError\n"
        "from equipoise.store import open_store\n"
        "store = open_store(sys.argv[1])\n"
        "store.close()\n"
        "if os.fork() == 0:\n"
        "    try:\n        store.suites()\n"
        "    except StoreError as error:\n"
        "        os._exit(7 if 'does not survive a fork' in str(error) else 8)\n"
        "    os._exit(9)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert done.returncode == 7
