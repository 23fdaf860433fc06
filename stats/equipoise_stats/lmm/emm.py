"""Estimated marginal means and slopes: what the model says at a reference grid, averaged over the rest.

Searle, Speed & Milliken (1980), *The American Statistician* 34(4); conventions of R's emmeans: factors are averaged
with equal weights, numbers stand at their mean (at both values if they have only two).
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import kenward_roger, satterthwaite
from equipoise_stats.lmm.columns import Column
from equipoise_stats.lmm.formula import Reading
from equipoise_stats.lmm.ftest import Method
from equipoise_stats.lmm.model import FloatArray
from equipoise_stats.lmm.results import Fit

Point = Mapping[str, str | float]
Weights = Literal["equal", "proportional"]
# A slope is a difference over this share of a covariate's range (emmeans' step): exact for straight lines.
STEP = 1e-3


@dataclass(frozen=True)
class Model:
    """A fit together with what it was read from and how its degrees of freedom are found.

    Attributes:
        reading: the formula and its design.
        fit: its fit.
        method: Satterthwaite's or Kenward and Roger's degrees of freedom, the latter with their covariance.
        vcov: (p, p) covariance of the estimated coefficients under that method.
        freedom: degrees of freedom (m,) of (m, p) rows.
    """

    reading: Reading
    fit: Fit
    method: Method
    vcov: FloatArray
    freedom: Callable[[FloatArray], FloatArray] = field(repr=False, compare=False)

    @property
    def kept(self) -> list[int]:
        """Positions of the estimated columns among those of X."""
        return [place for place, name in enumerate(self.reading.names) if name not in self.fit.aliased]

    def estimable(self, rows: FloatArray) -> npt.NDArray[np.bool_]:
        """(m,) whether each (m, P) row over all columns of X is determined by the data."""
        aliased = [self.reading.names.index(name) for name in self.fit.aliased]
        gap = rows[:, aliased] - rows[:, self.kept] @ self.fit.alias
        scale = np.abs(rows).max(axis=1, initial=1.0)
        return np.asarray((np.abs(gap) <= 1e-8 * scale[:, None]).all(axis=1), dtype=np.bool_)


def model(reading: Reading, fit: Fit, method: Method = "satterthwaite") -> Model:
    """Join a fit with its formula for means and contrasts.

    Args:
        reading: what ``fit`` was fitted to.
        fit: its fit.
        method: Kenward and Roger's needs a fit by REML.
    """
    if method == "kenward-roger":
        adjusted = kenward_roger.adjust(fit)
        return Model(reading, fit, method, adjusted.vcov, adjusted.df)
    return Model(reading, fit, method, fit.vcov, lambda rows: satterthwaite.df(fit, rows))


@dataclass(frozen=True)
class Functions:
    """Linear functions of the coefficients, in families.

    Attributes:
        model: the model they are functions of.
        labels: for each function the levels or contrasts it is about.
        rows: (m, P) coefficients over all columns of X.
        over: the labels that tell functions of one family apart.
        by: the labels that tell families apart.
        compared: means that each family compares pairwise; 0 when it does something else.
    """

    model: Model
    labels: tuple[Point, ...]
    rows: FloatArray
    over: tuple[str, ...]
    by: tuple[str, ...]
    compared: int = 0

    def families(self) -> list[list[int]]:
        """Positions of the functions of each family, in order."""
        found: dict[tuple[str | float, ...], list[int]] = {}
        for place, label in enumerate(self.labels):
            found.setdefault(tuple(label[name] for name in self.by), []).append(place)
        return list(found.values())


def means(
    model: Model,
    over: str | Sequence[str],
    *,
    by: str | Sequence[str] = (),
    at: Mapping[str, float | Sequence[float]] | None = None,
    weights: Weights = "equal",
) -> Functions:
    """Estimated marginal means.

    Args:
        model: the model.
        over: factors (or numbers with values in ``at``) whose combinations are listed.
        by: the same, where each combination is a family of its own.
        at: values of covariates other than their means.
        weights: how levels of the other factors are averaged: evenly, or as often as they occur in the data.

    Raises:
        StatsError: names that the fixed part does not have.
    """
    outer, inner = _names(by), _names(over)
    columns = _checked(model, [*outer, *inner, *(at or {})])
    grid = _grid(columns, at or {})
    shown = [*outer, *inner]
    design = model.reading.design.rows(grid) if columns else np.ones((1, 1))
    share = _weights(model, grid, shown, weights)
    groups: dict[tuple[str | float, ...], list[int]] = {}
    for place, point in enumerate(grid):
        groups.setdefault(tuple(point[name] for name in shown), []).append(place)
    rows = [np.average(design[places], axis=0, weights=share[places]) for places in groups.values()]
    labels = tuple(dict(zip(shown, key, strict=True)) for key in groups)
    return Functions(model, labels, np.array(rows), tuple(inner), tuple(outer))


def slopes(
    model: Model,
    variable: str,
    over: str | Sequence[str] = (),
    *,
    by: str | Sequence[str] = (),
    at: Mapping[str, float | Sequence[float]] | None = None,
) -> Functions:
    """How the mean changes with one unit of a covariate, at each combination of factors.

    Raises:
        StatsError: a variable that is a factor, or names that the fixed part does not have.
    """
    (column,) = [column for column in _checked(model, [variable]) if column.name == variable]
    if column.factor:
        raise StatsError(
            f"slope of {variable}: expected a covariate, got a factor; use contrasts of its means"
        )
    step = STEP * float(np.ptp(column.values))
    given = dict(at or {})
    centre = given.pop(variable, float(column.values.mean()))
    low, high = (
        means(
            model, over, by=by, at={**given, variable: list(np.atleast_1d(np.asarray(centre) + side * step))}
        )
        for side in (-0.5, 0.5)
    )
    return Functions(model, low.labels, (high.rows - low.rows) / step, low.over, low.by)


def _names(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _checked(model: Model, names: Sequence[str]) -> tuple[Column, ...]:
    columns = model.reading.design.columns
    known = [column.name for column in columns]
    faults = []
    for name in dict.fromkeys(names):
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            faults.append(
                f"means: expected columns of the fixed part ({', '.join(known)}), got {name!r}{hint}"
            )
    if faults:
        raise StatsError(faults)
    return columns


def _grid(columns: Sequence[Column], at: Mapping[str, float | Sequence[float]]) -> list[Point]:
    values: list[Sequence[str | float]] = []
    for column in columns:
        given = at.get(column.name)
        if given is not None:
            values.append([float(value) for value in np.atleast_1d(np.asarray(given))])
        else:
            values.append(column.levels if column.factor else column.typical)
    names = [column.name for column in columns]
    return [dict(zip(names, point, strict=True)) for point in itertools.product(*values)]


def _weights(model: Model, grid: Sequence[Point], shown: Sequence[str], weights: Weights) -> FloatArray:
    if weights == "equal":
        return np.ones(len(grid))
    averaged = [
        c for c in model.reading.design.columns if c.name not in shown and (c.factor or len(c.typical) == 2)
    ]
    count: dict[tuple[str | float, ...], int] = {}
    for key in _keys(averaged):
        count[key] = count.get(key, 0) + 1
    return np.array(
        [count.get(tuple(point[c.name] for c in averaged), 0) for point in grid], dtype=np.float64
    )


def _keys(columns: Sequence[Column]) -> Iterator[tuple[str | float, ...]]:
    cells = [[c.levels[k] for k in c.codes] if c.factor else [float(v) for v in c.values] for c in columns]
    return zip(*cells, strict=True)
