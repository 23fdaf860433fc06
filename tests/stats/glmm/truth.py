"""Logit models fitted by R, read from a folder of data and results whatever their files are called."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from equipoise_stats.glmm import Counts
from equipoise_stats.lmm.model import FloatArray, intercept

FOLDER = Path(os.environ.get("EQUIPOISE_TRUTH") or Path(__file__).parents[2] / "truth")
# Responses that results without a formula may mean: successes and trials, the latter by name or one a row.
RESPONSES = (("successes", "trials"), ("incidence", "size"), ("success", ""), ("y", ""))

Frame = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Truth:
    """One fit of R, with the tables that stand beside it in its file."""

    name: str
    fit: Mapping[str, Any]
    file: Mapping[str, Any]
    frame: Frame

    @property
    def terms(self) -> tuple[str, ...]:
        """The coefficients' names."""
        return tuple(str(row["term"]) for row in self.fit["coef"])

    @property
    def groups(self) -> tuple[str, ...]:
        """The grouping factors."""
        return _groups(self.fit, self.file)

    @property
    def sds(self) -> dict[str, float]:
        """The SD of each random intercept, where the result tells them."""
        spread = self.fit.get("varcorr")
        if not isinstance(spread, list):
            return {}
        return {str(row["grp"]): float(row["sdcor"]) for row in spread}

    def column(self, *names: str) -> FloatArray:
        """(p,) one column of the coefficient table, by the first of several names that it has."""
        name = next(n for n in names if n in self.fit["coef"][0])
        return np.array([float(row[name]) for row in self.fit["coef"]])

    def counts(self) -> Counts:
        """The data as our fitter takes them."""
        successes, trials = self._response()
        return Counts(
            successes,
            trials,
            self.design(),
            self.terms,
            tuple(intercept(g, self.labels(g)) for g in self.groups),
        )

    def labels(self, group: str) -> list[str]:
        """The group of each row; an observation-level factor is none of the columns."""
        rows = len(next(iter(self.frame.values())))
        if all(part in self.frame for part in group.split(":")):
            columns = [self.frame[part] for part in group.split(":")]
            return [":".join(values) for values in zip(*columns, strict=True)]
        return [str(i) for i in range(rows)]

    def design(self) -> FloatArray:
        """(n, p) columns by R's names, such as ``rulegae:armnative``."""
        rows = len(next(iter(self.frame.values())))
        columns = []
        for term in self.terms:
            column = np.ones(rows)
            for part in term.split(":") if term != "(Intercept)" else ():
                column = column * self._column(part)
            columns.append(column)
        return np.column_stack(columns)

    def _column(self, part: str) -> FloatArray:
        if part in self.frame:
            return np.array([float(v) for v in self.frame[part]])
        for name, values in self.frame.items():
            if part.startswith(name) and part[len(name) :] in set(values):
                return np.array([float(v == part[len(name) :]) for v in values])
        message = f"{self.name}: no column of {list(self.frame)} gives '{part}'"
        raise KeyError(message)

    def _response(self) -> tuple[FloatArray, FloatArray]:
        formula = str(self.fit.get("formula", ""))
        found = re.match(r"cbind\(([\w.]+), *([\w.]+) *- *[\w.]+\)", formula)
        # a proportion with its trials as weights
        found = found or re.match(r"([\w.]+) */ *([\w.]+) *~", formula)
        pairs = ((found[1], found[2]), *RESPONSES) if found else RESPONSES
        s, k = next((s, k) for s, k in pairs if s in self.frame and (not k or k in self.frame))
        successes = np.array([float(v) for v in self.frame[s]])
        trials = np.array([float(v) for v in self.frame[k]]) if k else np.ones_like(successes)
        return successes, trials


def truths() -> Iterator[Truth]:
    """Every logit model of the folder: a record whose coefficients have z values, in any results file."""
    frames = {path.stem: path for path in sorted((FOLDER / "data").glob("*.csv"))}
    for path in sorted((FOLDER / "results").glob("*.json")):
        loaded = json.loads(path.read_text())
        for key, value in loaded.items() if isinstance(loaded, dict) else ():
            if isinstance(value, dict) and _is_logit(value):
                frame = _frame(path.stem, _groups(value, loaded), frames)
                yield Truth(f"{path.stem}.{key}", value, loaded, frame)


def _is_logit(value: Mapping[str, Any]) -> bool:
    rows = value.get("coef")
    if not (isinstance(rows, list) and rows and isinstance(rows[0], dict)):
        return False
    return "term" in rows[0] and bool({"z value", "z"} & set(rows[0]))


def _groups(value: Mapping[str, Any], file: Mapping[str, Any]) -> tuple[str, ...]:
    """Grouping factors from the variances, else from the formula, else from another fit of the same file."""
    spread = value.get("varcorr")
    if isinstance(spread, list):
        return tuple(str(row["grp"]) for row in spread)
    written = re.findall(r"\(1 *\| *([\w:]+)\)", str(value.get("formula", "")))
    if written:
        return tuple(written)
    others = (v for v in file.values() if isinstance(v, dict) and isinstance(v.get("varcorr"), list))
    return tuple(str(row["grp"]) for row in next(others)["varcorr"])


def _frame(stem: str, names: Sequence[str], frames: Mapping[str, Path]) -> Frame:
    """The data file whose name shares most with the result's and that holds its groups."""
    for path in sorted(frames.values(), key=lambda p: -_shared(p.stem, stem)):
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        groups = {part for name in names for part in name.split(":")} - {"obs"}
        if groups <= set(rows[0]):
            return {name: [row[name] for row in rows] for name in rows[0]}
    message = f"{stem}: no data file holds its groups"
    raise FileNotFoundError(message)


def _shared(a: str, b: str) -> int:
    """Letters that two names have in common from their start."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
