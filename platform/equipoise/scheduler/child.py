"""What happens inside a child: one job is executed, its result or error written, and the process ends."""

import contextlib
import errno
import faulthandler
import importlib
import io
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from equipoise.errors import ExecutionError
from equipoise.scheduler.files import LOG_FILE, write_error, write_result
from equipoise.scheduler.system import die_with_parent

__all__ = [
    "CODE_ERROR",
    "NO_SPACE",
    "OUT_OF_MEMORY",
    "TEMPORARY",
    "Execute",
    "Order",
    "load",
    "name_of",
    "run_order",
]

# Exit codes of a child (the meanings of sysexits.h); 0 says that the result is written.
CODE_ERROR: Final = os.EX_SOFTWARE  # 70
OUT_OF_MEMORY: Final = os.EX_OSERR  # 71
NO_SPACE: Final = os.EX_IOERR  # 74
TEMPORARY: Final = os.EX_TEMPFAIL  # 75

_NO_SPACE_ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_TEMPORARY_ERRORS: Final = frozenset({errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE, errno.EAGAIN})
_FULL_BYTES: Final = 1 << 20
_INHERITED: Final[list[object]] = []

Execute = Callable[[dict[str, Any], Path, Mapping[str, Path]], Mapping[str, Any]]


@dataclass(frozen=True)
class Order:
    """What a child is told: payload, own folder, folders to read, threads, parent."""

    payload: dict[str, Any]
    folder: str
    inputs: dict[str, str]
    threads: int
    parent: int
    execute: str | None = None

    def to_json(self) -> str:
        """As text for a child that is not a fork."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Order":
        """Read what `to_json` wrote."""
        return cls(**json.loads(text))


def load(name: str) -> Execute:
    """Find the function that a dotted name `module:function` stands for.

    Raises:
        ExecutionError: there is none.
    """
    module, _, function = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in function.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        message = (
            f"execute: expected the name of a function, `package.module:function`, came {name!r}: {error}"
        )
        raise ExecutionError(message) from error
    execute: Execute = found
    return execute


def name_of(execute: Execute | str) -> str:
    """The dotted name by which a fresh process finds a function.

    Raises:
        ExecutionError: it has none: it is a lambda, a partial, or lives in a script.
    """
    if isinstance(execute, str):
        return execute
    module = getattr(execute, "__module__", "__main__")
    function = getattr(execute, "__qualname__", "<none>")
    if module == "__main__" or "<" in function:
        message = (
            f"isolation 'subprocess' needs a function that a fresh process can import, came {function} of"
            f" {module};"
            " put it in a module, or pass its name `package.module:function`"
        )
        raise ExecutionError(message)
    return f"{module}:{function}"


def run_order(order: Order, execute: Execute | None) -> int:
    """Carry out one job and give the exit code; everything is written into its folder."""
    folder = Path(order.folder)
    try:
        _settle_in(order)
        run = execute or load(order.execute or "")
        os.chdir(folder)
        result = run(order.payload, folder, {key: Path(path) for key, path in order.inputs.items()})
        if not isinstance(result, Mapping):
            message = f"execute must return a mapping, came {type(result).__name__}"
            raise ExecutionError(message)  # noqa: TRY301 - an error like any other of the job's code
        write_result(folder, result)
    except BaseException as error:  # noqa: BLE001 - the boundary of the process: whatever it is, it is written down
        return _report(folder, error)
    return os.EX_OK


def _settle_in(order: Order) -> None:
    os.setpgid(0, 0)
    die_with_parent(order.parent)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # The terminal's Ctrl-C is the parent's affair.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _redirect(Path(order.folder) / LOG_FILE)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(order.threads)


def _redirect(log: Path) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    os.close(nothing)
    # The parent's streams may hold unwritten text: they are neither used nor let go of, which would write it.
    _INHERITED.extend((sys.stdout, sys.stderr))
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8", line_buffering=True)
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), encoding="utf-8", line_buffering=True)
    faulthandler.enable(file=sys.stderr)


def _report(folder: Path, error: BaseException) -> int:
    code = _code(folder, error)
    trace = "".join(traceback.format_exception(error))
    with contextlib.suppress(OSError):
        sys.stderr.write(trace)
        sys.stderr.flush()
    with contextlib.suppress(OSError):
        write_error(folder, error, trace)
    return code


def _code(folder: Path, error: BaseException) -> int:
    chain = list(_chain(error))
    numbers = {inner.errno for inner in chain if isinstance(inner, OSError)}
    if numbers & _NO_SPACE_ERRORS or _is_full(folder):
        # Libraries written in C++ turn a full disk into errors of their own.
        return NO_SPACE
    if errno.ENOMEM in numbers or any(_is_memory(inner) for inner in chain):
        return OUT_OF_MEMORY
    return TEMPORARY if numbers & _TEMPORARY_ERRORS else CODE_ERROR


def _chain(error: BaseException | None) -> Any:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _is_memory(error: BaseException) -> bool:
    # torch.OutOfMemoryError for a device, a RuntimeError with these words for the host.
    names = {cls.__name__ for cls in type(error).__mro__}
    return bool(names & {"MemoryError", "OutOfMemoryError"}) or "can't allocate memory" in str(error)


def _is_full(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        return shutil.disk_usage(folder).free < _FULL_BYTES
    return False
