"""Successes of trials with a design matrix and grouping factors: what a logit mixed model is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm.model import FloatArray, IntArray, RandomTerm

__all__ = ["Counts", "FloatArray", "IntArray", "check", "partition"]


@dataclass(frozen=True)
class Counts:
    """Binomial data: successes ~ Binomial(trials, p), logit p = X beta + one intercept for each term.

    Attributes:
        successes: (n,) whole numbers from 0 to ``trials``.
        trials: (n,) whole numbers of at least 1; ones where rows are single episodes.
        X: (n, p) fixed design.
        names: p names of its columns.
        terms: the random intercepts, crossed or nested in any way; random slopes are refused.
    """

    successes: FloatArray
    trials: FloatArray
    X: FloatArray
    names: tuple[str, ...]
    terms: tuple[RandomTerm, ...]


def check(data: Counts) -> None:
    """Refuse data that no logit mixed model can be fitted to.

    Raises:
        StatsError: with one sentence for each fault.
    """
    faults = list(_shape_faults(data)) or [*_count_faults(data), *_term_faults(data)]
    if faults:
        raise StatsError(faults)


def _shape_faults(data: Counts) -> Iterator[str]:
    rows = len(data.successes)
    if data.X.ndim != 2 or data.X.shape != (rows, len(data.names)):
        yield f"X: expected shape ({rows}, {len(data.names)}) from successes and names, got {data.X.shape}"
    if len(data.trials) != rows:
        yield f"trials: expected {rows} values as in successes, got {len(data.trials)}"
    for term in data.terms:
        if len(term.codes) != rows:
            yield f"term '{term.name}': expected {rows} codes as in successes, got {len(term.codes)}"
    if rows == 0:
        yield "successes: expected at least 1 row, got 0"
    if not data.terms:
        yield "terms: expected at least 1 random intercept, got none; use a logistic regression without them"


def _count_faults(data: Counts) -> Iterator[str]:
    s, k = data.successes, data.trials
    whole = (s == np.round(s)) & (k == np.round(k))
    bad = np.flatnonzero(~(np.isfinite(s) & np.isfinite(k) & whole & (k >= 1) & (s >= 0) & (s <= k)))
    if bad.size:
        i = int(bad[0])
        yield (
            f"{bad.size} rows, the first at {i}: expected whole successes from 0 to at least 1 trial, "
            f"got {s[i]} of {k[i]}; leave out rows without trials, and give counts, not rates"
        )
    bad = np.flatnonzero(~np.isfinite(data.X).all(axis=1))
    if bad.size:
        yield f"X: {bad.size} rows are not finite, the first at {int(bad[0])}; give every row its design"
    for name, times in Counter(data.names).items():
        if times > 1:
            yield f"column '{name}' is named {times} times; name it once"


def _term_faults(data: Counts) -> Iterator[str]:
    for name, times in Counter(term.name for term in data.terms).items():
        if times > 1:
            yield f"term '{name}' is given {times} times; give it once"
    seen: dict[bytes, str] = {}
    for term in data.terms:
        if term.width != 1 or not np.all(term.design == 1.0):
            yield f"term '{term.name}': expected an intercept, got columns {term.columns}; slopes are not fitted here"
            continue
        codes = np.asarray(term.codes)
        if codes.min() < 0 or codes.max() >= len(term.levels):
            yield (
                f"term '{term.name}': expected codes from 0 to {len(term.levels) - 1}, "
                f"got {codes.min()} to {codes.max()}"
            )
            continue
        if np.unique(codes).size < 2:
            yield f"term '{term.name}': expected at least 2 groups with rows, got 1; its spread is unknown"
        groups = partition(codes)
        if groups in seen:
            yield (
                f"terms '{seen[groups]}' and '{term.name}' split the rows in the same groups; "
                "keep one of them, their variances cannot be told apart"
            )
        seen.setdefault(groups, term.name)


def partition(codes: IntArray) -> bytes:
    """How codes split the rows, whatever the groups are called."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return first[inverse].tobytes()
