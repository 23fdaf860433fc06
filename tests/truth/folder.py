"""A folder of truth tables: results/*.json by R, data/*.csv that they were computed from.

``EQUIPOISE_TRUTH`` names another folder of the same shape.
"""

from __future__ import annotations

import csv
import functools
import itertools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FOLDER = Path(os.environ.get("EQUIPOISE_TRUTH", Path(__file__).parent))
# Columns with at most this many values are tried as filters.
FEW = 30


def results() -> dict[str, dict[str, Any]]:
    """Every results file by its stem."""
    return {path.stem: json.loads(path.read_text()) for path in sorted((FOLDER / "results").glob("*.json"))}


def frames(stem: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Data files that share the start of a results file's name, those that share most first; all if none does."""
    paths = sorted((FOLDER / "data").glob("*.csv"), key=lambda path: (-_shared(stem, path.stem), path.stem))
    near = [path for path in paths if _shared(stem, path.stem)]
    for path in near or paths:
        yield path.stem, load(path)


def _shared(stem: str, other: str) -> int:
    mine, theirs = re.split(r"[_.]", stem), re.split(r"[_.]", other)
    return sum(
        1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(mine, theirs, strict=False))
    )


@functools.cache
def load(path: Path) -> pd.DataFrame:
    """A table in which quoted values are labels, as R wrote them; without quotes pandas decides."""
    with path.open(newline="") as file:
        lines = csv.reader(file, quoting=csv.QUOTE_NONNUMERIC)
        try:
            header, *rows = list(lines)
        except ValueError:
            return pd.read_csv(path)
    return pd.DataFrame({str(name): [row[k] for row in rows] for k, name in enumerate(header)})


def variables(text: str) -> list[str]:
    """Names in a formula that are not functions."""
    return list(dict.fromkeys(re.findall(r"(?<![\w.])[A-Za-z.][\w.]*(?![\w.]*\s*\()", text)))


def candidates(stem: str, fit: dict[str, Any]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Frames that may be what a fit was computed from: as they are, then rows of some level, then means of runs."""
    needed = variables(fit["formula"])
    rows = fit["nobs"]
    whole = []
    for name, frame in frames(stem):
        derived = _with_derived(frame, needed, fit)
        if derived is None:
            continue
        complete = derived.dropna(subset=needed)
        # emmeans with data= takes covariates' means over all rows, those without a response included.
        complete.attrs["means"] = derived.mean(numeric_only=True).to_dict()
        if len(complete) == rows:
            yield name, complete
        whole.append((name, complete))
    larger = [(name, frame) for name, frame in whole if len(frame) > rows]
    for name, frame in larger:
        yield from _means(name, frame, needed, rows)
    for most in (1, 2):
        for name, frame in larger:
            parts = [(f"{name}{what}", part) for what, part in _parts(frame, most) if len(part) >= rows]
            yield from ((what, part) for what, part in parts if len(part) == rows)
            for what, part in parts:
                yield from _means(what, part, needed, rows)


def _with_derived(frame: pd.DataFrame, needed: list[str], fit: dict[str, Any]) -> pd.DataFrame | None:
    made = frame.copy()
    for name in needed:
        if name in made:
            continue
        base = re.sub(r"\A(?:log[._]?|ln[._]?|l[._]?)(?=\w)", "", name)
        if base != name and base in made and made[base].dtype.kind in "fiu":
            made[name] = np.log(made[base])
        elif (pasted := _pasted(made, name, fit)) is not None:
            made[name] = pasted
        else:
            return None
    return made


def _pasted(frame: pd.DataFrame, name: str, fit: dict[str, Any]) -> pd.Series[str] | None:
    """A factor that R made by pasting others, such as cond = rule.arm, told by the levels that the fit names."""
    named = np.atleast_1d(np.array(fit["fixef_names"], dtype=object))
    levels = {
        str(part).removeprefix(name) for part in named if str(part).startswith(name) and ":" not in str(part)
    }
    labels = [
        column for column in frame if frame[column].dtype.kind in "OU" or str(frame[column].dtype) == "str"
    ]
    small = [column for column in labels if frame[column].nunique() <= FEW]
    for count in (2, 3):
        for chosen in itertools.permutations(small, count):
            for separator in ".:_ ":
                pasted = frame[chosen[0]].astype(str)
                for other in chosen[1:]:
                    pasted = pasted + separator + frame[other].astype(str)
                if levels and levels <= set(pasted.unique()):
                    return pasted
    return None


def _parts(frame: pd.DataFrame, most: int) -> Iterator[tuple[str, pd.DataFrame]]:
    """Rows of one level (or not of it); with ``most`` = 2, those of two columns' levels."""
    tests = []
    for column in frame:
        values = frame[column].dropna().unique()
        if 2 <= len(values) <= FEW:
            for value in values:
                tests.append((f"[{column} == {value}]", frame[column] == value))
                if len(values) > 2:
                    tests.append((f"[{column} != {value}]", frame[column] != value))
    if most == 1:
        for what, rows in tests:
            yield what, frame[rows]
        return
    for (one, first), (two, second) in itertools.combinations(tests, 2):
        if one.split()[0] != two.split()[0]:
            yield f"{one}{two}", frame[first & second]


def _means(
    what: str, frame: pd.DataFrame, needed: list[str], rows: int
) -> Iterator[tuple[str, pd.DataFrame]]:
    response, *keys = needed
    if frame[response].dtype.kind not in "fiu":
        return
    for extra in [[], *([str(column)] for column in frame if column not in needed)]:
        groups = frame.groupby([*keys, *extra], sort=False, observed=True)
        if groups.ngroups == rows:
            yield f"{what} means by {', '.join([*keys, *extra])}", groups[response].mean().reset_index()
            return
