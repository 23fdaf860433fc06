"""Threads of numeric libraries: how many there may be, and which of them a fork would lose."""

import contextlib
import ctypes
import os
from pathlib import Path
from typing import Final

__all__ = ["extra_threads", "limit_threads", "settle_threads"]

_VARIABLES: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# The wheels of numpy and scipy bring OpenBLAS under names of their own.
_SETTERS: Final = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
)
# Arrow's allocator keeps one thread of its own; it holds no lock that a child could miss.
_HARMLESS: Final = frozenset({"jemalloc_bg_thd"})


def limit_threads(threads: int) -> None:
    """Tell numeric libraries, in this process and its children, how many threads to use.

    Libraries read it when they are loaded: call it before the first import of numpy or torch.
    """
    for variable in _VARIABLES:
        os.environ[variable] = str(threads)


def settle_threads(threads: int) -> None:
    """Hold OpenBLAS to its number of threads where it was loaded before the limit was set, and end idle ones.

    OpenBLAS stops its threads before every fork and starts them again when they are needed; one child that
    does nothing makes it do so now, so that those that remain are the ones a fork would lose.
    """
    for path in _loaded("openblas"):
        library = ctypes.CDLL(path)
        setter = next((name for name in _SETTERS if hasattr(library, name)), None)
        if setter is not None:
            getattr(library, setter)(ctypes.c_int(threads))
    if extra_threads():
        pid = os.fork()
        if pid == 0:
            os._exit(os.EX_OK)
        os.waitpid(pid, 0)


def extra_threads() -> list[str]:
    """Names of the threads beside the main one; empty where the system does not tell."""
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():
        return []
    names = []
    for task in tasks.iterdir():
        if task.name != str(os.getpid()):
            with contextlib.suppress(OSError):
                names.append((task / "comm").read_text().strip())
    return sorted(name for name in names if name not in _HARMLESS)


def _loaded(part: str) -> list[str]:
    """Paths of the loaded libraries with a part of a name."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return []
    # The sixth field is the path, and may hold spaces.
    paths = {line.split(maxsplit=5)[5] for line in maps.read_text().splitlines() if line.count("/")}
    return sorted(path for path in paths if part in Path(path).name)
