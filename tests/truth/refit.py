"""A fit of a results file, fitted again from its formula and data."""

from __future__ import annotations

import functools
import itertools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from tests.truth import folder

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import emm, formula, likelihood
from equipoise_stats.lmm.fit import Solution, fit
from equipoise_stats.lmm.ftest import Method
from equipoise_stats.lmm.results import Fit

# Readings of the data that are tried for one fit.
MOST = 40
CLOSE, DISPLACED = 1e-7, 1e-6


def grouping(name: str) -> tuple[str, str]:
    """A name of theta, such as ``b:a.(Intercept)``, as its sorted grouping factors and the rest."""
    group, _, rest = name.partition(".")
    return ":".join(sorted(group.split(":"))), rest


@dataclass(frozen=True)
class Refit:
    """A fit made again.

    Attributes:
        source: the data it was made from, in words.
        reading: the formula read against them.
        fit: the fit.
        frame: the data.
        expected: what the results file says.
    """

    source: str
    reading: formula.Reading
    fit: Fit
    frame: pd.DataFrame
    expected: dict[str, Any]

    @property
    def slack(self) -> float:
        """Tolerance of coefficients in standard errors.

        R's optimiser uses no derivatives: on some large unbalanced data its theta stops short of the optimum, which
        moves its coefficients by up to 6e-7 standard errors. Only where ours at R's own theta are R's to 1e-7, and
        the likelihood at our theta is no lower, is that taken for the reason.
        """
        se = np.sqrt(np.diag(self.fit.vcov))
        theirs = self._coefficients()
        if theirs is None or np.abs(theirs - self.fit.beta).max() <= CLOSE * se.min():
            return CLOSE
        if float(self.expected["loglik"]) > self.fit.loglik + 1e-9 * abs(self.fit.loglik):
            return CLOSE
        return DISPLACED if (np.abs(theirs - self._at_theta()) <= CLOSE * se).all() else CLOSE

    def _coefficients(self) -> np.ndarray[Any, Any] | None:
        rows = {str(row["term"]): float(row["est"]) for row in self.expected["satterthwaite"]}
        return np.array([rows[name] for name in self.fit.names]) if set(rows) == set(self.fit.names) else None

    def _at_theta(self) -> np.ndarray[Any, Any]:
        """(p,) our coefficients at R's theta."""
        solution = self.fit.solution
        assert isinstance(solution, Solution)
        system = solution.system
        told = {grouping(name): value for name, value in self.expected["theta"].items()}
        factors = []
        for term, white in zip(solution.problem.terms, system.white, strict=True):
            lower = np.zeros((term.width, term.width))
            for b, column in enumerate(term.columns):
                for a in range(b, term.width):
                    other = "" if a == b else f"{term.columns[a]}."
                    lower[a, b] = told.get(grouping(f"{term.name}.{other}{column}"), np.nan)
            factors.append(white @ lower)
        solved = likelihood.solve(system, tuple(factors))
        back = np.linalg.inv(system.triangle) * system.scale
        return np.asarray(system.start + back @ np.linalg.solve(solved.fixed_root.T, solved.half_target))

    @functools.lru_cache(maxsize=4)  # noqa: B019 - lives as long as the tests do
    def model(self, method: Method) -> emm.Model:
        """The fit for means and contrasts."""
        return emm.model(self.reading, self.fit, method)

    def __hash__(self) -> int:
        return id(self)


def refit(stem: str, expected: dict[str, Any]) -> Refit:
    """Fit again what a results file holds.

    Of several readings of the data with the right number of rows, the one with the nearest log-likelihood is what
    R had; every number is compared afterwards.

    Raises:
        LookupError: no data file has the columns and rows.
    """
    best: Refit | None = None
    said: list[str] = []
    for source, frame in itertools.islice(folder.candidates(stem, expected), MOST):
        for weights in _weights(expected, frame):
            try:
                made = _fitted(source, frame, expected, weights)
            except StatsError as error:
                said.append(f"{source}: {error}")
                continue
            if best is None or _gap(made, expected) < _gap(best, expected):
                best = made
            if _gap(best, expected) < 1e-6:
                return best
    if best is None:
        raise LookupError(
            f"{stem}: expected data with {expected['nobs']} rows for {expected['formula']}, got none; {said}"
        )
    return best


def _gap(made: Refit, expected: dict[str, Any]) -> float:
    return abs(made.fit.loglik - float(expected["loglik"]))


def _weights(expected: dict[str, Any], frame: pd.DataFrame) -> list[str | None]:
    if isinstance(expected.get("weights"), str):
        return [expected["weights"]]
    divisor = re.match(r"\s*[\w.]+\s*/\s*([\w.]+)\s*~", expected["formula"])
    first = [divisor[1]] if divisor and divisor[1] in frame else []
    # R's summary does not name the weights of a fit: any column of positive numbers may be them.
    used = folder.variables(expected["formula"])
    numbers = [
        str(c) for c in frame if frame[c].dtype.kind in "fiu" and c not in used and (frame[c] > 0).all()
    ]
    return [None, *first, *numbers]


def _fitted(source: str, frame: pd.DataFrame, expected: dict[str, Any], weights: str | None) -> Refit:
    text, data = _factors_spelled(expected["formula"], frame)
    names = [str(name) for name in np.atleast_1d(np.array(expected["fixef_names"], dtype=object))]
    coded, baseline = as_r_coded(text, data, names)
    reading = formula.read(text, coded, baseline=baseline, weights=weights)
    return Refit(source, reading, fit(reading, reml=bool(expected["reml"])), coded, expected)


def _factors_spelled(text: str, frame: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """``factor(x)`` becomes a column of labels of that name."""
    data = frame.copy()
    for call, name in set(re.findall(r"((?:as\.)?factor\(\s*([\w.]+)\s*\))", text)):
        data[call] = [_label(value) for value in frame[name]]
        text = text.replace(call, f"`{call}`")
    return text, data


def _label(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float | np.number) else str(value)


def as_r_coded(text: str, frame: pd.DataFrame, names: list[str]) -> tuple[pd.DataFrame, dict[str, str]]:
    """Factors with the order and baseline that R's column names tell."""
    data = frame.copy()
    baseline: dict[str, str] = {}
    fixed = re.sub(r"\([^()]*\|[^()]*\)", "", text.split("~")[1])
    parts = list(dict.fromkeys(part for name in names for part in name.split(":")))
    known = [str(column) for column in data]
    for name in [column for column in known if column in folder.variables(fixed) or f"`{column}`" in fixed]:
        labels = [_label(value) for value in data[name]]
        levels = list(dict.fromkeys(labels))
        if f"{name}.L" in parts:
            order = sorted(levels, key=_number)
            data[name] = pd.Categorical(labels, categories=order, ordered=True)
            continue
        named = [
            level for level in sorted(levels, key=lambda v: _place(parts, name + v)) if name + level in parts
        ]
        if not named or name in parts:
            continue
        missing = [level for level in levels if level not in named]
        data[name] = pd.Categorical(labels, categories=[*missing, *named])
        if len(missing) == 1:
            baseline[name] = missing[0]
        elif not missing:
            # Cell means, or a factor that only stands inside interactions: any order of levels is R's.
            data[name] = pd.Categorical(labels, categories=named)
    return data, baseline


def _place(parts: list[str], name: str) -> int:
    return parts.index(name) if name in parts else -1


def _number(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return 0.0, text
