"""Whether children can be forked from this process, and what is loaded before the first one is."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

from equipoise.scheduler.child import Execute, load, name_of
from equipoise.scheduler.settings import Isolation, Settings
from equipoise.scheduler.threads import extra_threads, limit_threads, settle_threads

__all__ = ["Way", "prepare"]


@dataclass(frozen=True)
class Way:
    """How children are started: forked to run `execute`, or fresh to run the function called `name`."""

    isolation: Isolation
    execute: Execute | None = None
    name: str | None = None
    note: str | None = None


def prepare(execute: Execute | str, preload: Callable[[], None] | None, settings: Settings) -> Way:
    """Load what the children are to share, and choose how they are started.

    A fork is sound only while the parent has one thread and no CUDA context; else children start afresh.

    Raises:
        ExecutionError: a fresh process could not import `execute`.
    """
    limit_threads(settings.threads)
    if settings.isolation == "subprocess":
        return Way("subprocess", name=name_of(execute))
    # Asked whether there is a GPU, torch must not start CUDA: no child could use it then.
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    if preload is not None:
        preload()
    function = load(execute) if isinstance(execute, str) else execute
    settle_threads(settings.threads)
    obstacle = _obstacle_to_fork()
    if obstacle is None:
        return Way("fork", function)
    note = f"each job starts in a fresh process, which costs seconds, because {obstacle}"
    return Way("subprocess", name=name_of(execute), note=note)


def _obstacle_to_fork() -> str | None:
    if not hasattr(os, "fork"):
        return "this system cannot fork"
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return "CUDA was initialised before the fork"
    threads = extra_threads()
    if threads:
        return (
            f"this process runs {len(threads)} threads that a fork would lose"
            f" ({', '.join(sorted(set(threads)))}): set OMP_NUM_THREADS=1 before numeric libraries are loaded"
        )
    return None
