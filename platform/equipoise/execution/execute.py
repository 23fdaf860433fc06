"""The one entry of a worker: a job's payload in, its result out, its files in a folder."""

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from equipoise.errors import ExecutionError
from equipoise.execution.world import World

__all__ = ["execute", "preload"]


def preload(*, on_policy: bool = False) -> None:
    """Import what every job needs, once, before the worker forks.

    Args:
        on_policy: whether the suite trains through TRL's on-policy trainer, whose import takes seconds: longer than
            a small run.
    """
    import torch
    import transformers  # noqa: F401

    import equipoise.execution.base
    import equipoise.execution.cell
    import equipoise.execution.collect
    import equipoise.execution.signals
    import equipoise.training.trainer

    if on_policy:
        import equipoise.training.on_policy  # noqa: F401

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))


def execute(payload: Mapping[str, object], folder: Path, inputs: Mapping[str, Path]) -> dict[str, object]:
    """Carry out one job.

    Args:
        payload: `job` (base, collect, signals or cell; in the search for hyper-parameters tuning_base,
            tuning_collect, tuning_signals or trial), `suite`, `block` (there `tuning_block`), and what the job
            needs besides.
        folder: empty; the job's files go there.
        inputs: folders of the jobs it depends on, by their role in the payload's `inputs`.

    Returns:
        The result, ready for JSON.

    Raises:
        ExecutionError: if the payload names no job that exists.
    """
    world = World.of(payload)
    _expect_registered_kernels(world)
    roles = payload["inputs"]
    assert isinstance(roles, Mapping)
    folders = {role: Path(inputs[key]) for role, key in roles.items()}
    result = _carry_out(world, payload, folders, folder)
    # Nothing of the search may be taken for a result of the comparison.
    return {**result, "kind": payload["job"], "values": payload.get("values", {})} if world.tuning else result


def _carry_out(
    world: World, payload: Mapping[str, object], folders: Mapping[str, Path], folder: Path
) -> dict[str, object]:
    from equipoise.execution.base import make_base
    from equipoise.execution.cell import run_cell
    from equipoise.execution.collect import collect
    from equipoise.execution.signals import assign_credit

    match str(payload["job"]).removeprefix("tuning_" if world.tuning else ""):
        case "base":
            return make_base(world, folder)
        case "collect":
            return collect(world, folders["base"], folder)
        case "signals":
            return assign_credit(world, str(payload["condition"]), folders, folder)
        case "cell" | "trial":
            cell = payload["cell"]
            assert isinstance(cell, Mapping)
            return run_cell(world, cell, folders, folder)
        case other:
            message = f"expected a job of kind base, collect, signals, cell or trial, got {other!r}"
            raise ExecutionError(message)


def _expect_registered_kernels(world: World) -> None:
    """Another instruction set gives other bits, so a run under one that was not registered is no run of the suite."""
    import torch

    registered, found = world.suite.execution.cpu_capability, torch.backends.cpu.get_cpu_capability().lower()
    if found != registered and platform.machine() in ("x86_64", "AMD64"):
        message = (
            f"execution.cpu_capability: expected PyTorch's {registered} kernels, got {found}; this processor may "
            "lack them: register the suite with a capability that it has (default, avx2 or avx512)"
        )
        raise ExecutionError(message)
