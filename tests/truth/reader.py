"""Every table of a folder, compared; what the reader does not know is a fault, never skipped."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator
from typing import Any

from tests.truth import compare, folder, refit, tables

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm.fit import fit
from equipoise_stats.lmm.formula import read

ABOUT = ("meta", "seconds")


def of_linear_models(entry: Any) -> bool:
    """Whether an entry is of a linear mixed model: logit models say z where these say t, and are read elsewhere."""
    rows = [entry] if isinstance(entry, list) else list(entry.values()) if isinstance(entry, dict) else []
    heads = [table[0] for table in rows if isinstance(table, list) and table and isinstance(table[0], dict)]
    return not any(key in head for head in heads for key in ("z value", "z.ratio", "z", "asymp.LCL"))


def entries() -> list[tuple[str, str]]:
    """Names of every file and entry that is not about the file itself."""
    return [
        (stem, key)
        for stem, content in folder.results().items()
        for key, entry in content.items()
        if key not in ABOUT and of_linear_models(entry) and not key.endswith("_note")
    ]


@functools.cache
def _fits(stem: str) -> dict[str, refit.Refit]:
    """Every fit of a file that could be made again; one that could not is a fault of its own entry."""
    found = {}
    for key, entry in folder.results()[stem].items():
        if _is_fit(entry):
            with contextlib.suppress(LookupError, StatsError):
                found[key] = _fit(stem, key)
    return found


def _is_fit(entry: Any) -> bool:
    return isinstance(entry, dict) and {"formula", "fixef_names", "nobs"} <= set(entry)


@functools.cache
def _fit(stem: str, key: str) -> refit.Refit:
    return refit.refit(stem, folder.results()[stem][key])


def faults(stem: str, key: str) -> list[str]:
    """Every number of one entry that is not as R has it."""
    try:
        return _faults(stem, key)
    except (LookupError, StatsError) as error:
        return [f"{stem}.{key}: {error}"]


def _faults(stem: str, key: str) -> list[str]:
    entry = folder.results()[stem][key]
    if _is_fit(entry):
        return list(compare.compare_fit(_fit(stem, key), entry))
    if isinstance(entry, dict):
        return list(_group(stem, key, entry))
    if tables.known(entry):
        return tables.compare_table(key, entry, _fits(stem))
    if isinstance(entry, list) and entry and "Chisq" in entry[0]:
        return list(_ratio_test(stem, entry))
    return [f"{stem}.{key}: a table that this reader does not know"]


def _group(stem: str, key: str, entry: dict[str, Any]) -> Iterator[str]:
    for name, rows in entry.items():
        if name in ("mode", "tost_delta"):
            continue
        if not tables.known(rows):
            yield f"{name}: a table that this reader does not know"
            continue
        found = tables.compare_table(
            f"{key}.{name}", rows, _fits(stem), entry.get("mode"), entry.get("tost_delta")
        )
        yield from (f"{name}: {fault}" for fault in found)


def _ratio_test(stem: str, rows: compare.Table) -> Iterator[str]:
    """A likelihood-ratio table: its models are fits of the file by ML, or named by their formula in the row."""
    content = folder.results()[stem]
    fits = []
    for row in rows:
        spelled = re.search(r"([\w.]+ ~ [^,]+)", row["_row"])
        near = [k for k, v in content.items() if isinstance(v, dict) and not v.get("reml", True)]
        if spelled:
            base = next(iter(_fits(stem).values()))
            fits.append(fit(read(spelled[1], base.frame), reml=False))
        else:
            made = [_fits(stem)[k].fit for k in near]
            gaps = [abs(each.loglik - row["logLik"]) for each in made]
            fits.append(made[gaps.index(min(gaps))])
    for row, before, made_again in zip(rows, [None, *fits], fits, strict=False):
        npar = len(made_again.names) + len(made_again.components)
        yield from compare.off("npar", row["npar"], npar, 0)
        for name, got in (
            ("AIC", made_again.AIC),
            ("BIC", made_again.BIC),
            ("deviance", -2 * made_again.loglik),
        ):
            yield from compare.off(name, row[name], got, 2 * compare.LOGLIK)
        yield from compare.off("logLik", row["logLik"], made_again.loglik, compare.LOGLIK)
        if before is not None and row["Chisq"] is not None:
            yield from _chi_square(row, 2 * (made_again.loglik - before.loglik))


def _chi_square(row: Any, statistic: float) -> Iterator[str]:
    from scipy.stats import chi2

    yield from compare.off("Chisq", row["Chisq"], statistic, 4 * compare.LOGLIK)
    yield from compare.off("p", row["Pr(>Chisq)"], float(chi2.sf(statistic, row["Df"])), compare.P)
