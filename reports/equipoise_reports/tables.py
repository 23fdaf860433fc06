"""A table as data: what a heading says, what a cell shows, and by which value it is sorted."""

from __future__ import annotations

from dataclasses import dataclass, field

from equipoise_reports import numbers


@dataclass(frozen=True)
class Column:
    """A column's heading.

    Attributes:
        label: the words over the column.
        title: a longer explanation for a pointer or a screen reader.
        numeric: whether the cells are aligned as numbers.
    """

    label: str
    title: str = ""
    numeric: bool = True


@dataclass(frozen=True)
class Cell:
    """One cell: its text, what it sorts by, and where it leads.

    Attributes:
        text: what is shown.
        sort: the value by which the column is sorted; the text itself when None.
        title: the full value behind a shortened one.
        href: where the text leads, if anywhere.
        mark: a style: ``good``, ``bad``, ``quiet``, ``code`` or nothing.
    """

    text: str
    sort: float | str | None = None
    title: str = ""
    href: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Row:
    """One row: the heading cell that names it, and the cells beside it."""

    head: Cell
    cells: tuple[Cell, ...]
    anchor: str = ""
    first_of_group: bool = False


@dataclass(frozen=True)
class Table:
    """A table with its caption.

    Attributes:
        anchor: the id under which the page links to it.
        caption: one sentence that says what the numbers are.
        columns: the headings, the row headings' own first.
        rows: the rows; each has one cell less than there are columns, its head making up for it.
        sortable: whether the reader may sort it.
    """

    anchor: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    sortable: bool = False
    note: str = field(default="")


def points(value: float | None, digits: int = 1) -> Cell:
    """A difference in percentage points."""
    return Cell(numbers.points(value, digits), sort=value)


def rate(value: float | None) -> Cell:
    """A success rate in per cent."""
    return Cell(numbers.percent(value), sort=value)


def p_value(value: float | None) -> Cell:
    """A p-value."""
    return Cell(numbers.p_value(value), sort=value)


def number(value: float | None, digits: int = 2) -> Cell:
    """A plain number."""
    return Cell(numbers.decimal(value, digits), sort=value)


def count(value: float | None) -> Cell:
    """A count."""
    return Cell(numbers.count(value), sort=value)


def span(values: list[float], digits: int = 0) -> Cell:
    """The range of some counts, sorted by the largest."""
    return Cell(numbers.span(values, digits), sort=max(values) if values else None)


def digest(value: str) -> Cell:
    """A digest, shortened, with the whole of it as its title."""
    return (
        Cell(numbers.short(value), sort=value, title=value, mark="code") if value else Cell(numbers.MISSING)
    )


def word(text: str, mark: str = "", title: str = "") -> Cell:
    """A word or two."""
    return Cell(text, mark=mark, title=title)
