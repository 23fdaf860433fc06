"""A process beside a running suite that keeps MLflow up to date, so that the suite need not import it."""

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from equipoise.errors import StoreError, TrackingError
from equipoise.tracking.writer import SyncSummary, Writer

__all__ = ["Companion", "make_writer", "start_companion"]

SECONDS = 5.0
NICENESS = 10  # runs come first: what MLflow shows may be some seconds old
LOG = "mlflow.sync.log"


@dataclass(frozen=True)
class Companion:
    """The process; it ends by itself when its parent does, since its standard input closes."""

    process: "subprocess.Popen[bytes]"
    log: Path

    def leave(self, patience: float = 5.0) -> None:
        """Ask for a last sync and wait only a little: it goes on, and ends, without us."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.communicate(b"\n", timeout=patience)

    def stop(self, patience: float = 600.0) -> str:
        """Ask for a last sync, wait for it, and return its summary; a companion that died says so instead."""
        try:
            # A byte rather than the end of the pipe, which forked children may hold open.
            output, _ = self.process.communicate(b"\n", timeout=patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return f"MLflow is behind: the sync took over {patience:.0f} s; `equipoise sync` continues."
        lines = output.decode(errors="replace").strip().splitlines()
        if self.process.returncode or not lines:
            return f"MLflow is behind: its writer ended early, see {self.log}; `equipoise sync` continues."
        return lines[-1]


def start_companion(home: Path, uri: str | None = None) -> Companion:
    """Start to show what a project folder's store holds, now and as it grows.

    Args:
        home: The project folder; its store must exist.
        uri: The tracking server; by default MLFLOW_TRACKING_URI or the folder's own database.
    """
    log = home / LOG
    command = [sys.executable, "-m", "equipoise.tracking.companion", str(home), uri or ""]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        )
    return Companion(process, log)


def make_writer(
    home: Path, uri: str | None = None, on_written: Callable[[str], None] = lambda _: None
) -> tuple[Writer, str]:
    """Return a writer for a project folder and the address it writes to.

    The embedded store is made ready if it is the one.

    Raises:
        StoreError: If the folder has no store.
        TrackingError: If the tracking database cannot be made ready.
    """
    from equipoise.store import open_store
    from equipoise.tracking.embedded import artifact_root, is_embedded, prepare, tracking_uri
    from equipoise.tracking.source import StoreSource

    source = StoreSource(open_store(home, create=False), home)
    address = tracking_uri(home, uri)
    artifacts = None
    if is_embedded(home, address):
        prepare(home)
        artifacts = artifact_root(home)
    lock = home / "mlflow.lock"
    return Writer(source, address, lock=lock, artifacts=artifacts, on_written=on_written), address


def main(home: Path, uri: str | None) -> SyncSummary:
    """Sync whenever something is pending until standard input closes or speaks, then once more.

    Returns:
        What the last sync had to leave, and how many different runs all of them wrote.
    """
    os.nice(NICENESS)
    shown: set[str] = set()
    writer, _ = make_writer(home, uri, shown.add)
    while not select.select([sys.stdin], [], [], SECONDS)[0]:
        if writer.has_pending():
            writer.sync()
    return replace(writer.sync(), written=len(shown), unchanged=0)


def _said(home: Path, uri: str | None) -> str:
    """What the parent is to tell the user; errors that were raised on purpose are told, others go to the log."""
    try:
        return main(home, uri).sentence
    except (TrackingError, StoreError) as error:
        return f"MLflow is behind: {error} Nothing is lost: the store keeps every result."


if __name__ == "__main__":
    said = _said(Path(sys.argv[1]), sys.argv[2] or None)
    # A parent that was killed reads no more.
    with contextlib.suppress(BrokenPipeError):
        os.write(1, f"{said}\n".encode())
