"""Frozen records as canonical JSON and back, with every type checked on the way in."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

from equipoise_stats.errors import StatsError

T = TypeVar("T")


def to_text(record: object) -> str:
    """A record as JSON with sorted keys and no blanks; NaN and infinity are refused by the encoder."""
    return json.dumps(
        encode(record), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def encode(value: object) -> object:
    """A record as plain dicts, lists, strings and numbers."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    return value


def from_text(kind: type[T], text: str) -> T:
    """The record of a kind that ``to_text`` wrote.

    Raises:
        StatsError: where the text does not fit the kind, with the path to the first misfit.
    """
    try:
        plain = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"expected the JSON of {kind.__name__}: {error}"
        raise StatsError(message) from error
    return typing.cast(T, decode(kind, plain, kind.__name__))


def decode(kind: Any, plain: Any, where: str) -> Any:
    """Plain JSON data as a value of a declared type; ``where`` names the place for the error."""
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return _optional(kind, plain, where)
    if origin is tuple:
        return _tuple(typing.get_args(kind), _expect(list, plain, where), where)
    if origin is not None and issubclass(origin, Mapping):
        item = typing.get_args(kind)[1]
        return {
            key: decode(item, value, f"{where}.{key}") for key, value in _expect(dict, plain, where).items()
        }
    if dataclasses.is_dataclass(kind):
        return _record(typing.cast("type[Any]", kind), _expect(dict, plain, where), where)
    if issubclass(kind, StrEnum):
        if plain not in list(kind):
            message = f"{where}: expected one of {', '.join(kind)}, got {plain!r}"
            raise StatsError(message)
        return kind(plain)
    if kind is float and type(plain) is int:
        return float(plain)
    return _expect(kind, plain, where)


def _expect(kind: type[T], plain: Any, where: str) -> T:
    # bool is an int to isinstance, but never where a count is declared
    if not isinstance(plain, kind) or (isinstance(plain, bool) and kind is not bool):
        message = f"{where}: expected {kind.__name__}, got {type(plain).__name__}"
        raise StatsError(message)
    return plain


def _optional(kind: Any, plain: Any, where: str) -> Any:
    members = [member for member in typing.get_args(kind) if member is not type(None)]
    return None if plain is None else decode(members[0], plain, where)


def _tuple(items: tuple[Any, ...], plain: list[Any], where: str) -> tuple[Any, ...]:
    if items[-1] is Ellipsis:
        return tuple(decode(items[0], value, f"{where}[{i}]") for i, value in enumerate(plain))
    if len(items) != len(plain):
        message = f"{where}: expected {len(items)} items, got {len(plain)}"
        raise StatsError(message)
    return tuple(
        decode(item, value, f"{where}[{i}]") for i, (item, value) in enumerate(zip(items, plain, strict=True))
    )


def _record(kind: type[Any], plain: dict[str, Any], where: str) -> Any:
    hints = typing.get_type_hints(kind)
    names = {f.name for f in dataclasses.fields(kind)}
    if names != set(plain):
        missing, unknown = sorted(names - set(plain)), sorted(set(plain) - names)
        message = f"{where}: missing fields {missing or 'none'}, unknown fields {unknown or 'none'}"
        raise StatsError(message)
    return kind(**{name: decode(hints[name], plain[name], f"{where}.{name}") for name in sorted(names)})
