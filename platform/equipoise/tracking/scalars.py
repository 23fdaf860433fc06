"""How stored values become what MLflow can hold: finite or NaN numbers, short texts, flat names."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import cast

__all__ = ["curve", "flatten", "metric_name", "number", "numbers", "text"]

_FORBIDDEN = re.compile(r"[^\w\-. :/]")


def number(value: object) -> float | None:
    """Return a value as a metric, or None if it is no number.

    An infinite value becomes NaN: MLflow would keep it as 1.8e308, which flattens every chart it is on.
    """
    if value is None or isinstance(value, str | Mapping | Sequence):
        return None
    found = float(cast("float", value))
    return math.nan if math.isinf(found) else found


def numbers(prefix: str, values: Mapping[str, object]) -> dict[str, float]:
    """Return the numbers among the values, their names made legal and prefixed."""
    found = ((metric_name(prefix + name), number(value)) for name, value in values.items())
    return {name: value for name, value in found if value is not None}


def curve(values: object) -> tuple[tuple[int, float], ...]:
    """Return values per optimizer step as pairs (step from 1, value); steps without a number are left out."""
    pairs = enumerate(map(number, cast("Sequence[object]", values)), start=1)
    return tuple((step, value) for step, value in pairs if value is not None)


def metric_name(name: str) -> str:
    """Replace what MLflow refuses in a name (such as `@`) by an underscore."""
    return _FORBIDDEN.sub("_", name)[:250]


def text(value: object) -> str:
    """Return a parameter's value as text: strings as they are, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def flatten(values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Return nested parameters under dotted names."""
    flat: dict[str, object] = {}
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            flat |= flatten(cast("Mapping[str, object]", value), f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat
