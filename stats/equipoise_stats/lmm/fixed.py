"""A right-hand side as a matrix, by formulaic, with R's coding and R's names of columns.

Names and levels go to formulaic as neutral words (v0, "0"), so that no label can be read as code or change the
order of levels; what comes back is renamed the way R names it: ``rulegae``, ``rulegae:armnative``, ``days.L``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from equipoise_stats.errors import StatsError
from equipoise_stats.lmm import splines
from equipoise_stats.lmm.columns import Column, tokens
from equipoise_stats.lmm.model import FloatArray, IntArray

_LEVEL = re.compile(r"v(\d+)\[(?:T\.)?(\d+)\]\Z")
_POLYNOMIAL = re.compile(r"C\(v(\d+), contr\.(?:poly|sum)\)\[(.+)\]\Z")
_WHOLE = re.compile(r"(?:C\()?v(\d+)(?:, contr\.(?:poly|sum)\))?\Z")
_BASIS = re.compile(r"(.+)\[(\d+)\]\Z")
_SAFE = re.compile(r"\bv(\d+)\b")


@dataclass(frozen=True)
class Term:
    """One term of the fixed part, such as rule:arm.

    Attributes:
        name: as R names it; "(Intercept)" for the intercept.
        factors: names of the factors it crosses.
        numbers: what else it is made of, as written.
        columns: positions of its columns in the matrix.
    """

    name: str
    factors: tuple[str, ...]
    numbers: tuple[str, ...]
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Design:
    """How rows of data become rows of a matrix.

    Attributes:
        columns: the columns of the data it reads.
        names: names of the matrix's columns, as R names them.
        terms: its terms in order.
        matrix: (n, p) for the data it was read from.
        treated: factors whose baseline has no column of its own.
        text: what it was read from.
    """

    columns: tuple[Column, ...]
    names: tuple[str, ...]
    terms: tuple[Term, ...]
    matrix: FloatArray
    treated: tuple[str, ...]
    text: str
    spec: Any = field(repr=False, compare=False)

    def rows(self, points: Sequence[Mapping[str, str | float]]) -> FloatArray:
        """(m, p) the matrix for other points.

        Args:
            points: for each row the level or number of every column.
        """
        import pandas as pd

        if not self.columns:
            return np.ones((len(points), 1))
        found: dict[str, Any] = {}
        for place, column in enumerate(self.columns):
            values = [point[column.name] for point in points]
            if column.factor:
                codes = np.array([column.levels.index(str(value)) for value in values], dtype=np.int64)
                found[f"v{place}"] = _category(codes, column)
            else:
                found[f"v{place}"] = np.array(values, dtype=np.float64)
        frame = pd.DataFrame(found, index=range(len(points)))
        return np.asarray(self.spec.get_model_matrix(frame, context=_context()), dtype=np.float64)


def constant(rows: int) -> Design:
    """The intercept alone."""
    return Design(
        (), ("(Intercept)",), (Term("(Intercept)", (), (), (0,)),), np.ones((rows, 1)), (), "1", None
    )


def sum_coded(design: Design) -> Design:
    """The same terms with every factor coded by contrasts that sum to zero."""
    return build(design.text, design.columns, sums=True) if design.columns else design


def treatment_coded(design: Design) -> Design:
    """The same terms with ordered factors coded against their first level, as others are."""
    return build(design.text, [replace(column, ordered=False) for column in design.columns])


def build(text: str, columns: Sequence[Column], *, sums: bool = False) -> Design:
    """Read a right-hand side, such as ``rule * arm + log(steps)``.

    Args:
        text: the right-hand side.
        columns: the columns it names.
        sums: code factors by contrasts that sum to zero, not against their baseline.

    Raises:
        StatsError: what formulaic cannot read or compute.
    """
    import pandas as pd
    from formulaic import model_matrix
    from formulaic.errors import FormulaicError

    found: dict[str, Any] = {
        f"v{place}": _category(column.codes, column) if column.factor else column.values
        for place, column in enumerate(columns)
    }
    rows = columns[0].codes.size + columns[0].values.size if columns else 1
    frame = pd.DataFrame(found, index=range(rows))
    try:
        made = model_matrix(_neutral(text, columns, sums=sums), frame, context=_context())
    except FormulaicError as error:
        raise StatsError(
            f"formula: expected terms such as rule * arm, got {text!r}: {_said(error, columns)}"
        ) from error
    matrix = np.asarray(made, dtype=np.float64)
    raw = [str(name) for name in made.columns]
    treated = {int(place) for name in raw for place in re.findall(r"\bv(\d+)\[T\.", name)}
    return Design(
        columns=tuple(columns),
        names=tuple(":".join(_renamed(part, columns) for part in name.split(":")) for name in raw),
        terms=_terms(made.model_spec, columns),
        matrix=matrix,
        treated=tuple(columns[place].name for place in sorted(treated)),
        text=text,
        spec=made.model_spec,
    )


def evaluate(text: str, columns: Sequence[Column]) -> FloatArray:
    """(n,) the value of one expression, such as a response ``log(time)`` or ``s / k``.

    Raises:
        StatsError: an expression that cannot be computed, or one with a factor in it.
    """
    if any(column.factor for column in columns):
        names = ", ".join(column.name for column in columns if column.factor)
        raise StatsError(f"response {text}: expected numbers, got labels in {names}")
    if len(columns) == 1 and text.strip("`") == columns[0].name:
        return columns[0].values
    return build(f"0 + I({text})", columns).matrix[:, 0]


def _category(codes: IntArray, column: Column) -> Any:
    import pandas as pd

    names = pd.Index([str(k) for k in range(len(column.levels))])
    return pd.Categorical.from_codes(codes, categories=names)


def _context() -> dict[str, Any]:
    from formulaic.transforms import stateful_transform

    return {"ns": stateful_transform(splines.ns), "sqrt": np.sqrt, "abs": np.abs}


def _neutral(text: str, columns: Sequence[Column], *, sums: bool = False) -> str:
    place = {column.name: k for k, column in enumerate(columns)}
    out: list[str] = []
    depth = 0
    pieces = tokens(text)
    for number, piece in enumerate(pieces):
        depth += (piece == "(") - (piece == ")")
        name = piece.strip("`")
        after = "".join(pieces[number + 1 :]).lstrip()[:1]
        if name in place and after not in ("(", "="):
            out.append(_coded(place[name], columns[place[name]], sums=sums))
        else:
            out.append("**" if piece == "^" else piece)
    return "".join(out)


def _coded(place: int, column: Column, *, sums: bool) -> str:
    if not column.factor or not (sums or column.ordered):
        return f"v{place}"
    return f"C(v{place}, contr.{'sum' if sums else 'poly'})"


def _said(error: Exception, columns: Sequence[Column]) -> str:
    first = re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error)).split("\n")[0]
    return _SAFE.sub(lambda found: columns[int(found[1])].name, first)


def _expression(text: str, columns: Sequence[Column]) -> str:
    plain = text.replace(" ** ", "^").replace("**", "^").replace(" / ", "/")
    return _SAFE.sub(lambda found: columns[int(found[1])].name, plain)


def _renamed(part: str, columns: Sequence[Column]) -> str:
    if part == "Intercept":
        return "(Intercept)"
    if found := _LEVEL.match(part):
        column = columns[int(found[1])]
        return column.name + column.levels[int(found[2])]
    if found := _POLYNOMIAL.match(part):
        column = columns[int(found[1])]
        return column.name + (column.levels[int(found[2])] if found[2].isdigit() else found[2])
    if found := _BASIS.match(part):
        return _expression(found[1], columns) + found[2]
    return _expression(part, columns)


def _terms(spec: Any, columns: Sequence[Column]) -> tuple[Term, ...]:
    terms = []
    for term, places in spec.term_slices.items():
        factors: list[str] = []
        numbers: list[str] = []
        for piece in term.factors:
            whole = _WHOLE.match(piece.expr)
            if whole and columns[int(whole[1])].factor:
                factors.append(columns[int(whole[1])].name)
            elif piece.expr != "1":
                numbers.append(_expression(piece.expr, columns))
        name = ":".join([_term_part(piece.expr, columns) for piece in term.factors])
        terms.append(Term(name, tuple(factors), tuple(numbers), tuple(range(places.start, places.stop))))
    return tuple(terms)


def _term_part(text: str, columns: Sequence[Column]) -> str:
    whole = _WHOLE.match(text)
    return "(Intercept)" if text == "1" else _expression(f"v{whole[1]}" if whole else text, columns)
