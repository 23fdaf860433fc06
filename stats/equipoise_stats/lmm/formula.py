"""Formulas in lme4's notation, read against data into the problem that a fit answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import columns as data_columns
from equipoise_stats.lmm import fixed, notation
from equipoise_stats.lmm.columns import Column
from equipoise_stats.lmm.model import FloatArray, Problem, RandomTerm

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Reading(Problem):
    """A problem that remembers the formula it was read from.

    Attributes:
        formula: as given.
        design: the fixed part: its factors, terms and how to make rows for other points.
    """

    formula: str
    design: fixed.Design


def read(
    formula: str,
    data: pd.DataFrame | Mapping[str, Any],
    *,
    baseline: Mapping[str, str] | None = None,
    weights: str | npt.ArrayLike | None = None,
    unique: Sequence[str] = (),
) -> Reading:
    """Read a formula against data.

    Args:
        formula: such as ``score ~ rule * arm + (1 | seed) + (1 | rule:task)``.
        data: a frame, or columns by name. Text, categories and truth values are factors; ordered categories are
            coded by orthogonal polynomials; numbers are numbers.
        baseline: for every factor that is coded against one, the level it is coded against.
        weights: a column, or (n,) numbers above 0.
        unique: columns whose combination names a row, such as ("run",); a second row of the same is refused.

    Raises:
        StatsError: every fault found in formula, columns, baselines and rows.
    """
    import pandas as pd

    frame = data if isinstance(data, pd.DataFrame) else pd.DataFrame(dict(data))
    parsed, faults = notation.take_apart(formula)
    chosen = dict(baseline or {})
    known = [str(name) for name in frame.columns]
    named = [data_columns.names_in(text, known) for text in _texts(parsed)]
    groups = [name for bar in parsed.bars for name in bar.group]
    extra = list(dict.fromkeys([*groups, *unique, *([weights] if isinstance(weights, str) else [])]))
    faults += [fault for _, found in named for fault in found]
    faults += [fault for name in extra for fault in data_columns.names_in(f"`{name}`", known)[1]]
    if frame.shape[0] == 0:
        faults.append("data: expected at least one row, got none")
    designed = list(dict.fromkeys(name for names, _ in named for name in names))
    for name in dict.fromkeys([*designed, *(name for name in extra if name in known)]):
        faults += data_columns.missing_rows(frame, name)
    faults += _repeated(frame, [name for name in unique if name in known])
    faults += data_columns.baseline_faults(frame, chosen, designed)
    if faults:
        raise StatsError(list(dict.fromkeys(faults)))
    return _assemble(formula, parsed, frame, chosen, weights)


def _texts(parsed: notation.Parsed) -> tuple[str, ...]:
    return (parsed.response, parsed.fixed, *(bar.design for bar in parsed.bars))


def _repeated(frame: pd.DataFrame, unique: Sequence[str]) -> Iterator[str]:
    if not unique:
        return
    twice = frame[frame.duplicated(list(unique))]
    if len(twice):
        first = ", ".join(f"{name} {twice.iloc[0][name]}" for name in unique)
        yield (
            f"data: expected one row for each {', '.join(unique)}, got {len(twice)} repeated "
            f"(the first: {first} in row {twice.index[0]}); keep the row that was committed"
        )


def _assemble(
    formula: str,
    parsed: notation.Parsed,
    frame: pd.DataFrame,
    baseline: Mapping[str, str],
    weights: str | npt.ArrayLike | None,
) -> Reading:
    faults: list[str] = []
    cache: dict[str, Column] = {}
    known = [str(name) for name in frame.columns]

    def columns_of(text: str) -> list[Column]:
        names = data_columns.names_in(text, known)[0]
        for name in names:
            if name not in cache:
                cache[name] = data_columns.read_column(frame[name], name, baseline.get(name))
        return [cache[name] for name in names]

    designs: list[fixed.Design | None] = []
    for text in (parsed.fixed, *(bar.design for bar in parsed.bars)):
        try:
            designs.append(_design(text, columns_of(text), frame.shape[0]))
        except StatsError as error:
            faults += error.faults
            designs.append(None)
    response = np.zeros(0)
    try:
        response = fixed.evaluate(parsed.response, columns_of(parsed.response))
    except StatsError as error:
        faults += error.faults
    main = designs[0]
    if faults or main is None:
        raise StatsError(list(dict.fromkeys(faults)))
    return Reading(
        y=response,
        X=main.matrix,
        names=main.names,
        terms=tuple(
            _term(bar, made, frame) for bar, made in zip(parsed.bars, designs[1:], strict=True) if made
        ),
        weights=_weights(frame, weights),
        formula=formula,
        design=main,
    )


def _design(text: str, columns: Sequence[Column], rows: int) -> fixed.Design:
    faults = [
        f"factor {column.name}: expected at least 2 levels, got only {column.levels[0]!r}"
        for column in columns
        if len(column.levels) == 1
    ]
    if faults:
        raise StatsError(faults)
    if not columns:
        if text.replace(" ", "") != "1":
            raise StatsError(f"formula: expected columns or 1, got {text!r}")
        return fixed.constant(rows)
    made = fixed.build(text, columns)
    faults = [
        f"factor {column.name}: expected its baseline by name, got none; pass "
        f"baseline={{{column.name!r}: ...}} with one of {', '.join(column.levels)}"
        for column in columns
        if column.name in made.treated and not column.baseline
    ]
    if faults:
        raise StatsError(faults)
    return made


def _term(bar: notation.Bar, design: fixed.Design, frame: pd.DataFrame) -> RandomTerm:
    import pandas as pd

    code = np.zeros(frame.shape[0], dtype=np.int64)
    labels: list[str] = [""]
    for name in bar.group:
        inner, levels = pd.factorize(frame[name], sort=True)
        code, pairs = pd.factorize(code * len(levels) + inner, sort=True)
        words = [str(level) for level in levels]
        labels = [f"{labels[int(pair) // len(words)]}:{words[int(pair) % len(words)]}" for pair in pairs]
    names = tuple(label[1:] for label in labels)
    return RandomTerm(bar.name, code.astype(np.int64), names, design.matrix, design.names)


def _weights(frame: pd.DataFrame, weights: str | npt.ArrayLike | None) -> FloatArray | None:
    if weights is None:
        return None
    return np.asarray(frame[weights] if isinstance(weights, str) else weights, dtype=np.float64)
