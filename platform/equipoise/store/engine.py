"""Transactions on the database: who may write, how safely, and what its errors mean to a user."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from equipoise.errors import StoreError

__all__ = ["Database"]

BUSY_SECONDS = 30


class Database:
    """An engine with the two kinds of transaction the store knows: reading and writing."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.where = make_url(url).render_as_string(hide_password=True)
        self._pid = os.getpid()
        self._engine = _engine(url)
        file = self._engine.url.database if url.startswith("sqlite") else None
        self._log = Path(f"{file}-wal") if file else None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def write(self, *, durable: bool = False) -> Iterator[Connection]:
        """A transaction that holds the right to write from its start.

        Args:
            durable: wait until the commit has reached the disk, so that not even a power loss undoes it.
                Leases do without: losing one costs a job's time, not a result.
        """
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection
        if durable and self._log is not None:
            self._sync(self._log)

    def close(self) -> None:
        """Close every connection; the next transaction opens a new one. To be called before a fork."""
        self._engine.dispose()

    def _sync(self, log: Path) -> None:
        """Bring a commit to the disk, after it has let go of the right to write.

        `synchronous=FULL` would do so while it holds it, and all writers would wait for each other's disk.
        Syncing the write-ahead log afterwards is as safe (frames are appended in order, a checkpoint syncs by
        itself), and lets the syncs of several processes run side by side.
        """
        try:
            descriptor = os.open(log, os.O_RDWR)
        except FileNotFoundError:
            return  # the last connection to close has synced the log into the database and removed it
        try:
            os.fsync(descriptor)
        except OSError as error:
            raise StoreError(explain(error, self.where)) from error
        finally:
            os.close(descriptor)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        if os.getpid() != self._pid:
            message = (
                f"the store was opened by process {self._pid} and is used by its child {os.getpid()}: a"
                " database connection does not survive a fork; open the store anew"
            )
            raise StoreError(message)
        try:
            with self._engine.connect() as connection:
                ready = connection.execution_options(eq_begin=begin)
                with ready.begin():
                    yield ready
        except DBAPIError as error:
            raise StoreError(explain(error.orig or error, self.where)) from error


def _engine(url: str) -> Engine:
    if not url.startswith("sqlite"):
        return create_engine(url, json_serializer=_dumps)
    # Without an isolation level the driver leaves BEGIN to us; see the two listeners.
    arguments = {"timeout": BUSY_SECONDS, "isolation_level": None}
    engine = create_engine(url, json_serializer=_dumps, connect_args=arguments)
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA synchronous=NORMAL")


def _on_begin(connection: Connection) -> None:
    connection.exec_driver_sql(str(connection.get_execution_options().get("eq_begin", "BEGIN IMMEDIATE")))


def _dumps(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def explain(error: BaseException, where: str) -> str:
    """Say what a database error means and how to mend it."""
    text = str(error)
    hints = {
        "malformed": "the file is damaged: restore a copy, or move it away and run the suite again",
        "not a database": "the file is damaged or not a database: restore a copy, or move it away",
        "disk is full": "the disk is full: free some space and run the same command again; nothing is lost",
        "readonly": "the file or its folder cannot be written: change its permissions or take another --home",
        "unable to open": "expected a folder that can be written: check that it exists and whose it is",
        "locked": f"another process has held the database for {BUSY_SECONDS} s: see whether one hangs",
        "disk I/O": "the disk did not answer: check it (and that it is not a network drive), then run again",
    }
    hint = next((hint for sign, hint in hints.items() if sign in text), "see `equipoise doctor`")
    return f"database {where}: {text.splitlines()[0] if text else type(error).__name__}; {hint}"
