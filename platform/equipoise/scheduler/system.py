"""What the scheduler asks of the operating system: process groups, waiting for children, signals."""

import contextlib
import ctypes
import gc
import os
import select
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

__all__ = [
    "Signals",
    "die_with_parent",
    "frozen",
    "kill_group",
    "oom_kills",
    "open_pidfd",
    "reap",
    "wait_any",
]

_PR_SET_PDEATHSIG: Final = 1


@contextlib.contextmanager
def frozen() -> Iterator[None]:
    """Keep the collector off everything loaded so far, so that children share its memory unwritten."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(os.EX_TEMPFAIL)


def kill_group(pid: int) -> None:
    """Kill a child and everything it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def open_pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable when the child ends, where the system has such."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def wait_any(pidfds: Sequence[int | None], wake: int | None, seconds: float, poll: float) -> None:
    """Sleep until a child ends, a signal comes, or the time is over."""
    watched = [descriptor for descriptor in (*pidfds, wake) if descriptor is not None]
    blind = any(descriptor is None for descriptor in pidfds)
    poller = select.poll()
    for descriptor in watched:
        poller.register(descriptor, select.POLLIN)
    poller.poll(1000 * max(0.0, min(seconds, poll) if blind else seconds))


def reap(pid: int) -> tuple[int, int] | None:
    """Exit status (negative for a signal) and peak memory in KiB of an ended child; None while it runs.

    What the child had started and left behind is killed, while its number still cannot be anybody else's.
    """
    if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        return None
    kill_group(pid)
    _, status, usage = os.wait4(pid, 0)
    scale = 1024 if sys.platform == "darwin" else 1
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss // scale


def oom_kills() -> int:
    """How often this system's kernel has killed a process for want of memory; 0 where it does not tell."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


class Signals:
    """While active, Ctrl-C and SIGTERM are noted, not obeyed: `received` names the first."""

    def __init__(self) -> None:
        self.received: str | None = None
        self.wake: int | None = None
        self._write: int | None = None
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> "Signals":
        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        except ValueError:
            # Only the main thread hears signals; elsewhere they are the caller's affair.
            return self
        self.wake, self._write = os.pipe()
        os.set_blocking(self._write, False)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        for descriptor in (self.wake, self._write):
            if descriptor is not None:
                os.close(descriptor)

    def _note(self, number: int, _frame: object) -> None:
        self.received = self.received or signal.Signals(number).name
        if self._write is not None:
            with contextlib.suppress(BlockingIOError):
                os.write(self._write, b"!")
