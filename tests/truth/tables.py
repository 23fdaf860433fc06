"""Tables of emmeans: means, slopes, contrasts, interactions and their tests, from the fits of the same file."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from tests.truth.compare import DF, MVT, SE, P, Table, off
from tests.truth.refit import Refit

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import emm, emm_tests
from equipoise_stats.lmm.emm import Functions, Model
from equipoise_stats.lmm.ftest import Method

STATISTICS = ("emmean", "estimate", "SE", "df", "lower.CL", "upper.CL", "t.ratio", "p.value", "_row")
METHODS: tuple[Method, ...] = ("satterthwaite", "kenward-roger")
# Means among which a contrast is searched by its estimate.
MOST_MEANS = 16
TESTS: dict[str, emm_tests.Test] = {"tost": "equivalence", "noninf": "greater"}


def known(rows: Any) -> bool:
    """Whether rows are of a kind that emmeans prints for a linear model."""
    if not (isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows)):
        return False
    value = set(rows[0]) & {"emmean", "estimate"} or any(name.endswith(".trend") for name in rows[0])
    return bool(value) and "SE" in rows[0] and "df" in rows[0]


def compare_table(
    name: str, rows: Table, fits: Mapping[str, Refit], mode: str | None = None, delta: float | None = None
) -> list[str]:
    """Faults of the reading of a table that has fewest.

    A table does not say which fit it is of, nor (alone) which contrasts; whatever reproduces all of its numbers is
    what R had, and if nothing does, the nearest is reported.
    """
    best: list[str] | None = None
    for made in sorted(fits.values(), key=lambda each: each.fit.nobs):
        for method in _methods(name, mode):
            if method == "kenward-roger" and not made.fit.reml:
                continue
            for functions in _either(made, method, rows):
                for adjust in _adjustments(name, functions):
                    faults = _attempted(functions, rows, adjust, name, delta, made.slack)
                    if not faults:
                        return []
                    if best is None or len(faults) < len(best):
                        best = faults
    return best if best is not None else ["no fit of this file has such means or contrasts"]


def _methods(name: str, mode: str | None) -> tuple[Method, ...]:
    if mode is not None:
        return tuple(method for method in METHODS if method == mode)
    return ("kenward-roger",) if "kr" in name.split("_") else METHODS


def _adjustments(name: str, functions: Functions) -> tuple[emm_tests.Adjust, ...]:
    """What a table's name says, else what emmeans does unasked."""
    words = name.replace(".", "_").split("_")
    said = tuple(adjust for adjust in emm_tests.ADJUSTMENTS if adjust in words)
    if said or not set(functions.over) - set(functions.by) & {"contrast"}:
        return said or ("none",)
    return ("none", "tukey", "dunnettx") if functions.compared else ("none", "dunnettx")


def _attempted(
    functions: Functions, rows: Table, adjust: emm_tests.Adjust, name: str, delta: float | None, slack: float
) -> list[str]:
    try:
        return list(_faults(functions, rows, adjust, name, delta, slack))
    except StatsError as error:
        return list(error.faults) * len(rows)


def _labels(rows: Table) -> list[str]:
    return [key for key in rows[0] if key not in STATISTICS and not key.endswith(".trend")]


def _either(made: Refit, method: Method, rows: Table) -> Iterator[Functions]:
    """Readings with covariates at the mean of the rows fitted, and at that of all rows of the file."""
    model = made.model(method)
    yield from _readings(model, rows, {})
    means = made.frame.attrs.get("means", {})
    numbers = [
        c for c in model.reading.design.columns if not c.factor and len(c.typical) == 1 and c.name in means
    ]
    other = {c.name: means[c.name] for c in numbers if abs(means[c.name] - c.typical[0]) > 1e-9}
    if other:
        yield from _readings(model, rows, other)


def _readings(model: Model, rows: Table, put: Mapping[str, float]) -> Iterator[Functions]:
    """Functions in the order of the rows, for every way to read their labels."""
    columns = {column.name: column for column in model.reading.design.columns}
    labels = _labels(rows)
    split = {
        key: key.rsplit("_", 1)[0]
        for key in labels
        if key.rsplit("_", 1)[0] in columns and key not in columns
    }
    by = [key for key in labels if key in columns]
    if len(by) + len(split) + ("contrast" in labels) != len(labels):
        return
    trend = next((key.removesuffix(".trend") for key in rows[0] if key.endswith(".trend")), None)
    shown = {key: sorted({float(row[key]) for row in rows}) for key in by if not columns[key].factor}
    at: dict[str, float | Sequence[float]] = {**put, **shown}
    if "contrast" not in labels and not split:
        if trend is None:
            yield from _matched(emm.means(model, by, at=at), rows, by)
        elif trend in columns and not columns[trend].factor:
            yield from _matched(emm.slopes(model, trend, by, at=at), rows, by)
        return
    slopes = [name for name, column in columns.items() if not column.factor]
    factors = list(split.values()) or [name for name, c in columns.items() if c.factor and name not in by]
    counts = [len(factors)] if split else range(1, min(3, len(factors)) + 1)
    for variable in [None, *slopes]:
        for over in itertools.chain(*(itertools.combinations(factors, count) for count in counts)):
            base = (
                emm.means(model, over, by=by, at=at)
                if variable is None
                else emm.slopes(model, variable, over, by=by, at=at)
            )
            yield from _contrasted(base, rows, by, split)


def _contrasted(
    base: Functions, rows: Table, by: Sequence[str], split: Mapping[str, str]
) -> Iterator[Functions]:
    found: list[np.ndarray[Any, Any]] = []
    names = {"contrast": base.over} if not split else {key: (factor,) for key, factor in split.items()}
    for row in rows:
        here = [k for k, label in enumerate(base.labels) if all(_same(label[key], row[key]) for key in by)]
        weight = np.ones(len(here))
        for key, over in names.items():
            sides = _sides(str(row[key]), [base.labels[k] for k in here], over)
            if sides is None and not split:
                sides = _by_estimate(row, base, here)
            if sides is None:
                return
            weight = weight * sides
        found.append(weight @ base.rows[here])
    means = len(next(iter(base.families()), []))
    families = len({tuple(row[key] for key in by) for row in rows})
    compared = means if not split and len(rows) == families * means * (means - 1) // 2 else 0
    labels = tuple({key: row[key] for key in _labels(rows)} for row in rows)
    yield Functions(base.model, labels, np.array(found), tuple(names), tuple(by), compared)


def _sides(text: str, labels: Sequence[emm.Point], over: Sequence[str]) -> np.ndarray[Any, Any] | None:
    """+1 and -1 where the sides of "A - B" name a label; R puts a factor's name before levels that are numbers."""
    for place in (k for k in range(len(text)) if text.startswith(" - ", k)):
        sides = text[:place], text[place + 3 :]
        hits = [[_names_it(side, label, over) for label in labels] for side in sides]
        if all(any(hit) for hit in hits):
            plus, minus = (np.array(hit, dtype=np.float64) for hit in hits)
            return np.asarray(plus - minus, dtype=np.float64)
    return None


def _by_estimate(row: Mapping[str, Any], base: Functions, here: Sequence[int]) -> np.ndarray[Any, Any] | None:
    """Weights of a contrast whose name tells no sides, by the analyst's own words: "prm effect", "content of prm".

    Of one mean against their average, differences of two and differences of differences, those that give the
    estimate; its standard error, degrees of freedom and p are compared afterwards.
    """
    value = row.get("estimate")
    if value is None or not 2 <= len(here) <= MOST_MEANS:
        return None
    unit = np.eye(len(here))
    pairs = [a - b for a, b in itertools.permutations(unit, 2)]
    tried = [*(each - 1 / len(here) for each in unit), *pairs]
    tried += [a + b for a, b in itertools.combinations(pairs, 2) if np.abs(a + b).sum() == 4]
    got = np.array(tried) @ base.rows[np.ix_(list(here), base.model.kept)] @ base.model.fit.beta
    gaps = np.abs(got - value)
    best = int(np.nanargmin(gaps)) if not np.isnan(gaps).all() else 0
    return np.asarray(tried[best]) if gaps[best] <= 1e-6 * row["SE"] else None


def _names_it(text: str, label: emm.Point, over: Sequence[str]) -> bool:
    plain = " ".join(str(label[name]) for name in over)
    long = " ".join(f"{name}{label[name]}" for name in over)
    return text.strip("()") in (plain, long) or text in (plain, long)


def _same(ours: str | float, theirs: object) -> bool:
    if isinstance(ours, float):
        return math.isclose(ours, float(str(theirs)), rel_tol=1e-6)
    return ours == (f"{theirs:g}" if isinstance(theirs, int | float) else str(theirs))


def _matched(functions: Functions, rows: Table, names: Sequence[str]) -> Iterator[Functions]:
    order = []
    for row in rows:
        hit = [k for k, label in enumerate(functions.labels) if all(_same(label[n], row[n]) for n in names)]
        if len(hit) != 1:
            return
        order.append(hit[0])
    labels = tuple(functions.labels[k] for k in order)
    yield Functions(functions.model, labels, functions.rows[order], functions.over, functions.by)


def _faults(
    functions: Functions, rows: Table, adjust: emm_tests.Adjust, name: str, delta: float | None, slack: float
) -> Iterator[str]:
    test = TESTS.get(name.rsplit(".", 1)[-1], "difference")
    if test != "difference":
        adjust = "none"
    got = emm_tests.summary(
        functions, adjust=adjust, test=test, delta=(delta or 0.0) if test != "difference" else 0.0
    )
    whole = got
    if adjust == "mvt":
        # R's multivariate t takes whole degrees of freedom: floor(df + 1/4), at least 1.
        model = functions.model
        rounded = dataclasses.replace(
            model, freedom=lambda L: np.floor(np.maximum(model.freedom(L), 1.0) + 0.25)
        )
        whole = emm_tests.summary(dataclasses.replace(functions, model=rounded), adjust=adjust)
    for row, ours, family in zip(rows, got, whole, strict=True):
        what = " ".join(str(row[key]) for key in _labels(rows))
        yield from (f"{what} {fault}" for fault in _row(row, ours, family, adjust, slack))


def _row(
    row: Mapping[str, Any], ours: emm_tests.Row, family: emm_tests.Row, adjust: str, slack: float
) -> Iterator[str]:
    value = next(key for key in row if key in ("emmean", "estimate") or key.endswith(".trend"))
    se = row["SE"]
    if row[value] is None or se is None:
        if ours.estimable:
            yield f"expected not estimable, got {ours.estimate}"
        return
    if not ours.estimable:
        yield "expected an estimate, got not estimable"
        return
    yield from off("estimate", row[value], ours.estimate, slack * se)
    yield from off("SE", se, ours.se, SE * se)
    yield from off("df", row["df"], ours.df, DF * row["df"])
    if "t.ratio" in row:
        yield from off("t", row["t.ratio"], ours.t, SE * abs(row["t.ratio"]) + 10 * slack)
    if "p.value" in row:
        if adjust == "mvt" and row["p.value"] is None:
            # emmeans gives neither p nor interval in a family with a member that is not estimable.
            return
        yield from off("p", row["p.value"], family.p, MVT if adjust == "mvt" else P)
    # R searches the Dunnett and multivariate-t quantiles to 5e-4 and by Monte Carlo.
    allowed = {"mvt": 2e-2, "dunnettx": 1e-3}.get(adjust, 1e-4)
    for key, end in (("lower.CL", family.lower), ("upper.CL", family.upper)):
        if key in row:
            yield from off(key, row[key], end, allowed * se)
