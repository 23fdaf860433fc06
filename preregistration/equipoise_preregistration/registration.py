"""A registration: a suite frozen together with all that decides its numbers, and when that happened."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from equipoise_preregistration.canon import VERSION, canonical, digest
from equipoise_preregistration.code import CodeVersion, code_version
from equipoise_preregistration.errors import SuiteError
from equipoise_preregistration.lock import dependency_lock
from equipoise_preregistration.points import Point, draw_points, tuning_seeds
from equipoise_preregistration.seeds import derive_seed
from equipoise_preregistration.suite import Suite

__all__ = ["Registration", "Surroundings", "identity", "surroundings"]


@dataclass(frozen=True)
class Surroundings:
    """What besides the suite decides its numbers.

    Attributes:
        code: Version of equipoise.
        lock: `name==version` of its libraries.
        python: Version of Python.
        machine: Architecture of the processor.
    """

    code: CodeVersion
    lock: tuple[str, ...]
    python: str
    machine: str


def surroundings() -> Surroundings:
    """Those of this process."""
    return Surroundings(code_version(), dependency_lock(), platform.python_version(), platform.machine())


@dataclass(frozen=True)
class Registration:
    """One frozen suite.

    Attributes:
        hash: Identity of suite, code, libraries and processor, as `eq1:` and 64 hexadecimal digits; neither
            the time nor the folder enters it.
        name: Of the suite.
        suite: The suite in canonical JSON, every default written out.
        code: Version of equipoise.
        lock: `name==version` of its libraries.
        python: Version of Python.
        machine: Architecture of the processor.
        seeds: The root seed and that of each block, by name.
        raw_sha256: Of the file that was registered, comments included.
        registered_at: When, in UTC.
        previous: Entry hash of the line before in the chain.
        points: Of the search for hyper-parameters, drawn here once for all conditions; empty without a search.
    """

    hash: str
    name: str
    suite: str
    code: CodeVersion
    lock: tuple[str, ...]
    python: str
    machine: str
    seeds: Mapping[str, int]
    raw_sha256: str
    registered_at: datetime
    previous: str
    points: tuple[Point, ...] = ()

    @property
    def hash8(self) -> str:
        """The first eight digits: short enough for folders and run names."""
        return self.hash.removeprefix(VERSION)[:8]

    @property
    def model(self) -> Suite:
        """The registered suite, read back."""
        return Suite.model_validate_json(self.suite)

    def as_json(self) -> dict[str, Any]:
        """As it stands in the chain."""
        return {
            "hash": self.hash,
            "name": self.name,
            "suite": self.suite,
            "code": self.code.as_json(),
            "lock": list(self.lock),
            "python": self.python,
            "machine": self.machine,
            "seeds": dict(self.seeds),
            "raw_sha256": self.raw_sha256,
            "registered_at": self.registered_at.isoformat().replace("+00:00", "Z"),
            **({"points": [dict(point) for point in self.points]} if self.points else {}),
        }


def identity(suite: Suite, around: Surroundings) -> str:
    """The hash of a registration: the same for the same suite, code, libraries and processor."""
    return identity_of(canonical(suite).decode(), around)


def identity_of(suite: str, around: Surroundings) -> str:
    """The hash from the canonical JSON of a suite."""
    return digest(
        {
            "suite": suite,
            "code": around.code.as_json(),
            "lock": list(around.lock),
            "python": around.python,
            "machine": around.machine,
        }
    )


def freeze(suite: Suite, around: Surroundings, raw_sha256: str, now: datetime, previous: str) -> Registration:
    """A registration of the suite.

    Raises:
        SuiteError: If the time does not say its zone.
    """
    if now.tzinfo is None:
        message = f"expected a time with its zone, got {now.isoformat()} without; pass datetime.now(UTC)"
        raise SuiteError(message)
    return Registration(
        hash=identity(suite, around),
        name=suite.name,
        suite=canonical(suite).decode(),
        code=around.code,
        lock=around.lock,
        python=around.python,
        machine=around.machine,
        seeds=_seeds(suite),
        raw_sha256=raw_sha256,
        registered_at=now.astimezone(UTC),
        previous=previous,
        points=draw_points(suite.tuning, suite.seed),
    )


def thaw(entry: Mapping[str, Any], previous: str) -> Registration:
    """A registration out of its line in the chain.

    Raises:
        KeyError, TypeError, ValueError: If the line is not that of a registration.
    """
    return Registration(
        hash=str(entry["hash"]),
        name=str(entry["name"]),
        suite=str(entry["suite"]),
        code=CodeVersion(**entry["code"]),
        lock=tuple(entry["lock"]),
        python=str(entry["python"]),
        machine=str(entry["machine"]),
        seeds=dict(entry["seeds"]),
        raw_sha256=str(entry["raw_sha256"]),
        registered_at=datetime.fromisoformat(entry["registered_at"]),
        previous=previous,
        points=tuple(dict(point) for point in entry.get("points", ())),
    )


def _seeds(suite: Suite) -> dict[str, int]:
    blocks = {f"block/{block}": derive_seed(suite.seed, "block", block) for block in range(suite.blocks)}
    return {"root": suite.seed, **blocks, **tuning_seeds(suite.tuning, suite.seed)}
