"""Registering a suite, and finding it again: append-only, under a lock, flushed to the disk."""

import errno
import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from equipoise_preregistration.amendment import Amendment, draft_amendment
from equipoise_preregistration.chain import FILE, chain_line, read_chain
from equipoise_preregistration.errors import NotRegisteredError
from equipoise_preregistration.loading import LoadedSuite
from equipoise_preregistration.registration import (
    Registration,
    Surroundings,
    freeze,
    identity,
    surroundings,
)
from equipoise_preregistration.suite import Suite

__all__ = ["amend", "amendments", "find_registration", "register", "registered_copy", "registrations"]


def register(
    loaded: LoadedSuite,
    home: Path,
    *,
    around: Surroundings | None = None,
    now: datetime | None = None,
) -> Registration:
    """Freezes a suite. The same suite under the same code is registered once: the first one is returned.

    Args:
        loaded: The suite and the bytes of its file.
        home: Folder of the project; it must exist.
        around: What besides the suite decides its numbers; by default what this process has.
        now: The time; by default that of the clock.

    Raises:
        ChainError: If the chain of the folder does not hold.
        OSError: If the folder cannot be written.
    """
    around = around or surroundings()
    wanted = identity(loaded.suite, around)
    with _locked(home):
        chain = read_chain(home)
        for known in chain.registrations:
            if known.hash == wanted:
                return known
        raw_sha256 = sha256(loaded.raw).hexdigest()
        registration = freeze(loaded.suite, around, raw_sha256, now or datetime.now(UTC), chain.head)
        # The copy first: a crash between the two leaves a copy too many, never a line without its copy.
        _keep_copy(registered_copy(home, registration), loaded.raw)
        _append(home / FILE, chain_line(registration))
    return registration


def amend(
    home: Path, registration: str, reason: str, content: Mapping[str, Any], *, now: datetime | None = None
) -> Amendment:
    """Adds to a registration what was not known when it was made. Saying the same again changes nothing.

    Args:
        home: Folder of the project.
        registration: Its full hash.
        reason: Why, in a sentence.
        content: What is added, by topic; JSON.
        now: The time; by default that of the clock.

    Raises:
        NotRegisteredError: If there is no such registration.
        ChainError: If the chain of the folder does not hold.
        OSError: If the folder cannot be written.
    """
    with _locked(home):
        chain = read_chain(home)
        if registration not in {known.hash for known in chain.registrations}:
            message = (
                f"expected a registration of {home} to amend, got {registration}, which it does not have"
            )
            raise NotRegisteredError(message)
        for known in chain.amendments:
            if known.registration == registration and known.says(reason, content):
                return known
        made = draft_amendment(registration, reason, content, now or datetime.now(UTC), chain.head)
        _append(home / FILE, chain_line(made))
    return made


def amendments(home: Path, registration: str) -> tuple[Amendment, ...]:
    """What was added to a registration, oldest first.

    Args:
        home: Folder of the project.
        registration: Its full hash.

    Raises:
        ChainError: If the chain does not hold.
    """
    return tuple(item for item in read_chain(home).amendments if item.registration == registration)


def registrations(home: Path) -> tuple[Registration, ...]:
    """All registrations of a folder, oldest first.

    Raises:
        ChainError: If the chain does not hold.
    """
    return read_chain(home).registrations


def find_registration(
    home: Path, wanted: str | Suite, *, around: Surroundings | None = None
) -> Registration | None:
    """A registration by its hash, the beginning of its hash (six digits or more), its name, or its suite.

    Args:
        home: Folder of the project.
        wanted: A hash, with or without `eq1:`; a name, of which the newest registration is taken; or a
            suite, which is found only as it is under the present code.
        around: For a suite, what besides it decides its numbers; by default what this process has.

    Raises:
        ChainError: If the chain does not hold.
    """
    known = registrations(home)
    if isinstance(wanted, Suite):
        exact = identity(wanted, around or surroundings())
        return next((item for item in known if item.hash == exact), None)
    digits = wanted.removeprefix("eq1:")
    if len(digits) >= _FEWEST_DIGITS:
        for item in known:
            if item.hash.removeprefix("eq1:").startswith(digits):
                return item
    return next((item for item in reversed(known) if item.name == wanted), None)


_FEWEST_DIGITS = 6


def registered_copy(home: Path, registration: Registration) -> Path:
    """Where the YAML of a registration is kept, as it was written."""
    return home / "registered" / f"{registration.hash8}.yaml"


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Holds the folder's lock; it ends with the process, however that ends."""
    with (home / "registrations.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _append(file: Path, line: bytes) -> None:
    """Adds a line, or leaves the file as it was: half a line would break the chain for good."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        before = os.fstat(descriptor).st_size
        if os.write(descriptor, line) != len(line):
            os.ftruncate(descriptor, before)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _keep_copy(copy: Path, raw: bytes) -> None:
    copy.parent.mkdir(exist_ok=True)
    draft = copy.with_suffix(".part")
    with draft.open("wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
    draft.chmod(0o444)
    draft.replace(copy)
