"""Jobs that end in every way a job can end; told by their payload, run in the scheduler's children."""

import ctypes
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any


def execute(payload: dict[str, Any], folder: Path, inputs: Mapping[str, Path]) -> dict[str, Any]:
    # One write of one line is not torn: the tally counts how often each job really ran to its end.
    time.sleep(payload.get("sleep", 0.0))
    trouble = _TROUBLES.get(payload.get("do", "fine"))
    first = _first(payload)
    if trouble is not None and (first or not payload.get("once")):
        trouble()
    seen = b"".join((path / "out.bin").read_bytes() for path in inputs.values())
    content = sha256(seen + payload.get("seed", "").encode()).digest()
    (folder / "out.bin").write_bytes(content)
    sys.stdout.write(f"made {content.hex()}\n")
    with Path(payload["tally"]).open("a") as tally:
        tally.write(f"{payload['key']}\n")
    outcomes = [{"split": "pool", "task": 0, "successes": content[0] % 9, "episodes": 8}]
    outcomes[0]["successes"] = min(8, int(outcomes[0]["successes"]))  # type: ignore[call-overload]
    return {"kind": "cell", "digest": content.hex(), "outcomes": outcomes, "loss": float("nan")}


def preload() -> None:
    import decimal

    decimal.getcontext().prec = 50


def _first(payload: dict[str, Any]) -> bool:
    flag = Path(payload["tally"] + "." + payload["key"].replace("/", "."))
    if flag.exists():
        return False
    flag.touch()
    return True


def _raise() -> None:
    message = "the rule divides by nothing"
    raise ValueError(message)


def _memory() -> None:
    raise MemoryError


def _no_space() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _wrapped_no_space() -> None:
    try:
        _no_space()
    except OSError as error:
        message = "the file writer failed"
        raise RuntimeError(message) from error


def _grandchild() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path("grandchild.pid").write_text(str(child.pid))
    time.sleep(600)


_TROUBLES: dict[str, Callable[[], Any]] = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "terminate": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "segfault": lambda: ctypes.string_at(0),
    "exit 0": lambda: os._exit(0),
    "exit 3": lambda: os._exit(3),
    "sys.exit": lambda: sys.exit(0),
    "hang": lambda: time.sleep(600),
    "raise": _raise,
    "memory": _memory,
    "no space": _no_space,
    "wrapped no space": _wrapped_no_space,
    "grandchild": _grandchild,
}
