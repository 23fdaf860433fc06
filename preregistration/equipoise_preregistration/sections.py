"""What every section of a suite has in common: frozen, closed to unknown keys, strict about types."""

from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

__all__ = [
    "MAX_INTEGER",
    "Count",
    "Identifier",
    "Number",
    "Positive",
    "Section",
    "Settings",
    "Share",
    "Size",
    "UnknownValue",
    "Value",
    "writable",
]

MAX_INTEGER = 2**53 - 1
"""Largest integer that RFC 8785 writes without loss."""


class UnknownValue(Exception):  # noqa: N818 - not an error: whoever asks stops asking
    """A value that a file has wrong was asked for: what depends on it cannot be told yet."""


class Section(BaseModel):
    """A mapping of a suite: unknown keys and values of another type are refused, nothing can be changed."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, validate_default=True
    )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Says of a value that was left out, see `salvage`, that it is not known."""
            if name in type(self).model_fields:
                raise UnknownValue(name)
            return super().__getattr__(name)


Value = JsonValue
"""What a free setting may be: anything JSON knows."""


def writable(value: Value) -> Value:
    """Refuses what canonical JSON cannot write: huge integers, infinities, NaN."""
    if isinstance(value, list):
        for item in value:
            writable(item)
    elif isinstance(value, dict):
        for item in value.values():
            writable(item)
    elif isinstance(value, int) and abs(value) > MAX_INTEGER:
        message = f"expected an integer between -{MAX_INTEGER} and {MAX_INTEGER}, got {value}"
        raise ValueError(message)
    elif isinstance(value, float) and not isfinite(value):
        message = f"expected a finite number, got {value}"
        raise ValueError(message)
    return value


def _settings(settings: dict[str, Value]) -> dict[str, Value]:
    writable(settings)
    return settings


Settings = Annotated[dict[str, Value], AfterValidator(_settings)]
"""A mapping whose keys its reader defines (an environment's size, say)."""

Size = Annotated[int, Field(ge=1, le=MAX_INTEGER)]
"""How many, at least one."""

Count = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
"""How many, perhaps none."""

Number = Annotated[float, Field(ge=0.0)]
"""A number that is zero or more."""

Positive = Annotated[float, Field(gt=0.0)]
"""A number above zero."""

Share = Annotated[float, Field(gt=0.0, lt=1.0)]
"""A number strictly between zero and one."""

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,47}$")]
"""A short name that is safe in file names, tables and run names."""
