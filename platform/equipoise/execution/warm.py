"""Base policies kept by what made them, so that suites that differ elsewhere need not clone again."""

import json
import os
import platform
from dataclasses import asdict
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.execution.world import World
from equipoise.policies.model import load_weights, save_weights
from equipoise.policies.warm_start import Cloning
from equipoise_preregistration.code import CodeVersion, code_version

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["CACHE", "keep", "kept", "recipe"]

CACHE = "EQUIPOISE_CACHE"
"""Environment variable that names the folder of the cache; without it nothing is kept."""

_LIBRARIES = ("numpy", "torch", "transformers")


def recipe(world: World, code: CodeVersion | None = None, kernels: str | None = None) -> str:
    """SHA-256 over all that decides the bits of a block's base policy.

    Args:
        world: the block.
        code: that made it; by default this process's.
        kernels: of PyTorch, as it names them; by default this process's.
    """
    import torch

    suite = world.suite
    decides = {
        "environment": suite.environment.model_dump(mode="json"),
        "policy": suite.policy.model_dump(mode="json"),
        "temperature": suite.collection.temperature,
        "seed": suite.seed,
        "block": world.block,
        "tuning": world.tuning,
        "execution": suite.execution.model_dump(mode="json"),
        "kernels": kernels or torch.backends.cpu.get_cpu_capability(),
        "machine": platform.machine(),
        "libraries": {name: version(name) for name in _LIBRARIES},
        "code": (code or code_version()).as_json(),
    }
    return sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()


def kept(world: World, model: "Qwen3ForCausalLM") -> Cloning | None:
    """Load the base policy of an equal recipe into the model; None where there is none, or a damaged one."""
    folder = _folder(world)
    if folder is None or not (folder / "cloning.json").is_file():
        return None
    try:
        told = json.loads((folder / "cloning.json").read_text(encoding="utf-8"))
        if sha256((folder / "base.safetensors").read_bytes()).hexdigest() != told["file"]:
            return None
    except (OSError, ValueError, KeyError):
        return None
    load_weights(model, folder / "base.safetensors")
    return Cloning(told["steps"], tuple(told["probes"]))


def keep(world: World, model: "Qwen3ForCausalLM", cloning: Cloning) -> None:
    """Keep a base policy; the file that names it is written last, and whole."""
    folder = _folder(world)
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    mine = folder / f".{os.getpid()}.safetensors"
    save_weights(model, mine)
    told = {**asdict(cloning), "file": sha256(mine.read_bytes()).hexdigest()}
    mine.replace(folder / "base.safetensors")
    draft = folder / f".{os.getpid()}.json"
    draft.write_text(json.dumps(told), encoding="utf-8")
    draft.replace(folder / "cloning.json")


def _folder(world: World) -> Path | None:
    cache = os.environ.get(CACHE)
    return Path(cache) / "base" / recipe(world) if cache else None
