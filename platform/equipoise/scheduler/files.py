"""The files between a worker and its children: one folder a job, written whole or not at all."""

import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from equipoise.errors import StoreError
from equipoise.store.records import Artifact

__all__ = [
    "ERROR_FILE",
    "LOG_FILE",
    "RESULT_FILE",
    "damage",
    "empty_folder",
    "read_outcome",
    "work_folder",
    "write_atomically",
    "write_error",
    "write_result",
]

RESULT_FILE: Final = "result.json"
ERROR_FILE: Final = "error.json"
LOG_FILE: Final = "log.txt"
ARTIFACTS_FILE: Final = "artifacts.json"
REQUEST_FILE: Final = "request.json"
_NOT_ARTIFACTS: Final = frozenset({RESULT_FILE, ERROR_FILE, LOG_FILE, ARTIFACTS_FILE, REQUEST_FILE})


def work_folder(home: Path, suite: str, key: str) -> Path:
    """Folder of a job: `work/<first 8 of the hash>/<key>` in the project folder."""
    return home / "work" / suite.rpartition(":")[2][:8] / key


def empty_folder(folder: Path) -> None:
    """Make a job's folder, without anything that an earlier attempt left."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that readers find all of it or none, even after a power loss."""
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def write_result(folder: Path, result: Mapping[str, Any]) -> None:
    """Write a result with the sums of all files beside it; its own file comes last: then all is there.

    Numbers that are not finite (a diverged loss) become null, arrays and scalars of numpy lists and numbers.
    """
    text = json.dumps(_plain(result), allow_nan=False, ensure_ascii=False)
    sums = {name: _sum(path) for name, path in _artifacts(folder)}
    sums[RESULT_FILE] = Artifact(hashlib.sha256(text.encode()).hexdigest(), len(text.encode()))
    listed = {name: {"sha256": artifact.sha256, "bytes": artifact.bytes} for name, artifact in sums.items()}
    write_atomically(folder / ARTIFACTS_FILE, json.dumps(listed))
    write_atomically(folder / RESULT_FILE, text)


def write_error(folder: Path, error: BaseException, trace: str) -> None:
    """Write what was raised."""
    content = {"type": type(error).__name__, "message": str(error), "traceback": trace}
    write_atomically(folder / ERROR_FILE, json.dumps(content))


def read_outcome(folder: Path, name: str) -> dict[str, Any] | None:
    """Read a child's result or error; None if there is none that is whole."""
    try:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def read_artifacts(folder: Path) -> dict[str, Artifact]:
    """Read the sums that `write_result` wrote."""
    listed = read_outcome(folder, ARTIFACTS_FILE) or {}
    return {name: Artifact(row["sha256"], row["bytes"]) for name, row in listed.items()}


def damage(
    folder: Path, recorded: Mapping[str, Artifact], known: dict[Path, tuple[int, int, str]]
) -> str | None:
    """Say what is wrong with the files of a finished job, or None.

    Args:
        folder: the job's folder.
        recorded: the sums in the store.
        known: sums taken before, by path with size and time of change, so that each file is read once.
    """
    for name, artifact in recorded.items():
        path = folder / name
        if not path.is_file():
            return f"{path} is missing"
        status = path.stat()
        size, changed, found = known.get(path, (-1, -1, ""))
        if (size, changed) != (status.st_size, status.st_mtime_ns):
            found = _sum(path).sha256
            known[path] = (status.st_size, status.st_mtime_ns, found)
        if found != artifact.sha256:
            return f"{path} is damaged: expected sha256 {artifact.sha256}, came {found}"
    return None


def _artifacts(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not path.is_symlink() and name not in _NOT_ARTIFACTS:
            yield name, path


def _sum(path: Path) -> Artifact:
    with path.open("rb") as file:
        return Artifact(hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    message = f"a result may hold JSON and numpy values, came {type(value).__name__}: {value!r}"
    raise StoreError(message)
