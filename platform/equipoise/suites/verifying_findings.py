"""What a verification found: faults, how much was compared, and what could not be."""

import math
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["UNREADABLE", "Fault", "Findings", "agree"]

Read = TypeVar("Read")

UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    EOFError,
    NotImplementedError,  # zipfile's, for a way of packing that it does not know
    RuntimeError,
    MemoryError,
    AssertionError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
)
"""What reading a file or a row may raise that was cut or overwritten."""

_SHOWN = 400


@dataclass(frozen=True)
class Fault:
    """One thing that is not what it must be.

    Attributes:
        where: run or file.
        what: which number or thing of it.
        expected: what it must be.
        found: what it is.
    """

    where: str
    what: str
    expected: str
    found: str

    @property
    def sentence(self) -> str:
        """The fault for a person."""
        return f"{self.where}: {self.what}: expected {self.expected}, found {self.found}"


@dataclass
class Findings:
    """Collects what the checks of one suite come to.

    Attributes:
        same_code: whether code, libraries and processor are those of the registration; where they are not, a plan
            that is worked out again may rightly differ.
        faults: in the order in which they were found.
        compared: how many comparisons were made, by their kind.
        skipped: what could not be compared, by the reason.
        notes: what a reader should know and is no fault.
        beside: what rules and their twins may differ in, by condition, in the order of the blocks.
    """

    same_code: bool = True
    faults: list[Fault] = field(default_factory=list)
    compared: Counter[str] = field(default_factory=Counter)
    skipped: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    beside: dict[str, list[str]] = field(default_factory=dict)

    def fault(self, where: str, what: str, expected: object, found: object) -> None:
        """Note a fault."""
        self.faults.append(Fault(where, what, _shown(expected), _shown(found)))

    def skip(self, why: str, where: str) -> None:
        """Note what was not compared."""
        self.skipped.setdefault(why, []).append(where)

    def hold(
        self, kind: str, where: str, what: str, pair: tuple[object, object], *, rel: float = 0.0
    ) -> bool:
        """Compare what is expected with what was found; return whether they agree."""
        self.compared[kind] += 1
        if agree(*pair, rel=rel):
            return True
        self.fault(where, what, *pair)
        return False

    def hold_again(
        self, kind: str, where: str, what: str, pair: tuple[object, object], *, rel: float = 0.0
    ) -> bool:
        """Likewise for what was worked out again, which other code may work out differently without any fault."""
        if self.same_code or agree(*pair, rel=rel):
            return self.hold(kind, where, what, pair, rel=rel)
        self.skip(f"{kind}: what this code works out is not what the registered code did", where)
        return False

    def read(
        self, where: str, path: Path, load: Callable[[Path], Read], *, told: bool = False
    ) -> Read | None:
        """Read a file; None where it is missing or broken, which is a fault unless it was told already."""
        try:
            return load(path)
        except UNREADABLE as error:
            if not told:
                text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
                self.fault(where, path.name, "a file that can be read", text)
            return None


def agree(expected: object, found: object, *, rel: float = 0.0) -> bool:
    """Whether two values of JSON are equal; numbers up to a relative difference, undefined only to undefined."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and _all(((expected[k], found[k]) for k in expected), rel)
    if isinstance(expected, list | tuple) and isinstance(found, list | tuple):
        return len(expected) == len(found) and _all(zip(expected, found, strict=True), rel)
    if _is_number(expected) and _is_number(found):
        if rel and (isinstance(expected, float) or isinstance(found, float)):
            return math.isclose(expected, found, rel_tol=rel, abs_tol=1e-12)  # type: ignore[arg-type]
        return expected == found or (expected != expected and found != found)  # NaN is NaN here
    return type(expected) is type(found) and expected == found


def _all(pairs: Iterable[tuple[Any, Any]], rel: float) -> bool:
    return all(agree(a, b, rel=rel) for a, b in pairs)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: object) -> str:
    if isinstance(value, str):
        text = value
    elif isinstance(value, float):
        text = repr(value)
    else:
        text = "nothing" if value is None else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."
