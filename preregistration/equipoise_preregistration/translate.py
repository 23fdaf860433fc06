"""Turns the errors of the validator into the words of a suite: expected, got, nearest name."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from equipoise_preregistration.faults import Path, Problem, nearest, show
from equipoise_preregistration.suite import Suite

__all__ = ["translate"]

_TYPES = {
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "model_type": "a mapping",
    "dict_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
    "finite_number": "a finite number",
    "invalid-json-value": "text, a number, true, false, a list or a mapping",
}
"""What a value of the wrong type should have been."""

_BOUNDS = {
    "greater_than": ("a number above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("a number below", "lt"),
    "less_than_equal": ("at most", "le"),
}
"""Bounds, and where the validator keeps the number."""


def translate(error: ValidationError, data: Mapping[str, Any]) -> Iterator[Problem]:
    """The problems behind a validation error of a suite.

    Args:
        error: What the validator raised for `data`.
        data: The plain data of the file.
    """
    for detail in error.errors(include_url=False):
        path, kind = _existing(detail["loc"], data), detail["type"]
        got = detail["input"]
        context: Mapping[str, Any] = detail.get("ctx", {})
        if kind == "missing" and isinstance(detail["loc"][-1], int):
            if detail["loc"][-1] == _entries(got):
                yield _too_few(path, got, error, detail["loc"])
        elif kind == "missing":
            # A missing key has no place: its parent's key is pointed at.
            yield Problem(detail["loc"], f"expected this key, got none; {_how(detail['loc'])}", at_key=True)
        elif kind == "extra_forbidden":
            yield _unknown(path)
        elif kind == "value_error" and path:
            yield Problem(path, str(context["error"]))
        elif not (kind == "value_error" or (kind == "too_short" and got)):
            message = f"expected {_expected(kind, context, detail['msg'])}, got {show(got)}"
            yield Problem(path, message + _near(kind, context, got))


def _expected(kind: str, context: Mapping[str, Any], message: str) -> str:
    if kind in _TYPES:
        return _TYPES[kind]
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return f"{words} {context[key]}"
    if kind == "literal_error":
        return f"one of {context['expected']}"
    if kind == "string_pattern_mismatch":
        return "a name of at most 48 letters, digits, - and _ that begins with a letter"
    if kind in {"missing_argument", "too_short"}:
        return f"at least {context.get('min_length', 1)} of them"
    if kind == "too_long":
        return f"at most {context.get('max_length')} of them"
    return f"something else ({message})"


def _near(kind: str, context: Mapping[str, Any], got: object) -> str:
    if kind != "literal_error" or not isinstance(got, str):
        return ""
    return nearest(
        got, [word.strip("' ") for word in str(context["expected"]).replace(" or ", ",").split(",")]
    )


def _entries(got: object) -> int:
    return len(got) if isinstance(got, list | tuple) else 0


def _too_few(path: Path, got: object, error: ValidationError, place: tuple[int | str, ...]) -> Problem:
    """A list of a fixed length that ends too early; the validator says so once for each entry that lacks."""
    lacking = sum(
        other["type"] == "missing" and other["loc"][:-1] == place[:-1] and isinstance(other["loc"][-1], int)
        for other in error.errors(include_url=False)
    )
    count = _entries(got) + lacking
    example = [*got, *["..."] * lacking] if isinstance(got, list | tuple) else ["..."] * count
    written = ", ".join(map(str, example))
    return Problem(path, f"expected {count} entries, got {show(got)}; write `{path[-1]}: [{written}]`")


def _existing(location: tuple[int | str, ...], data: Any) -> Path:
    """The part of the validator's location that the file has; the rest names its own branches."""
    path: list[int | str] = []
    for part in location:
        if not _has(data, part):
            break
        data = data[part]
        path.append(part)
    return tuple(path)


def _has(data: Any, part: int | str) -> bool:
    if isinstance(data, Mapping):
        return part in data
    return isinstance(data, list) and isinstance(part, int) and part < len(data)


def _unknown(path: Path) -> Problem:
    known = _keys(path[:-1])
    message = f"expected one of {', '.join(known)}, got the unknown key {path[-1]!r}"
    return Problem(path, message + nearest(path[-1], known), at_key=True)


def _how(location: tuple[int | str, ...]) -> str:
    key = location[-1]
    where = f"under {location[-2]!r}" if len(location) > 1 and isinstance(location[-2], str) else "here"
    return f"write `{key}: ...` {where if len(location) > 1 else 'at the top'}"


def _keys(path: Path) -> tuple[str, ...]:
    """The known keys of the section at a path."""
    section: type[BaseModel] = Suite
    for part in path:
        if isinstance(part, str) and part in section.model_fields:
            section = _section(section.model_fields[part].annotation) or section
    return tuple(section.model_fields)


def _section(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _section(part))), None)
