"""The notation of lme4, as text: response, fixed part and the bars of the random part.

Bates, Maechler, Bolker & Walker (2015), *J. Stat. Softw.* 67(1), table 2: ``(1 | g)``, ``(1 | a:b)``,
``(1 | a/b)``, ``(x | g)``, ``(0 + x | g)``, ``(x || g)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from equipoise_stats.errors import StatsError

_GROUP = re.compile(r"[A-Za-z.][\w.]*(\s*:\s*[A-Za-z.][\w.]*)*\Z")


@dataclass(frozen=True)
class Bar:
    """One random term as written: the columns of ``design`` vary, correlated, between the groups of ``group``.

    Attributes:
        design: right-hand side of a formula, such as "1 + days".
        group: columns whose combinations are the groups, such as ("rule", "task").
    """

    design: str
    group: tuple[str, ...]

    @property
    def name(self) -> str:
        """The grouping as lme4 prints it, such as "rule:task"."""
        return ":".join(self.group)


@dataclass(frozen=True)
class Parsed:
    """A formula taken apart.

    Attributes:
        response: left of the tilde.
        fixed: right of the tilde without the random terms; "1" when nothing else is there.
        bars: the random terms, nestings and ``||`` written out.
    """

    response: str
    fixed: str
    bars: tuple[Bar, ...]


def parse(formula: str) -> Parsed:
    """Take a formula apart.

    Raises:
        StatsError: every fault found in the formula's shape.
    """
    parsed, faults = take_apart(formula)
    if faults:
        raise StatsError(faults)
    return parsed


def take_apart(formula: str) -> tuple[Parsed, list[str]]:
    """A formula taken apart as far as it can be read, and the faults of its random terms.

    Raises:
        StatsError: a formula without two sides, or with open brackets.
    """
    sides = formula.split("~")
    if len(sides) != 2 or not sides[0].strip() or not sides[1].strip():
        raise StatsError(
            f"formula: expected one '~' with a response before it and terms after it, got {formula!r}"
        )
    if not _balanced(formula):
        raise StatsError(f"formula: expected every bracket closed, got {formula!r}")
    faults: list[str] = []
    fixed: list[str] = []
    bars: list[Bar] = []
    for sign, piece in _terms(sides[1]):
        if "|" not in piece:
            fixed.append(f"{sign} {piece}")
            continue
        try:
            bars += _bars(sign, piece)
        except StatsError as error:
            faults += error.faults
    if not bars and not faults:
        faults.append(
            f"formula: expected at least one random term such as (1 | seed), got none in {formula!r}; "
            "without one use least squares"
        )
    return Parsed(sides[0].strip(), " ".join(fixed).removeprefix("+ ") or "1", tuple(bars)), faults


def _balanced(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0


def split(text: str, separators: str) -> Iterator[tuple[str, str]]:
    """Pieces of a text between separators outside brackets, each with the separator before it ("" for the first)."""
    depth, start, before = 0, 0, ""
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and letter in separators:
            yield before, text[start:place].strip()
            before, start = letter, place + 1
    yield before, text[start:].strip()


def _terms(text: str) -> Iterator[tuple[str, str]]:
    for sign, piece in split(text, "+-"):
        if not piece:
            continue
        inner = _inside(piece)
        if inner is not None and "|" in inner and len(list(split(inner, "|"))) == 1:
            yield from _terms(inner)
        else:
            yield sign or "+", piece


def _inside(piece: str) -> str | None:
    """What stands in the brackets that hold a whole piece."""
    if not (piece.startswith("(") and piece.endswith(")")) or not _balanced(piece[1:-1]):
        return None
    return piece[1:-1]


def _bars(sign: str, piece: str) -> Iterator[Bar]:
    inner = _inside(piece)
    if inner is None:
        raise StatsError(f"formula: expected random terms in brackets, such as (1 | seed), got {piece!r}")
    if sign == "-":
        raise StatsError(
            f"formula: expected random terms to be added, got '- {piece}'; design terms are never dropped"
        )
    parts = [text for _, text in split(inner, "|")]
    apart = len(parts) == 3 and not parts[1]
    if len(parts) not in (2, 3) or (len(parts) == 3 and not apart):
        raise StatsError(f"formula: expected one | or || in a random term, got {piece!r}")
    design, group = parts[0], parts[-1]
    if not design:
        raise StatsError(f"formula: expected what varies before the |, such as 1, got {piece!r}")
    designs = _apart(design) if apart else (design,)
    for names in _groups(group, piece):
        for each in designs:
            yield Bar(each, names)


def _apart(design: str) -> tuple[str, ...]:
    """The uncorrelated parts of ``x || g``: the intercept, unless removed, and every other term alone."""
    terms = [text for _, text in split(design, "+") if text]
    named = [text for text in terms if text not in ("0", "1")]
    first = () if "0" in terms else ("1",)
    return (*first, *(f"0 + {text}" for text in named))


def _groups(group: str, piece: str) -> Iterator[tuple[str, ...]]:
    """``a/b`` is a and b within a; ``a:b`` is the combination."""
    outer: tuple[str, ...] = ()
    for _, text in split(_inside(group) or group, "/"):
        if not _GROUP.match(text):
            raise StatsError(
                f"formula: expected columns joined by ':' or '/' after the |, got {text!r} in {piece!r}; "
                "compute other groupings as a column first"
            )
        outer = (*(name.strip() for name in text.split(":")), *outer)
        yield outer
