"""Whether the files of the runs are those that they left, and no others lie among them."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from equipoise.scheduler.files import (
    ARTIFACTS_FILE,
    ERROR_FILE,
    LOG_FILE,
    REQUEST_FILE,
    RESULT_FILE,
    read_artifacts,
)
from equipoise.store import Artifact
from equipoise.suites.verifying_findings import UNREADABLE, Findings
from equipoise.suites.verifying_records import Job

__all__ = ["check_files", "check_strays"]

_ALWAYS = frozenset({RESULT_FILE, ERROR_FILE, LOG_FILE, ARTIFACTS_FILE, REQUEST_FILE})


def check_files(job: Job, findings: Findings) -> frozenset[str]:
    """Hold the files of a finished job to their sums; return the names of those that do not hold."""
    damaged = set()
    for name, artifact in sorted(job.stored.artifacts.items()):
        try:
            with (job.folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
                size = file.tell()
        except OSError as error:
            findings.fault(
                job.key, name, "the file that the run left", error.strerror or type(error).__name__
            )
            damaged.add(name)
            continue
        what = f"sha256 of {name}"
        if size != artifact.bytes:
            findings.fault(job.key, f"size of {name}", f"{artifact.bytes} bytes", f"{size} bytes")
        if not findings.hold("files", job.key, what, (artifact.sha256, found)):
            damaged.add(name)
    if job.result is not None:
        _check_listed(job, findings)
        for path in _files(job.folder):
            name = path.relative_to(job.folder).as_posix()
            if name not in job.stored.artifacts and name not in _ALWAYS:
                findings.fault(job.key, name, "no file that the run did not leave", "one")
    return frozenset(damaged)


def _check_listed(job: Job, findings: Findings) -> None:
    """The sums that the run itself listed beside its files are those of the database."""
    try:
        listed = read_artifacts(job.folder)
    except UNREADABLE as error:
        findings.fault(job.key, ARTIFACTS_FILE, "sums that can be read", f"{type(error).__name__}: {error}")
        return
    for name in sorted(listed.keys() | job.stored.artifacts.keys()):
        if listed.get(name) != job.stored.artifacts.get(name):
            pair = (_sum(listed.get(name)), _sum(job.stored.artifacts.get(name)))
            findings.hold("files", job.key, f"sum of {name} in the database, as in {ARTIFACTS_FILE}", pair)


def _sum(artifact: Artifact | None) -> str | None:
    return None if artifact is None else f"{artifact.sha256} of {artifact.bytes} bytes"


def check_strays(folder: Path, jobs: Iterable[Job], findings: Findings) -> None:
    """Find results in a suite's folder of files that belong to no job of it."""
    known = {job.folder for job in jobs}
    for path in _files(folder):
        if path.name == RESULT_FILE and path.parent not in known:
            key = path.parent.relative_to(folder).as_posix()
            findings.fault(key, "folder of files", "none of a run that was not registered", str(path))


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
