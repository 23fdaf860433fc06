"""The tracking store that comes with a project folder: one SQLite file and one folder of artifacts."""

import json
import os
import sqlite3
import tempfile
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

from equipoise.errors import TrackingError
from equipoise.tracking.client import set_quiet
from equipoise.tracking.locks import locked

__all__ = [
    "artifact_root",
    "database_uri",
    "is_embedded",
    "prepare",
    "tracking_uri",
]

DATABASE = "mlflow.db"
ARTIFACTS = "mlartifacts"
MARKER = "mlflow.ready.json"  # which MLflow made the schema; saves the import of MLflow when nothing changed


def database_uri(home: Path) -> str:
    """Return the URI of a project folder's tracking database.

    Raises:
        TrackingError: If the path holds a sign that a database URI cannot carry.
    """
    path = str(home.resolve() / DATABASE)
    if bad := sorted(set("?#%") & set(path)):
        message = (
            f"the project folder {home} has {' '.join(bad)} in its path, so MLflow cannot open it: rename it"
        )
        raise TrackingError(message)
    return f"sqlite:///{path}"


def artifact_root(home: Path) -> str:
    """Return the file URI of a project folder's artifacts, odd signs percent-encoded."""
    return (home.resolve() / ARTIFACTS).as_uri()


def tracking_uri(home: Path, explicit: str | None = None) -> str:
    """Return where to project to: the given address, else MLFLOW_TRACKING_URI, else the embedded store."""
    return explicit or os.environ.get("MLFLOW_TRACKING_URI") or database_uri(home)


def is_embedded(home: Path, uri: str) -> bool:
    """Say whether an address is the project folder's own database."""
    return uri.startswith("sqlite:") and uri == database_uri(home)


def prepare(home: Path) -> str:
    """Create or upgrade the embedded store and return its URI.

    A file lock lets one process do it: MLflow's own migrations race. The file is put into WAL mode for good,
    which doubles what it takes and spares readers the waiting. A ready folder costs no import of MLflow.

    Raises:
        TrackingError: If the database cannot be made.
    """
    uri = database_uri(home)
    if _is_ready(home):
        return uri
    with locked(home / "mlflow.prepare.lock", "another process creates the tracking database"):
        if not _is_ready(home):
            _migrate(home)
    return uri


def _is_ready(home: Path) -> bool:
    marker = home / MARKER
    if not (home / DATABASE).is_file() or not marker.is_file():
        return False
    try:
        found = json.loads(marker.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return bool(found == {"mlflow": version("mlflow")})


def _migrate(home: Path) -> None:
    """Run MLflow's migrations, switch to WAL, and leave the marker as the last thing.

    A new database is made beside its place and moved there whole: MLflow cannot go on with one that is half made.
    """
    set_quiet()
    from mlflow.exceptions import MlflowException
    from mlflow.store.db.utils import (
        _all_tables_exist,
        _initialize_tables,
        _upgrade_db,
        create_sqlalchemy_engine,
    )
    from sqlalchemy.exc import SQLAlchemyError

    set_quiet()
    path = home.resolve() / DATABASE
    draft = path.with_name(f"{DATABASE}.draft")
    made = path if path.is_file() else draft
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for rest in path.parent.glob(f"{draft.name}*"):
            rest.unlink()
        _pragma(made, "journal_mode=WAL")
        engine = create_sqlalchemy_engine(f"sqlite:///{made}")
        (_upgrade_db if _all_tables_exist(engine) else _initialize_tables)(engine)
        engine.dispose()
        _pragma(made, "wal_checkpoint(TRUNCATE)")
        made.replace(path)
    except (MlflowException, SQLAlchemyError, sqlite3.Error, OSError) as error:
        mend = "Move it away; `equipoise sync --rebuild` refills a new one."
        message = f"the tracking database {path} cannot be made: {error}. {mend}"
        raise TrackingError(message) from error
    with tempfile.NamedTemporaryFile("w", dir=home, suffix=".tmp", delete=False, encoding="utf-8") as handle:
        json.dump({"mlflow": version("mlflow")}, handle)
    Path(handle.name).replace(home / MARKER)


def _pragma(path: Path, command: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA {command}")
