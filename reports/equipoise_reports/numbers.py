"""Numbers as people read them: percentage points with a true minus sign, p-values, counts, digests."""

from __future__ import annotations

import math

MINUS = "\u2212"
MISSING = "\u2013"
_SUPERSCRIPTS = str.maketrans("-0123456789", "\u207b⁰¹²³⁴⁵⁶⁷⁸⁹")


def _known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def signed(value: float | None, digits: int = 1) -> str:
    """A signed number with a true minus sign; a value that rounds to zero carries no sign."""
    if value is None or not math.isfinite(value):
        return MISSING
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0.0:
        return text
    return f"{MINUS if value < 0 else '+'}{text}"


def points(value: float | None, digits: int = 1) -> str:
    """A difference of success rates in percentage points: 0.0312 gives ``+3.1``."""
    return signed(None if value is None else 100 * value, digits)


def interval(bounds: tuple[float, float] | None, digits: int = 1) -> str:
    """An interval of differences in percentage points: ``−1.2 to +7.4``."""
    if bounds is None or not (_known(bounds[0]) and _known(bounds[1])):
        return MISSING
    return f"{points(bounds[0], digits)} to {points(bounds[1], digits)}"


def percent(value: float | None, digits: int = 1) -> str:
    """A success rate: 0.4625 gives ``46.2 %``."""
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{100 * value:.{digits}f}\u00a0%"


def p_value(value: float | None) -> str:
    """A p-value to three digits, never printed as zero."""
    if value is None or not math.isfinite(value):
        return MISSING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def p_is(value: float | None) -> str:
    """A p-value within a sentence, kept on one line: ``p = 0.034``, ``p < 0.001``."""
    text = p_value(value).replace(" ", "\u00a0")
    return f"p\u00a0{text}" if text.startswith("<") else f"p\u00a0=\u00a0{text}"


def decimal(value: float | None, digits: int = 2) -> str:
    """A plain number with a fixed count of digits and a true minus sign."""
    if value is None or not math.isfinite(value):
        return MISSING
    text = f"{abs(value):,.{digits}f}"
    return f"{MINUS}{text}" if value < 0 and float(text.replace(",", "")) != 0.0 else text


def count(value: float | None) -> str:
    """A count with thousands separated; fractions (means of counts) keep one digit."""
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def span(values: list[float] | tuple[float, ...], digits: int = 0) -> str:
    """The smallest and the largest of some counts, or the one number when they are equal."""
    if not values:
        return MISSING
    low, high = min(values), max(values)
    if f"{low:.{digits}f}" == f"{high:.{digits}f}":
        return f"{low:,.{digits}f}"
    return f"{low:,.{digits}f} \u2026 {high:,.{digits}f}"


def scientific(value: float | None) -> str:
    """A large number in powers of ten: ``1.23 × 10¹²``; numbers under 10,000 stay plain."""
    if value is None or not math.isfinite(value):
        return MISSING
    if abs(value) < 10_000:
        return count(round(value, 1))
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa} × 10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def duration(seconds: float | None) -> str:
    """Seconds in the unit a person would choose."""
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    if seconds < 120:
        return f"{seconds:.1f}\u00a0s"
    if seconds < 7200:
        return f"{seconds / 60:.1f}\u00a0min"
    return f"{seconds / 3600:.1f}\u00a0h"


def short(digest: str) -> str:
    """The first eight characters of a digest, its scheme left out: ``eq1:0123456789`` gives ``01234567``."""
    return digest.rpartition(":")[2][:8]


def listed(names: list[str] | tuple[str, ...], last: str = "and") -> str:
    """Names as a sentence lists them: ``a``, ``a and b``, ``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def plural(number: int, noun: str, many: str | None = None) -> str:
    """A count with its noun: ``1 run``, ``12 runs``."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def sentence(text: str) -> str:
    """Words as a sentence: a capital first, a full stop last; empty stays empty."""
    text = text.strip()
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")
