"""Flat columns: checked on the way in, read-only ever after, and hashed the same on every machine."""

import hashlib
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise_conditions.errors import RuleError

__all__ = [
    "BoolArray",
    "Column",
    "FloatArray",
    "IntArray",
    "booleans",
    "column_digest",
    "floats",
    "integers",
    "raise_faults",
    "read_columns",
    "write_columns",
]

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
Column: TypeAlias = IntArray | FloatArray | BoolArray


def integers(name: str, value: ArrayLike, faults: list[str], *, ndim: int = 1) -> IntArray:
    """Return `value` as a read-only int64 array of `ndim` dimensions, adding to `faults` what is wrong."""
    array = np.asarray(value)
    if not np.can_cast(array.dtype, np.int64, "same_kind"):
        faults.append(f"{name}: expected whole numbers, got {array.dtype}; convert it where it is made")
        return _frozen_int(np.zeros((0,) * ndim, dtype=np.int64))
    _check_ndim(name, array.ndim, ndim, faults)
    return _frozen_int(array)


def floats(name: str, value: ArrayLike, faults: list[str], *, ndim: int = 1) -> FloatArray:
    """Return `value` as a read-only float64 array of `ndim` dimensions, adding to `faults` what is wrong."""
    array = np.asarray(value)
    if not np.can_cast(array.dtype, np.float64, "same_kind"):
        faults.append(f"{name}: expected real numbers, got {array.dtype}; convert it where it is made")
        array = np.zeros((0,) * ndim, dtype=np.float64)
    _check_ndim(name, array.ndim, ndim, faults)
    if array.dtype == np.float64 and not array.flags.writeable:
        return array
    frozen = np.array(array, dtype=np.float64, order="C")
    frozen.setflags(write=False)
    return frozen


def booleans(name: str, value: ArrayLike, faults: list[str], *, ndim: int = 1) -> BoolArray:
    """Return `value` as a read-only array of truth values, adding to `faults` what is wrong."""
    array = np.asarray(value)
    if array.dtype != np.bool_:
        faults.append(
            f"{name}: expected true or false, got {array.dtype}; compare it with 0 where it is made"
        )
        array = np.zeros((0,) * ndim, dtype=np.bool_)
    _check_ndim(name, array.ndim, ndim, faults)
    if not array.flags.writeable:
        return array
    frozen: BoolArray = np.array(array, dtype=np.bool_, order="C")
    frozen.setflags(write=False)
    return frozen


def _frozen_int(array: NDArray[np.generic]) -> IntArray:
    # A writeable array is copied: whoever made it could still change it under a frozen record.
    frozen = np.array(array, dtype=np.int64, order="C", copy=True if array.flags.writeable else None)
    frozen.setflags(write=False)
    return frozen


def _check_ndim(name: str, got: int, expected: int, faults: list[str]) -> None:
    if got != expected:
        faults.append(f"{name}: expected {expected} dimension(s), got {got}")


def raise_faults(what: str, faults: list[str]) -> None:
    """Raise one RuleError naming every fault of `what`; do nothing when there is none."""
    if faults:
        message = f"{what}: {len(faults)} fault(s)\n" + "\n".join(f"  - {fault}" for fault in faults)
        raise RuleError(message)


def column_digest(columns: Mapping[str, NDArray[np.generic]]) -> str:
    """Return the SHA-256 of named columns: names, shapes and little-endian bytes, in the order of names."""
    digest = hashlib.sha256()
    for name in sorted(columns):
        array = columns[name]
        portable = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        digest.update(f"{name}:{portable.dtype.str}:{portable.shape}\n".encode())
        digest.update(portable.tobytes())
    return digest.hexdigest()


def write_columns(path: str | PathLike[str], columns: Mapping[str, NDArray[np.generic]]) -> None:
    """Write named columns to exactly `path` as an uncompressed .npz."""
    with Path(path).open("wb") as handle:
        np.savez(handle, allow_pickle=False, **columns)


def read_columns(path: str | PathLike[str], names: tuple[str, ...]) -> dict[str, NDArray[np.generic]]:
    """Read the columns `names` from a .npz; RuleError when the file is not one or lacks a column."""
    try:
        # A handle of our own: numpy leaves its own open where the file is no archive.
        with Path(path).open("rb") as handle, np.load(handle, allow_pickle=False) as stored:
            columns = {name: stored[name] for name in names if name in stored.files}
    except (zipfile.BadZipFile, EOFError, ValueError) as error:
        message = f"{path}: expected a .npz file written by save(), got something else ({error})"
        raise RuleError(message) from error
    missing = [name for name in names if name not in columns]
    if missing:
        message = f"{path}: expected the columns {', '.join(names)}; missing {', '.join(missing)}"
        raise RuleError(message)
    return columns
