"""From the way in which a child ended to the typed end of its attempt."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.scheduler.child import CODE_ERROR, NO_SPACE, OUT_OF_MEMORY, TEMPORARY
from equipoise.scheduler.files import ERROR_FILE, LOG_FILE, RESULT_FILE, read_outcome

__all__ = ["End", "end_of", "last_lines"]

_ENDS = {CODE_ERROR: "code_error", NO_SPACE: "no_space", OUT_OF_MEMORY: "oom", TEMPORARY: "lost"}
_LINES = 12


@dataclass(frozen=True)
class End:
    """The end of an attempt; `result` is there exactly if it is `done`."""

    end: str
    message: str
    result: dict[str, Any] | None = None


def end_of(code: int, folder: Path, *, timed_out: bool, memory_ran_out: bool) -> End:
    """Type the end of a child.

    Args:
        code: exit code, negative for the signal that killed it.
        folder: the job's folder.
        timed_out: whether its parent killed it for its time limit.
        memory_ran_out: whether the kernel killed some process for want of memory meanwhile.
    """
    if timed_out:
        return End("timeout", f"killed at its time limit; log: {folder / LOG_FILE}")
    if code < 0:
        return _signalled(-code, folder, memory_ran_out=memory_ran_out)
    if code == os.EX_OK:
        result = read_outcome(folder, RESULT_FILE)
        if result is not None:
            return End("done", "", result)
        return End("lost", f"its process ended without a result; log: {folder / LOG_FILE}")
    error = read_outcome(folder, ERROR_FILE)
    if code not in _ENDS or (error is None and code == CODE_ERROR):
        return End("lost", f"its process ended with code {code} and no word; log: {folder / LOG_FILE}")
    said = f"{error.get('type')}: {error.get('message')}" if error else f"exit code {code}"
    return End(_ENDS[code], said)


def last_lines(folder: Path) -> str:
    """The end of the traceback that a child wrote, or of its log."""
    error = read_outcome(folder, ERROR_FILE)
    if error is not None:
        text = str(error.get("traceback", ""))
    else:
        log = folder / LOG_FILE
        text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    return "\n".join(text.rstrip().splitlines()[-_LINES:])


def _signalled(number: int, folder: Path, *, memory_ran_out: bool) -> End:
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    message = f"its process was ended by {name}; log: {folder / LOG_FILE}"
    if number == signal.SIGKILL and memory_ran_out:
        return End("oom", f"the system ran out of memory; {message}")
    if number == signal.SIGTERM:
        return End("preempted", message)
    return End("lost", message)
