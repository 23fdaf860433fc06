"""A YAML file read with its places: plain data to validate, and where each key and value stands."""

from dataclasses import dataclass
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from equipoise_preregistration.errors import SuiteError
from equipoise_preregistration.faults import Fault, Path, Problem, dotted, show

__all__ = ["Document", "read"]

_MOST_VALUES = 100_000
"""Far above any suite; aliases of aliases can make a small file larger than memory."""

_WITH_VALUE = 4
"""The reader keeps four numbers for a key and its value, two for the item of a list."""


@dataclass(frozen=True)
class Document:
    """One mapping out of a YAML file.

    Attributes:
        data: Dictionaries, lists and scalars of Python's own types.
        file: Name of the file as the user wrote it.
        lines: Its lines.
        tree: What the reader made of it, with the places.
        problems: What the reader let through and a suite does not; it is missing in `data`.
    """

    data: dict[str, Any]
    file: str
    lines: tuple[str, ...]
    tree: CommentedMap
    problems: tuple[Problem, ...] = ()

    def fault(self, problem: Problem) -> Fault:
        """The problem with its place in the file."""
        line, column = self._place(problem.path, at_key=problem.at_key)
        return Fault(line + 1, column + 1, dotted(problem.path), problem.message, _line(self.lines, line))

    def error(self, problems: tuple[Problem, ...]) -> SuiteError:
        """All problems as one error, in the order of the file."""
        faults = sorted(
            {self.fault(problem) for problem in problems},
            key=lambda fault: (fault.line, fault.column, fault.path, fault.message),
        )
        return SuiteError(tuple(faults), self.file)

    def _place(self, path: Path, *, at_key: bool) -> tuple[int, int]:
        """Line and column, from 0, of the deepest part of the path that the file has."""
        node: Any = self.tree
        place = (0, 0)
        for depth, part in enumerate(path):
            known = getattr(getattr(node, "lc", None), "data", None) or {}
            # Keys that came in by a merge (`<<: *anchor`) have no place of their own: the parent's serves.
            if part not in known:
                break
            last, inner, places = depth == len(path) - 1, node[part], known[part]
            # Nothing at all (`environment:`) stands nowhere, or on the line below.
            key = (at_key and last) or inner is None or len(places) < _WITH_VALUE
            place = (places[0], places[1]) if key else (places[2], places[3])
            node = inner
        return place


def read(raw: bytes, file: str) -> Document:
    """Reads the bytes of a YAML 1.2 file whose top is a mapping.

    Args:
        raw: The file.
        file: Its name, for messages.

    Raises:
        SuiteError: If it is not UTF-8, not YAML, has a key twice, is empty or is not a mapping.
    """
    text = _decode(raw, file)
    lines = tuple(text.splitlines())
    tree = _parse(text, lines, file)
    if tree is None:
        message = "expected a mapping of keys (name, conditions, budget, ...), got an empty file"
        raise SuiteError((Fault(1, 1, "", message, _line(lines, 0)),), file)
    if not isinstance(tree, CommentedMap):
        kind = "a list" if isinstance(tree, CommentedSeq) else "a single value"
        message = f"expected a mapping of keys (name, conditions, budget, ...), got {kind}"
        raise SuiteError((Fault(1, 1, "", message, _line(lines, 0)),), file)
    plain = _Plain(file)
    return Document(plain.of(tree), file, lines, tree, tuple(plain.problems))


def _decode(raw: bytes, file: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", errors="replace").splitlines(keepends=True) or [""]
        line = len(before) + before[-1].endswith("\n")
        column = 1 if before[-1].endswith("\n") else len(before[-1]) + 1
        message = f"expected UTF-8 text, got the byte 0x{raw[error.start]:02x}; save the file as UTF-8"
        raise SuiteError((Fault(line, column, "", message),), file) from None


def _parse(text: str, lines: tuple[str, ...], file: str) -> object:
    yaml = YAML(typ="rt")
    yaml.allow_duplicate_keys = False
    try:
        return yaml.load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line, mark.column) if mark else (0, 0)
        what = ", ".join(str(part).strip() for part in (error.context, error.problem) if part)
        message = f"expected YAML 1.2, got: {what}"
        fault = Fault(line + 1, column + 1, "", message, _line(lines, line))
    except ReaderError as error:
        before = text[: error.position].splitlines() or [""]
        message = f"expected text, got the control character {error.character!r}; remove it"
        fault = Fault(len(before), len(before[-1]) + 1, "", message, _line(lines, len(before) - 1))
    except YAMLError as error:
        fault = Fault(1, 1, "", f"expected YAML 1.2, got: {error}", _line(lines, 0))
    except (RecursionError, ValueError) as error:
        # The reader's own converters let these through (nesting without end, a date such as 2026-13-01).
        fault = Fault(1, 1, "", f"expected YAML 1.2, got: {error}", _line(lines, 0))
    raise SuiteError((fault,), file)


def _line(lines: tuple[str, ...], index: int) -> str:
    return lines[index] if 0 <= index < len(lines) else ""


class _Plain:
    """Turns what the reader made into Python's own types; refuses values that contain themselves.

    Attributes:
        problems: Keys that are not text; they are left out.
    """

    def __init__(self, file: str) -> None:
        self.problems: list[Problem] = []
        self._file = file
        self._open: set[int] = set()
        self._count = 0

    def of(self, node: Any, path: tuple[Any, ...] = ()) -> Any:
        """The plain value of a node."""
        self._count += 1
        if self._count > _MOST_VALUES:
            self._refuse(node, f"expected at most {_MOST_VALUES} values, got more; are aliases nested?")
        if not isinstance(node, dict | list):
            return _scalar(node)
        if id(node) in self._open:
            self._refuse(node, "expected values that end, got one that contains itself; remove the alias")
        self._open.add(id(node))
        plain: Any
        if isinstance(node, dict):
            plain = self._mapping(node, path)
        else:
            plain = [self.of(item, (*path, index)) for index, item in enumerate(node)]
        self._open.discard(id(node))
        return plain

    def _mapping(self, node: dict[Any, Any], path: tuple[Any, ...]) -> dict[str, Any]:
        plain = {}
        for key, value in node.items():
            inner = (*path, key)
            if isinstance(key, str):
                plain[str(key)] = self.of(value, inner)
            else:
                message = f"expected keys that are text, got {show(_scalar(key))}; quote it"
                self.problems.append(Problem(inner, message, at_key=True))
        return plain

    def _refuse(self, node: Any, message: str) -> NoReturn:
        place = getattr(node, "lc", None)
        line, column = (place.line, place.col) if place is not None else (0, 0)
        raise SuiteError((Fault(line + 1, column + 1, "", message),), self._file)


def _scalar(value: Any) -> Any:
    """The reader's scalars are subclasses that remember how they were written; the value alone remains."""
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if type(value).__name__ == "ScalarBoolean":
        return bool(value)
    return value
