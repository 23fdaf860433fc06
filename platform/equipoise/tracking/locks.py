"""A file lock between processes of one machine, given back by the system when its holder dies."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from equipoise.errors import TrackingError

__all__ = ["locked"]


@contextmanager
def locked(path: Path, reason: str, patience: float = 60.0) -> Iterator[None]:
    """Hold an exclusive lock on a file while the body runs.

    Args:
        path: The lock file; created if missing, never removed (removing it would let two holders in).
        reason: Who else would hold it, for the message.
        patience: Seconds to wait.

    Raises:
        TrackingError: If the lock cannot be had in time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + patience
    with path.open("a") as handle:
        while not _take(handle.fileno()):
            if time.monotonic() > deadline:
                message = f"waited {patience:.0f} s for {path}: {reason}. Wait for it to end, or end it."
                raise TrackingError(message)
            time.sleep(0.05)
        yield


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
