"""Columns of data as a formula sees them: numbers, or factors with a named baseline."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise_stats.lmm.model import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

_TOKEN = re.compile(r"`[^`]*`|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[A-Za-z_.][\w.]*|\*\*|\S|\s+")
_NAME = re.compile(r"[A-Za-z_.][\w.]*\Z")
_SIGNS = frozenset("+-*/:^()=,")
FUNCTIONS = (
    "I",
    "abs",
    "bs",
    "cc",
    "center",
    "cr",
    "exp",
    "log",
    "log10",
    "log2",
    "ns",
    "poly",
    "scale",
    "sqrt",
)


@dataclass(frozen=True)
class Column:
    """One column of the data that a formula names.

    Attributes:
        name: as in the data.
        levels: of a factor, the baseline first; empty for numbers.
        ordered: levels carry an order and are coded by orthogonal polynomials.
        baseline: the baseline was named.
        codes: (n,) index into ``levels`` of each row; empty for numbers.
        values: (n,) numbers; empty for a factor.
    """

    name: str
    levels: tuple[str, ...]
    ordered: bool
    baseline: bool
    codes: IntArray
    values: FloatArray

    @property
    def factor(self) -> bool:
        """Whether its values are labels."""
        return bool(self.levels)

    @property
    def typical(self) -> tuple[float, ...]:
        """The values a grid takes for a number: both if there are at most two, else the mean (as emmeans does)."""
        distinct = np.unique(self.values)
        return tuple(float(v) for v in distinct) if distinct.size <= 2 else (float(self.values.mean()),)


def tokens(text: str) -> list[str]:
    """A formula's text cut into names, numbers and signs."""
    return _TOKEN.findall(text)


def names_in(text: str, known: Sequence[str]) -> tuple[list[str], list[str]]:
    """Columns that a text names, in order, and every fault in what it names otherwise."""
    found: list[str] = []
    faults: list[str] = []
    pieces = [piece for piece in tokens(text) if not piece.isspace()]
    for piece, after in zip(pieces, [*pieces[1:], ""], strict=True):
        name = piece.strip("`")
        if name in known and after != "(":
            if name not in found:
                found.append(name)
        elif _NAME.match(name) or piece.startswith("`"):
            faults += _name_faults(name, after, known)
        elif not (piece in _SIGNS or piece == "**" or piece[0].isdigit() or piece[0] == "."):
            faults.append(f"formula: expected names, numbers and + - * / : ^ ( ), got {piece!r} in {text!r}")
    return found, faults


def _name_faults(name: str, after: str, known: Sequence[str]) -> Iterator[str]:
    if after == "(":
        if name not in FUNCTIONS:
            yield f"formula: expected one of the functions {', '.join(FUNCTIONS)}, got {name}(); compute a column first"
    elif after != "=":
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; the columns are {', '.join(known)}"
        yield f"formula: expected a column of the data, got {name!r}{hint}"


def missing_rows(frame: pd.DataFrame, name: str) -> Iterator[str]:
    """The fault of a column with undefined or infinite values, its rows named."""
    column = frame[name]
    bad = np.asarray(column.isna(), dtype=bool)
    if _numeric(column):
        bad = bad | ~np.isfinite(np.asarray(column, dtype=np.float64))
    if bad.any():
        rows = [str(label) for label in frame.index[bad][:5]]
        more = ", ..." if bad.sum() > 5 else ""
        yield (
            f"column {name}: expected a value in every row, got none in {int(bad.sum())} "
            f"(rows {', '.join(rows)}{more}); score failed runs by the registered rule; no row is left out silently"
        )


def baseline_faults(frame: pd.DataFrame, baseline: Mapping[str, str], used: Sequence[str]) -> Iterator[str]:
    """The faults of baselines: no such column, a column of numbers, no such level.

    Columns of the data that the formula does not use may have one too: one mapping serves several models.
    """
    for name, level in baseline.items():
        if name not in frame:
            near = difflib.get_close_matches(name, used, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; the formula has {', '.join(used)}"
            yield f"baseline: expected columns of the data, got {name!r}{hint}"
        elif name in used and _numeric(frame[name]):
            yield f"baseline of {name}: expected a factor, got numbers; make the column text if its values are labels"
        elif name in used:
            levels = sorted(str(found) for found in frame[name].dropna().unique())
            near = difflib.get_close_matches(level, levels, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            if level not in levels:
                yield f"baseline of {name}: expected one of {', '.join(levels)}, got {level!r}{hint}"


def _numeric(column: pd.Series[Any]) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_numeric_dtype(column)) and not pd.api.types.is_bool_dtype(column)


def read_column(column: pd.Series[Any], name: str, baseline: str | None) -> Column:
    """One column without missing values, as numbers or as a factor with its baseline (a level it has) first.

    Text and categories are labels even when they look like numbers; a boolean's baseline is False.
    """
    import pandas as pd

    empty = np.zeros(0)
    if _numeric(column):
        values = np.asarray(column, dtype=np.float64)
        return Column(name, (), ordered=False, baseline=False, codes=empty.astype(np.int64), values=values)
    if pd.api.types.is_bool_dtype(column):
        baseline = baseline or "False"
    category = column.astype("category").cat.remove_unused_categories()
    levels = [str(level) for level in category.cat.categories]
    order = sorted(range(len(levels)), key=lambda k: levels[k] != baseline)
    place = np.argsort(order)
    return Column(
        name,
        tuple(levels[k] for k in order),
        ordered=bool(category.cat.ordered) and baseline is None,
        baseline=baseline is not None,
        codes=place[np.asarray(category.cat.codes)].astype(np.int64),
        values=empty,
    )
