"""The chain of registrations and their amendments: one line each, and each holds the hash of the one before."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from equipoise_preregistration.amendment import KIND, Amendment, thaw_amendment
from equipoise_preregistration.canon import canonical_json
from equipoise_preregistration.errors import ChainError
from equipoise_preregistration.registration import Registration, Surroundings, identity_of, thaw

__all__ = ["FILE", "GENESIS", "Break", "ChainReport", "chain_line", "read_chain", "verify_chain"]

FILE = "registrations.jsonl"
"""Name of the chain in a project's folder."""

GENESIS = "0" * 64
"""What the first line names as the line before."""


@dataclass(frozen=True)
class Break:
    """The first line that does not hold.

    Attributes:
        line: From 1.
        reason: What was expected and what stands there.
    """

    line: int
    reason: str


@dataclass(frozen=True)
class ChainReport:
    """What a check of the chain found.

    Attributes:
        registrations: Those before the first broken line.
        amendments: Likewise.
        head: Entry hash of the last of them; to be kept elsewhere by those who fear a cut tail.
        broken: The first broken line, or None.
    """

    registrations: tuple[Registration, ...]
    head: str
    broken: Break | None
    amendments: tuple[Amendment, ...] = ()


def entry_hash(previous: str, entry: dict[str, Any]) -> str:
    """Hash of a line: SHA-256 over the hash of the line before and the entry's canonical form."""
    return sha256(previous.encode() + canonical_json(entry)).hexdigest()


def chain_line(item: Registration | Amendment) -> bytes:
    """The line of a registration or an amendment, end of line included."""
    entry = item.as_json()
    line = {"entry": entry, "previous": item.previous, "entry_hash": entry_hash(item.previous, entry)}
    return canonical_json(line) + b"\n"


def verify_chain(path: Path) -> ChainReport:
    """Checks every line of a chain, and the read-only copies of the suites beside it.

    Args:
        path: `registrations.jsonl`, or the folder it lies in; a chain that does not exist yet is whole.
    """
    file = path / FILE if path.is_dir() else path
    found: list[Registration] = []
    amendments: list[Amendment] = []
    head, fault = GENESIS, None
    try:
        for item, head_now in _lines(file):
            if isinstance(item, Amendment):
                amendments.append(item)
            else:
                _check_copy(item, file.parent, len(found) + len(amendments) + 1)
                found.append(item)
            head = head_now
    except _BrokenLine as broken:
        fault = Break(broken.line, str(broken))
    return ChainReport(tuple(found), head, fault, tuple(amendments))


def read_chain(home: Path) -> ChainReport:
    """The chain of a project's folder, for those who go on to use it.

    Raises:
        ChainError: If it does not hold.
    """
    report = verify_chain(home / FILE)
    if report.broken is not None:
        message = (
            f"{home / FILE}:{report.broken.line}: {report.broken.reason}; "
            "restore the file from a copy, or start a new folder with --home"
        )
        raise ChainError(message)
    return report


class _BrokenLine(Exception):  # noqa: N818 - never leaves this module
    """A line that does not hold."""

    def __init__(self, line: int, reason: str) -> None:
        self.line = line
        super().__init__(reason)


def _lines(file: Path) -> Iterator[tuple[Registration | Amendment, str]]:
    """Each line's content with its entry hash, each line checked against those before."""
    raw = file.read_bytes() if file.exists() else b""
    head, hashes = GENESIS, set[str]()
    for number, line in enumerate(raw.splitlines(keepends=True), start=1):
        item, head = _line(line, number, head)
        if isinstance(item, Amendment):
            _expect_amended(item, hashes, number)
        elif item.hash in hashes:
            message = f"expected each suite once, got {item.hash} a second time"
            raise _BrokenLine(number, message)
        else:
            hashes.add(item.hash)
        yield item, head


def _expect_amended(amendment: Amendment, hashes: set[str], number: int) -> None:
    if amendment.registration not in hashes:
        message = f"expected an amendment of a registration before it, got one of {amendment.registration}"
        raise _BrokenLine(number, message)


def _line(line: bytes, number: int, head: str) -> tuple[Registration | Amendment, str]:
    if not line.endswith(b"\n"):
        raise _BrokenLine(number, "expected a whole line, got one without its end: it was cut")
    try:
        record = json.loads(line)
        entry, previous, claimed = record["entry"], record["previous"], record["entry_hash"]
        item = thaw_amendment(entry, previous) if entry.get("kind") == KIND else thaw(entry, previous)
        actual = entry_hash(previous, entry)
        own = "" if isinstance(item, Amendment) else _identity(item)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"expected a registration, got something else ({type(error).__name__}: {error})"
        raise _BrokenLine(number, message) from error
    if previous != head:
        message = f"expected the hash {head[:12]} of the line before, got {str(previous)[:12]}"
        raise _BrokenLine(number, f"{message}: a line was removed, added or moved")
    if claimed != actual:
        message = f"expected the entry hash {actual[:12]}, got {str(claimed)[:12]}: the line was changed"
        raise _BrokenLine(number, message)
    if isinstance(item, Registration) and item.hash != own:
        message = f"expected the registration hash {own[:12]}, got {item.hash[:12]}"
        raise _BrokenLine(number, f"{message}: it is not that of the suite beside it")
    return item, actual


def _identity(registration: Registration) -> str:
    around = Surroundings(registration.code, registration.lock, registration.python, registration.machine)
    return identity_of(registration.suite, around)


def _check_copy(registration: Registration, home: Path, line: int) -> None:
    """The copy of the YAML is what was registered."""
    copy = home / "registered" / f"{registration.hash8}.yaml"
    if not copy.exists():
        raise _BrokenLine(line, f"expected the copy {copy}, got no such file")
    actual = sha256(copy.read_bytes()).hexdigest()
    if actual != registration.raw_sha256:
        message = (
            f"expected the copy {copy} to have SHA-256 {registration.raw_sha256[:12]}, got {actual[:12]}"
        )
        raise _BrokenLine(line, f"{message}: it was changed")
