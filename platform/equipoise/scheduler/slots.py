"""Starting children: forked from the preloaded parent or in a fresh interpreter, by one protocol."""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import ExecutionError
from equipoise.scheduler.child import CODE_ERROR, Execute, Order, run_order
from equipoise.scheduler.files import LOG_FILE, REQUEST_FILE
from equipoise.scheduler.system import oom_kills, open_pidfd
from equipoise.store import Lease

__all__ = ["Running", "start"]


@dataclass
class Running:
    """A child at work on a lease. Times are of the monotonic clock."""

    lease: Lease
    folder: Path
    pid: int
    pidfd: int | None
    began: float
    ooms: int
    timed_out: bool = False

    def close(self) -> None:
        """Let go of the descriptor, once the child is reaped."""
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None


def start(lease: Lease, order: Order, execute: Execute | None) -> Running:
    """Start a child: by fork if `execute` is a function, as a fresh process if it is named in the order.

    Raises:
        ExecutionError: the system starts no more processes.
    """
    folder = Path(order.folder)
    ooms = oom_kills()
    try:
        pid = _spawn(order, folder) if execute is None else _fork(order, execute)
    except OSError as error:
        message = f"job {lease.key}: no process could be started for it ({error}); lower the number of slots"
        raise ExecutionError(message) from error
    return Running(lease, folder, pid, open_pidfd(pid), time.monotonic(), ooms)


def _fork(order: Order, execute: Execute) -> int:
    pid = os.fork()
    if pid == 0:
        code = CODE_ERROR
        try:
            code = run_order(order, execute)
        finally:
            # Neither the parent's clean-up nor its buffers are the child's.
            os._exit(code)
    return pid


def _spawn(order: Order, folder: Path) -> int:
    request = folder / REQUEST_FILE
    request.write_text(order.to_json(), encoding="utf-8")
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    log = (os.POSIX_SPAWN_OPEN, 1, str(folder / LOG_FILE), flags, 0o644)
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "equipoise.scheduler", str(request)],
        os.environ,
        file_actions=[log, (os.POSIX_SPAWN_DUP2, 1, 2)],
        setpgroup=0,
    )
