"""Dose and response: what more training buys, how far the curve may be trusted, and what a content is worth in it."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise_reports import numbers, tables
from equipoise_reports.study import Study
from equipoise_reports.tables import Cell, Column, Row, Table
from equipoise_stats import Analysis, Estimate
from equipoise_stats.dose_response import DoseResponse, EquivalentSteps
from equipoise_stats.dose_shape import CurveTest

_WORDS = {"steps": "optimizer steps", "ess": "effective sample size"}
_SLOPES = (
    Column("Dose", numeric=False),
    Column("Condition", numeric=False),
    Column("Slope", "percentage points for e times the dose"),
    Column("Interval", "of the slope"),
    Column("df", "degrees of freedom"),
    Column("p"),
    Column("Worth of the content", "how many times the dose would give what the rule's content gives"),
    Column("Interval", "of that ratio, by Fieller's method"),
)
_SHAPE = (
    Column("Dose", numeric=False),
    Column("Departure", numeric=False),
    Column("F"),
    Column("df", "degrees of freedom of numerator and denominator"),
    Column("p"),
)


@dataclass(frozen=True)
class Curves:
    """What the section shows.

    Attributes:
        refused: why a dose has no curve, a sentence each.
        slopes: by dose and condition; None without a curve.
        shape: tests of the straight line; None likewise.
        saturating: whether a saturating curve fits better, a sentence for each curve.
    """

    refused: tuple[str, ...]
    slopes: Table | None
    shape: Table | None
    saturating: tuple[str, ...]


def view(study: Study) -> Curves | None:
    """Show the curves of both doses; None while planned runs are missing."""
    analysis = study.analysis
    if study.interim or analysis is None:
        return None
    both = (analysis.dose_response, analysis.dose_response_ess)
    fitted = [curve for curve in both if curve.status == "fitted"]
    refused = tuple(
        f"No curve over {_WORDS[curve.dose]}: {curve.reason}." for curve in both if curve.status != "fitted"
    )
    if not fitted:
        return Curves(refused, None, None, ())
    return Curves(
        refused, _slopes(analysis, fitted), _shape(fitted), tuple(_saturating(curve) for curve in fitted)
    )


def _slopes(analysis: Analysis, curves: list[DoseResponse]) -> Table:
    rows: list[Row] = []
    for curve in curves:
        worth = {item.condition: item for item in curve.equivalents}
        own = dict(curve.slopes)
        lines: list[tuple[str, Estimate | None, EquivalentSteps | None]] = [
            ("all together", curve.slope, None)
        ]
        lines += [(name, own.get(name), worth.get(name)) for name in analysis.conditions]
        for place, (name, slope, ratio) in enumerate(lines):
            if slope is not None or ratio is not None:
                cells = (tables.word(name), *_slope(slope), *_worth(ratio))
                rows.append(Row(Cell(_WORDS[curve.dose]), cells, first_of_group=place == 0 and bool(rows)))
    caption = (
        "Percentage points gained with e times the assigned dose, and the dose that a rule's content is worth "
        "(one slope for all). Secondary: it leans on the form of the curve."
    )
    return Table("curve-table", caption, _SLOPES, tuple(rows), sortable=True)


def _slope(slope: Estimate | None) -> tuple[Cell, ...]:
    if slope is None:
        return (Cell("one dose only", mark="quiet"), *(Cell(numbers.MISSING) for _ in range(3)))
    return (
        tables.points(slope.estimate, 2),
        Cell(numbers.interval(slope.ci, 2)),
        tables.number(slope.df, 1),
        tables.p_value(slope.p),
    )


def _worth(item: EquivalentSteps | None) -> tuple[Cell, Cell]:
    if item is None:
        return Cell(numbers.MISSING), Cell(numbers.MISSING)
    if item.ratio is None or item.ci is None:
        why = "the slope may be zero, so that no dose need give it"
        return Cell("not determined", title=why, mark="quiet"), Cell(numbers.MISSING)
    low, high = (numbers.decimal(end, 2) for end in item.ci)
    return Cell(f"{numbers.decimal(item.ratio, 2)}×", sort=item.ratio), Cell(f"{low} to {high}")


def _shape(curves: list[DoseResponse]) -> Table:
    rows: list[Row] = []
    for curve in curves:
        tests = (
            ("curved: natural spline beyond the line", curve.curvature),
            ("slopes of conditions differ, beyond the spline", curve.unequal_slopes),
            ("cells beyond spline and slopes", curve.beyond_spline),
            ("lack of fit: cells beyond the line", curve.lack_of_fit),
        )
        for place, (name, test) in enumerate(tests):
            cells = (tables.word(name), *_test(test))
            rows.append(Row(Cell(_WORDS[curve.dose]), cells, first_of_group=place == 0 and bool(rows)))
    caption = "Where runs depart from one straight line in the logarithm of the dose (F tests)."
    return Table("curve-shape-table", caption, _SHAPE, tuple(rows))


def _test(test: CurveTest | None) -> tuple[Cell, ...]:
    if test is None:
        why = "the assigned doses leave nothing to tell it by"
        return (
            Cell("not testable", title=why, mark="quiet"),
            Cell(numbers.MISSING),
            Cell(numbers.MISSING),
        )
    df = f"{numbers.decimal(test.df[0], 0)}, {numbers.decimal(test.df[1], 1)}"
    return tables.number(test.f, 2), Cell(df), tables.p_value(test.p)


def _saturating(curve: DoseResponse) -> str:
    gain = curve.saturating_gain or 0.0
    better, worse = ("saturating", "logarithmic") if gain > 0 else ("logarithmic", "saturating")
    return (
        f"Over {_WORDS[curve.dose]}, a {better} curve fits better than a {worse} one by "
        f"{numbers.decimal(abs(gain), 1)} of AIC."
    )
