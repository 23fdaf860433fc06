"""Which code a registration stands for: a commit of a checkout, or the record of an installed wheel."""

import subprocess
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from equipoise_preregistration.errors import SuiteError

__all__ = ["PACKAGES", "CodeVersion", "code_version"]

PACKAGES = (
    "equipoise",
    "equipoise_budget",
    "equipoise_conditions",
    "equipoise_preregistration",
    "equipoise_reports",
    "equipoise_stats",
)
"""The packages of the distribution."""


@dataclass(frozen=True)
class CodeVersion:
    """The code, named so that other code has another name.

    Attributes:
        version: Of the distribution.
        commit: Of the checkout that the packages lie in, or None.
        dirty: Whether the packages differ from that commit.
        sources: SHA-256 over the packages' files where no commit names them; for a wheel, of its RECORD.
    """

    version: str
    commit: str | None
    dirty: bool
    sources: str | None

    def as_json(self) -> dict[str, str | bool | None]:
        """As it enters an identity."""
        return {
            "version": self.version,
            "commit": self.commit,
            "dirty": self.dirty,
            "sources": self.sources,
        }


def code_version() -> CodeVersion:
    """The version of the code that is installed here."""
    folders = _folders()
    version = _version()
    commit = _git(folders[0], "rev-parse", "HEAD") if _tracked(folders[0]) else None
    if commit is None:
        return CodeVersion(version, None, dirty=False, sources=_record() or _sources(folders))
    changes = _git(folders[0], "status", "--porcelain", "--", *map(str, folders))
    dirty = changes != ""
    return CodeVersion(version, commit, dirty, _sources(folders) if dirty else None)


def _folders() -> tuple[Path, ...]:
    found = (find_spec(name) for name in PACKAGES)
    return tuple(
        Path(spec.submodule_search_locations[0]) for spec in found if spec and spec.submodule_search_locations
    )


def _version() -> str:
    try:
        return distribution("equipoise").version
    except PackageNotFoundError:
        return "unknown"


def _record() -> str | None:
    """Hash of the wheel's RECORD, which holds the hash of each of its files; None for an editable install."""
    try:
        installed = distribution("equipoise")
    except PackageNotFoundError:
        return None
    listed = {str(path) for path in installed.files or ()}
    text = installed.read_text("RECORD")
    if text is None or "equipoise/__init__.py" not in listed:
        return None
    # Lines of the installer (scripts, direct_url.json, compiled files) differ between machines; ours do not.
    roots = tuple(f"{package}/" for package in PACKAGES)
    own = sorted(line for line in text.splitlines() if line.startswith(roots) and "__pycache__" not in line)
    return sha256("\n".join(own).encode()).hexdigest()


def _sources(folders: tuple[Path, ...]) -> str:
    total = sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                name = f"{folder.name}/{path.relative_to(folder).as_posix()}"
                total.update(f"{name}\0{sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def _tracked(folder: Path) -> bool:
    """Whether git follows the package: an environment inside somebody's checkout is not our checkout."""
    return _git(folder, "ls-files", "--error-unmatch", "__init__.py") is not None


def _git(folder: Path, *arguments: str) -> str | None:
    """What git answers, or None where there is no git, no checkout, or it refuses.

    Raises:
        SuiteError: If git was killed or did not answer in time: what it would have said decides the identity.
    """
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except subprocess.CalledProcessError as error:
        if error.returncode >= 0:
            return None
        message = (
            f"expected git to tell the version of the code, but it was killed by signal {-error.returncode}"
        )
        raise SuiteError(f"{message}; run the same command again") from error
    except subprocess.TimeoutExpired as error:
        message = (
            f"expected git to tell the version of the code in {folder} within 30 s, but it did not answer"
        )
        raise SuiteError(
            f"{message}; run the same command again, or look at what keeps the disk busy"
        ) from error
    except OSError:
        return None
    return answer.stdout.strip()
