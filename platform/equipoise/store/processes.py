"""Which process is which: a pid alone is reused, a pid with its start time is not."""

import itertools
import os
import socket
from pathlib import Path

from equipoise.store.records import Worker

__all__ = ["is_gone", "this_worker"]

_COUNTER = itertools.count()


def this_worker(label: str = "local") -> Worker:
    """The present process as a holder of leases, under a name no other call gives."""
    host = _host()
    pid = os.getpid()
    return Worker(f"{label}@{host}:{pid}.{next(_COUNTER)}", host, pid, _started(pid) or "")


def is_gone(worker: Worker) -> bool:
    """Whether the process is known to have ended; False when that cannot be known from here."""
    if worker.host != _host() or not worker.started:
        return False
    return _started(worker.pid) != worker.started


def _host() -> str:
    """Machine and pid namespace: pids of two containers with one host name are not comparable."""
    namespace = Path("/proc/self/ns/pid")
    inode = namespace.readlink().name if namespace.is_symlink() else ""
    return f"{socket.gethostname()}/{inode.strip('pid:[]')}"


def _started(pid: int) -> str | None:
    """Boot and clock tick at which the process began; None if it has ended or the system does not tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    # The command's name may hold spaces and brackets: what counts begins behind the last one.
    fields = stat.rpartition(")")[2].split()
    state, ticks = fields[0], fields[19]
    return None if state in {"Z", "X"} else f"{boot}:{ticks}"
