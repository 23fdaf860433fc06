"""Every number of a table against what is computed here, at the tolerances of the acceptance run.

Log-likelihood 1e-6 absolute, coefficients 1e-7 standard errors (1e-6 from 1,000 rows, see ``Refit.slack``), standard
errors 1e-5 relative, degrees of freedom 1e-4 relative, p values 1e-6, multivariate-t p values 2e-3, variances 1e-4 of
their total.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from tests.truth.refit import Refit

from equipoise_stats import student
from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import anova, kenward_roger, profile
from equipoise_stats.lmm.ftest import Method

LOGLIK, SE, DF, P, MVT, VARIANCE = 1e-6, 1e-5, 1e-4, 1e-6, 2e-3, 1e-4
Table = Sequence[Mapping[str, Any]]


def off(what: str, expected: float | None, got: float | None, allowed: float) -> Iterator[str]:
    """A sentence if a number is not the expected one, or one of the two is undefined and the other not."""
    if expected is None or got is None:
        if expected is not got:
            yield f"{what}: expected {expected}, got {got}"
    elif not abs(expected - got) <= allowed:
        yield f"{what}: expected {expected!r}, got {got!r}, off by {abs(expected - got):.2e} > {allowed:.2e}"


def compare_fit(made: Refit, expected: dict[str, Any]) -> Iterator[str]:
    """Everything that a results file says of one fit."""
    for key, value in expected.items():
        if key in ("formula", "nobs", "reml", "weights"):
            continue
        if key in _SCALARS:
            yield from off(key, value, _SCALARS[key](made), 2 * LOGLIK)
        elif key == "loglik":
            yield from off(key, value, made.fit.loglik, LOGLIK)
        elif key in _TABLES:
            yield from (f"{key}: {fault}" for fault in _TABLES[key](made, value))
        else:
            yield f"{key}: a key of a fit that this reader does not know"
    if made.fit.nobs != expected["nobs"]:
        yield f"nobs: expected {expected['nobs']}, got {made.fit.nobs}"


_SCALARS: dict[str, Callable[[Refit], float | None]] = {
    "reml_criterion": lambda made: -2 * made.fit.loglik if made.fit.reml else None,
    "AIC": lambda made: made.fit.AIC,
    "BIC": lambda made: made.fit.BIC,
}


def _total(made: Refit) -> float:
    return sum(c.value for c in made.fit.components if len(c.columns) < 2)


def _sigma(made: Refit, value: float) -> Iterator[str]:
    yield from off("squared", value**2, made.fit.sigma2, VARIANCE * _total(made))


def _singular(made: Refit, value: bool) -> Iterator[str]:
    if made.fit.singular is not value:
        yield f"expected {value}, got {made.fit.singular}"


def _grouping(name: str) -> str:
    return ":".join(sorted(re.sub(r"\.\d+$", "", name).split(":")))


def _theta(made: Refit, value: dict[str, float]) -> Iterator[str]:
    ours = {_theta_name(name): number for name, number in made.fit.theta.items()}
    for name, number in value.items():
        if _theta_name(name) not in ours:
            yield f"expected {name}, got only {list(ours)}"
            continue
        got = ours[_theta_name(name)]
        # Tolerance on the variance scale, where a theta near 0 is as good as 0.
        size = math.copysign(number**2, number) * made.fit.sigma2
        yield from off(name, size, math.copysign(got**2, got) * made.fit.sigma2, VARIANCE * _total(made))


def _theta_name(name: str) -> tuple[str, str]:
    group, _, rest = name.partition(".")
    return _grouping(group), rest


def _varcorr(made: Refit, rows: Table) -> Iterator[str]:
    ours = {(_grouping(c.term), *c.columns): c.value for c in made.fit.components}
    for row in rows:
        key = (_grouping(row["grp"]), *(row[v] for v in ("var1", "var2") if row.get(v)))
        if key not in ours:
            yield f"expected {key}, got only {list(ours)}"
            continue
        got = ours[key]
        yield from off(f"{key} vcov", row["vcov"], got, VARIANCE * max(_total(made), abs(row["vcov"])))
        if len(key) == 3:
            got /= math.sqrt(ours[key[:2]] * ours[key[0], key[2]])
            yield from off(f"{key} correlation", row["sdcor"], got, VARIANCE)
        else:
            yield from off(f"{key} sd, squared", row["sdcor"] ** 2, got, VARIANCE * max(_total(made), got))
    if len(rows) != len(ours):
        yield f"expected {len(rows)} components, got {len(ours)}"


def _order(made: Refit, names: Any) -> list[int]:
    return [made.fit.names.index(str(name)) for name in np.atleast_1d(np.array(names, dtype=object))]


def _names(made: Refit, names: Any) -> Iterator[str]:
    found = [str(name) for name in np.atleast_1d(np.array(names, dtype=object))]
    if found != list(made.fit.names):
        yield f"expected {found}, got {list(made.fit.names)}"


def _vcov(made: Refit, matrix: list[list[float]]) -> Iterator[str]:
    expected = np.array(matrix)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    for i, j in zip(*np.nonzero(np.abs(expected - made.fit.vcov) > 2 * SE * scale), strict=True):
        yield from off(f"[{i}, {j}]", expected[i, j], float(made.fit.vcov[i, j]), 2 * SE * scale[i, j])


def _coefficients(made: Refit, rows: Table | str, method: Method) -> Iterator[str]:
    if isinstance(rows, str):
        yield from _refused(made, method, rows)
        return
    fit = made.fit
    model = made.model(method)
    df = model.freedom(np.eye(fit.beta.size))
    for row, place in zip(rows, _order(made, [row["term"] for row in rows]), strict=True):
        se = math.sqrt(model.vcov[place, place])
        t = float(fit.beta[place]) / se
        got = {"est": float(fit.beta[place]), "se": se, "df": float(df[place]), "t": t}
        got["p"] = float(student.two_sided_p(t, df[place]))
        yield from (f"{row['term']} {fault}" for fault in _numbers(row, got, made.slack))
    if len(rows) != fit.beta.size:
        yield f"expected {len(rows)} coefficients, got {fit.beta.size}"


def _numbers(row: Mapping[str, Any], got: Mapping[str, float], slack: float) -> Iterator[str]:
    yield from off("est", row["est"], got["est"], slack * row["se"])
    yield from off("se", row["se"], got["se"], SE * row["se"])
    yield from off("df", row["df"], got["df"], DF * row["df"])
    yield from off("t", row["t"], got["t"], SE * abs(row["t"]) + slack)
    yield from off("p", row["p"], got["p"], P)


def _refused(made: Refit, method: Method, said: str) -> Iterator[str]:
    if "only available for REML" not in said or method != "kenward-roger":
        yield f"a table that this reader does not know: {said!r}"
        return
    try:
        kenward_roger.adjust(made.fit)
    except StatsError:
        return
    yield "expected a refusal for a fit by ML, got an answer"


def _anova(made: Refit, rows: Table | str, method: Method) -> Iterator[str]:
    if isinstance(rows, str):
        yield from _refused(made, method, rows)
        return
    if not rows:
        terms = [term.name for term in made.reading.design.terms if term.name != "(Intercept)"]
        if terms:
            yield f"expected no terms, got {terms}"
        return
    tests = anova.type_three(made.model(method))
    if [row["term"] for row in rows] != list(tests):
        yield f"expected the terms {[row['term'] for row in rows]}, got {list(tests)}"
        return
    for row in rows:
        found = tests[row["term"]]
        shown = {
            "Sum Sq": (found.sum_of_squares, VARIANCE * row["Sum Sq"]),
            "Mean Sq": (found.sum_of_squares / found.numerator, VARIANCE * row["Mean Sq"]),
            "NumDF": (found.numerator, 0),
            "DenDF": (found.denominator, DF * row["DenDF"]),
            "F value": (found.statistic, 4 * SE * row["F value"]),
            "Pr(>F)": (found.p, P),
        }
        for name, (got, allowed) in shown.items():
            yield from off(f"{row['term']} {name}", row[name], got, allowed)


def _profile(made: Refit, rows: Table) -> Iterator[str]:
    yield from profile_faults(made, rows)


def profile_faults(made: Refit, rows: Table) -> Iterator[str]:
    """Profile intervals of the standard deviations (R's names such as ``sd_(Intercept)|g`` and ``sigma``)."""
    found = {}
    for interval in profile.intervals(made.fit):
        label = (
            "sigma" if interval.term == "Residual" else f"sd_{interval.columns[0]}|{_grouping(interval.term)}"
        )
        found[label] = (interval.low, interval.high)
    for row in rows:
        kind, _, group = str(row["parameter"]).partition("|")
        name = f"{kind}|{_grouping(group)}" if group else kind
        if kind.startswith("sd_") or kind == "sigma":
            if name not in found:
                yield f"expected an interval for {name}, got only {list(found)}"
                continue
            for end, got in zip(("lower", "upper"), found[name], strict=True):
                # R interpolates its profile by splines.
                yield from off(f"{name} {end}", row[end], got, 2e-3 * row["upper"])


_TABLES: dict[str, Callable[[Refit, Any], Iterator[str]]] = {
    "sigma": _sigma,
    "singular": _singular,
    "theta": _theta,
    "varcorr": _varcorr,
    "fixef_names": _names,
    "vcov": _vcov,
    "satterthwaite": lambda made, rows: _coefficients(made, rows, "satterthwaite"),
    "kenward_roger": lambda made, rows: _coefficients(made, rows, "kenward-roger"),
    "anova3_satt": lambda made, rows: _anova(made, rows, "satterthwaite"),
    "anova3_kr": lambda made, rows: _anova(made, rows, "kenward-roger"),
    "profile": _profile,
}
