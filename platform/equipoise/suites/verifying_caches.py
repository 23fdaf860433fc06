"""Whether the base policies that are kept for later suites are those of the runs."""

import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from equipoise.execution.warm import recipe
from equipoise.execution.world import World
from equipoise.policies.model import stored_digest
from equipoise.suites.verifying_findings import UNREADABLE, Findings
from equipoise.suites.verifying_records import Job
from equipoise_preregistration import Registration

__all__ = ["check_caches"]


def check_caches(
    home: Path, jobs: Iterable[Job], registration: Registration, findings: Findings
) -> frozenset[str]:
    """Hold the kept base policy of each block to the block's own; return the names of the folders that were.

    A folder is named by all that decides the bits, which can be worked out under the registered code only.
    """
    if not findings.same_code:
        return frozenset()
    known = set()
    for job in jobs:
        if job.stored.kind.removeprefix("tuning_") != "base" or job.result is None:
            continue
        try:
            world = World.of(job.payload)
        except UNREADABLE:
            continue  # a payload that was changed is told elsewhere
        kernels = world.suite.execution.cpu_capability.upper()
        name = recipe(world, registration.code, kernels)
        folder = home / "cache" / "base" / name
        if folder.is_dir():
            known.add(name)
            _check(folder, name, job, findings)
    return frozenset(known)


def _check(folder: Path, name: str, job: Job, findings: Findings) -> None:
    assert job.result is not None
    where = f"cache/base/{name[:8]}"
    told = findings.read(where, folder / "cloning.json", _read)
    raw = findings.read(where, folder / "base.safetensors", Path.read_bytes)
    weights = findings.read(where, folder / "base.safetensors", stored_digest, told=True)
    if told is None or raw is None:
        return
    found = sha256(raw).hexdigest()
    findings.hold("caches", where, "sum of base.safetensors", (told.get("file"), found))
    expected = job.result["digests"]["weights"]
    findings.hold("caches", where, f"weights, as those of {job.key}", (expected, weights))
    cloned = {key: told.get(key) for key in ("steps", "probes")}
    findings.hold("caches", where, f"cloning, as that of {job.key}", (job.result["cloning"], cloned))


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))
