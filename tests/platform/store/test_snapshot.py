import sqlite3
from pathlib import Path

import pytest

from equipoise.errors import StoreError
from equipoise.store import DATABASE_FILE, JobSpec, open_store, this_worker
from equipoise.store.snapshot import orphans, snapshot

SUITE = "eq1:" + "ab" * 32


@pytest.fixture
def home(tmp_path: Path) -> Path:
    store = open_store(tmp_path)
    store.add_suite(SUITE, "small", {"question": "why?"}, "2026-09-21")
    store.add_jobs(
        SUITE, [JobSpec("b0/base", "base"), JobSpec("b0/cell/a/matched/0", "cell", needs=("b0/base",))]
    )
    store.close()
    return tmp_path


def test_a_copy_is_read_and_the_folder_stays_as_it_is(home: Path) -> None:
    before = {path.name: path.read_bytes() for path in home.iterdir()}
    with snapshot(home) as store:
        (suite,) = store.audit()
        assert store.where != str(home)
    assert [job.key for job in suite.jobs] == ["b0/base", "b0/cell/a/matched/0"]
    assert (suite.begun, dict(suite.finished), suite.spec) == (True, {}, '{"question":"why?"}')
    assert {path.name: path.read_bytes() for path in home.iterdir()} == before


def test_what_is_still_in_the_log_is_seen(home: Path) -> None:
    store = open_store(home)
    lease = store.claim(this_worker())
    assert lease is not None
    store.finish(lease, {"cost": {"rollout_tokens": 3}})
    assert (home / f"{DATABASE_FILE}-wal").exists()
    with snapshot(home) as copy:
        (suite,) = copy.audit()
    assert suite.jobs[0].ledger is not None
    assert suite.jobs[0].ledger["rollout_tokens"] == 3
    assert set(suite.finished) == {"b0/base"}
    store.close()


def test_a_database_from_before_the_ledgers_is_read_without_being_brought_up_to_date(home: Path) -> None:
    from alembic import command
    from alembic.config import Config

    from equipoise.store.engine import Database

    config = Config()
    config.set_main_option("script_location", "equipoise.store:migrations")
    config.set_main_option("path_separator", "os")
    database = Database(f"sqlite:///{home / DATABASE_FILE}")
    with database.write(durable=True) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0001")
    database.close()
    before = (home / DATABASE_FILE).read_bytes()
    with snapshot(home) as store:
        (suite,) = store.audit()
    assert all(job.ledger is None and job.steps == () for job in suite.jobs)
    assert (home / DATABASE_FILE).read_bytes() == before
    open_store(home).close()
    assert (home / DATABASE_FILE).read_bytes() != before


def test_rows_whose_parents_were_taken_away_are_counted(home: Path) -> None:
    connection = sqlite3.connect(home / DATABASE_FILE)
    with connection:
        connection.execute("DELETE FROM jobs WHERE key='b0/base'")
    connection.close()
    with snapshot(home) as store:
        assert orphans(store) == {("job_dependencies", "jobs"): 1}


def test_a_database_that_was_cut_is_refused_by_name(home: Path) -> None:
    path = home / DATABASE_FILE
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(StoreError, match="restore a copy"), snapshot(home):
        pass
