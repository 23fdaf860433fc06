"""What turns a golden case into a call of our code and back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Adapter", "number"]


@dataclass(frozen=True)
class Adapter:
    """How the cases of one file are run.

    Attributes:
        run: takes a case's inputs, returns what stands under `expected`, in the same structure.
        tolerance: absolute, and relative to the expected value.
        mask: takes the inputs, returns for each numeric output (or for all alike) which entries the reference
            defines; entries where it is 0 are not compared. None compares all.
        better: what ours does where the reference raises and ours, for a reason, does not.
        skips: what a reference puts out that has no meaning here, by the key of the output.
        named: whether only the case's name tells which function of the reference was run; `run` then finds it in
            the inputs as `case`.
    """

    run: Callable[[dict[str, Any]], Any]
    tolerance: float = 1e-9
    mask: Callable[[dict[str, Any]], Any] | None = None
    better: str | None = None
    skips: frozenset[str] = frozenset()
    named: bool = False


def number(value: Any) -> Any:
    """Return nested lists and mappings with the words NaN, Infinity and -Infinity as floats."""
    if isinstance(value, list):
        return [number(item) for item in value]
    if isinstance(value, dict):
        return {key: number(item) for key, item in value.items()}
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value
