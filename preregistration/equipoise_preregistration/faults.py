"""One fault of a suite: where it stands, what was expected, what came, and how to mend it."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

__all__ = ["Fault", "Path", "Problem", "dotted", "nearest", "render", "show"]

Path = tuple[str | int, ...]
"""Keys and indices from the top of a suite to one of its values."""


@dataclass(frozen=True)
class Problem:
    """A fault before its place in the file is known.

    Attributes:
        path: Which value it is about.
        message: What was expected and what came.
        at_key: Whether to point at the key and not at its value.
    """

    path: Path
    message: str
    at_key: bool = False


@dataclass(frozen=True)
class Fault:
    """One fault with its place.

    Attributes:
        line: Line in the file, from 1; 0 where there is none.
        column: Column in characters, from 1; 0 where there is none.
        path: The value it is about, as `conditions[1].rule`; empty for the whole file.
        message: What was expected and what came.
        source: The line of the file, without its end.
    """

    line: int
    column: int
    path: str
    message: str
    source: str = ""

    def render(self, file: str) -> str:
        """The fault as `file:line:column: path: message`, above its source line and a caret."""
        place = f"{file}:{self.line}:{self.column}" if self.line else file
        head = ": ".join(part for part in (place, self.path, self.message) if part)
        if not self.source.strip():
            return head
        margin = f"{self.line:>5} | "
        # Tabs are kept, so that the caret stands under its character however wide a tab is shown.
        before = "".join("\t" if sign == "\t" else " " for sign in self.source[: self.column - 1])
        return f"{head}\n{margin}{self.source}\n{' ' * (len(margin) - 2)}| {before}^"


def render(faults: Iterable[Fault], file: str) -> str:
    """All faults, one after the other."""
    return "\n".join(fault.render(file) for fault in faults)


def dotted(path: Path) -> str:
    """A path as users write it: `conditions[1].rule`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def nearest(word: object, known: Iterable[str]) -> str:
    """`; did you mean ...` for a word that is close to a known one, else nothing."""
    names = sorted(known)
    lowered = {name.lower(): name for name in names}
    match = get_close_matches(str(word).lower(), lowered, n=1, cutoff=0.6)
    return f"; did you mean {lowered[match[0]]!r}?" if match else ""


def show(value: object, limit: int = 60) -> str:
    """A value as it reads in YAML, cut to a length that fits a message."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list" if any(isinstance(item, dict | list | tuple) for item in value) else cut(value, limit)
    if isinstance(value, str):
        return f"the text {cut(value, limit)}"
    return cut(value, limit)


def cut(value: object, limit: int) -> str:
    """`repr` of a value, at most so many characters long."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
