"""A database looked at without being touched: everything is read from a copy of it."""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from equipoise.errors import StoreError
from equipoise.store.engine import explain
from equipoise.store.schema import check_file
from equipoise.store.store import DATABASE_FILE, Store, open_store

__all__ = ["Orphans", "copy_database", "orphans", "snapshot"]

Orphans = dict[tuple[str, str], int]
"""Rows of a table that belong to a row of another table which is not there: how many, by both names."""


@contextmanager
def snapshot(home: Path) -> Iterator[Store]:
    """A copy of a project's database at one moment, at the newest schema; it is gone afterwards.

    Neither the file nor its log is written, not even to bring an older schema up to date.

    Raises:
        StoreError: the database is damaged, foreign or newer than this program.
    """
    with tempfile.TemporaryDirectory(prefix="equipoise-") as folder:
        copy = Path(folder) / DATABASE_FILE
        copy_database(home / DATABASE_FILE, copy)
        check_file(copy)
        store = open_store(copy)
        try:
            yield store
        finally:
            store.close()


def orphans(store: Store) -> Orphans:
    """Rows whose parents were taken away, which SQLite lets pass for those who ask it to."""
    found: Orphans = {}
    with closing(sqlite3.connect(store.where.removeprefix("sqlite:///"))) as connection:
        for table, _, parent, _ in connection.execute("PRAGMA foreign_key_check"):
            found[table, parent] = found.get((table, parent), 0) + 1
    return found


def copy_database(source: Path, copy: Path) -> None:
    """Copy a database of SQLite as it is at one moment, without writing to it or beside it.

    Raises:
        StoreError: it cannot be read.
    """
    # Without a log nobody has the file open, and `immutable` keeps SQLite from making one to read it.
    how = "mode=ro" if source.with_name(source.name + "-wal").exists() else "immutable=1"
    try:
        with (
            closing(sqlite3.connect(f"file:{quote(str(source))}?{how}", uri=True, timeout=30)) as there,
            closing(sqlite3.connect(copy)) as here,
        ):
            there.backup(here)
    except sqlite3.Error as error:
        raise StoreError(explain(error, str(source))) from error
