"""Opening a database: create or upgrade its tables once, and refuse what is not ours."""

import fcntl
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from equipoise.errors import StoreError
from equipoise.store.engine import Database, explain

__all__ = ["HEAD", "KNOWN", "check_file", "prepare_file", "prepare_server", "revision_of"]

# The revisions of migrations/versions, oldest first; stated here to spare every start the import of Alembic.
KNOWN: Final = ("0001", "0002", "0003", "0004")
HEAD: Final = KNOWN[-1]

_MAGIC: Final = b"SQLite format 3\0"


def prepare_file(path: Path) -> None:
    """Bring an SQLite file to the newest schema, creating it where it is missing.

    Raises:
        StoreError: the file is not a database, is damaged, belongs to another program or to a newer version,
            or the folder cannot be written. The file is left as it was.
    """
    if revision_of(path) == HEAD:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.with_name(path.name + ".lock")):
            # Another process may have been here while this one waited for the lock.
            if revision_of(path) != HEAD:
                _set_wal(path)
                _upgrade(f"sqlite:///{path}")
    except OSError as error:
        message = (
            f"{path.parent}: cannot be written ({error.strerror or error}): expected a folder of this user's;"
            " change its permissions or choose another --home"
        )
        raise StoreError(message) from error


def check_file(path: Path) -> str | None:
    """Like `revision_of`, and have SQLite look through the whole file for damage.

    Raises:
        StoreError: it is damaged, not a database of this program, or a newer one.
    """
    revision = revision_of(path)
    if revision is None:
        return None
    connection = sqlite3.connect(path, timeout=30)
    try:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        raise StoreError(explain(error, str(path))) from error
    finally:
        connection.close()
    if verdict != "ok":
        message = f"{path}: the file is damaged ({verdict}); restore a copy, or move it away and run again"
        raise StoreError(message)
    return revision


def prepare_server(url: str) -> None:
    """Bring a database server's schema to the newest revision."""
    _upgrade(url)


def revision_of(path: Path) -> str | None:
    """The schema's revision, None for a file that is missing or empty.

    Raises:
        StoreError: it is not a database of this program, or a newer one.
    """
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return None
    _require_magic(path)
    try:
        tables, revision = _peek(path)
    except sqlite3.Error as error:
        raise StoreError(explain(error, str(path))) from error
    if revision is None and not tables:
        return None
    if revision is None:
        message = (
            f"{path}: expected a database of equipoise, came one with the tables {', '.join(tables[:5])};"
            " move it away or choose another --home"
        )
        raise StoreError(message)
    if revision not in KNOWN:
        message = (
            f"{path}: its schema is revision {revision!r}, this version of equipoise knows up to {HEAD!r};"
            " upgrade equipoise, or choose another --home"
        )
        raise StoreError(message)
    return revision


def _require_magic(path: Path) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except OSError as error:
        message = (
            f"{path}: cannot be read ({error.strerror or error}); expected the database of a project folder"
        )
        raise StoreError(message) from error
    if start != _MAGIC:
        message = (
            f"{path}: expected an SQLite database, it begins with {start!r}; it was left untouched: restore a"
            " copy, or move it away and run the suite again"
        )
        raise StoreError(message)


def _peek(path: Path) -> tuple[list[str], str | None]:
    connection = sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True, timeout=30)
    try:
        rows = connection.execute(
            "SELECT name FROM sqlite_master WHERE type='table' ORDER BY name"
        ).fetchall()
        tables = [str(name) for (name,) in rows if not str(name).startswith("sqlite_")]
        if "alembic_version" not in tables:
            return tables, None
        found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return tables, None if found is None else str(found[0])
    finally:
        connection.close()


def _set_wal(path: Path) -> None:
    connection = sqlite3.connect(path, timeout=30)
    try:
        # The journal mode is a property of the file: readers and the writer do not wait for each other.
        connection.execute("PRAGMA journal_mode=WAL")
    except sqlite3.Error as error:
        raise StoreError(explain(error, str(path))) from error
    finally:
        connection.close()


def _upgrade(url: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "equipoise.store:migrations")
    config.set_main_option("path_separator", "os")
    database = Database(url)
    try:
        with database.write(durable=True) as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        database.close()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
