"""Numbers as the sentences of an analysis write them."""

from __future__ import annotations

from equipoise_stats.results import Interval


def signed(value: float) -> str:
    """A difference in success rate with its sign, three decimals."""
    return f"{value:+.3f}"


def p_value(p: float) -> str:
    """A p value as ``p = 0.012`` or ``p < 0.0001``."""
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def interval(ends: Interval) -> str:
    """An interval in brackets, with signs."""
    return f"[{signed(ends[0])}, {signed(ends[1])}]"
