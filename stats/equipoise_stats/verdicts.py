"""Say what one contrast shows: superior, equivalent, inferior, or what would settle it."""

from __future__ import annotations

from equipoise_stats.families import Adjusted, Level, around
from equipoise_stats.results import Estimate, Interval, Verdict
from equipoise_stats.wording import interval, p_value, signed


def verdict(figure: Estimate, adjusted: Adjusted, alpha: float, margin: float) -> Verdict:
    """The verdict of a contrast with a figure.

    Decisions use the family-adjusted p value; ``by at least`` uses the simultaneous interval. A difference
    that is shown comes before equivalence, on both sides alike: an effect can be both real and small.
    """
    if adjusted.p <= alpha and figure.p is not None:
        if figure.estimate < 0:
            return Verdict.INFERIOR
        ends = adjusted.ci_simultaneous
        by_margin = ends is not None and ends[0] > margin
        return Verdict.SUPERIOR_BY_MARGIN if by_margin else Verdict.SUPERIOR
    if adjusted.tost_p <= alpha and figure.p is not None:
        return Verdict.EQUIVALENT
    return Verdict.INCONCLUSIVE


def sentence(
    name: str,
    figure: Estimate,
    adjusted: Adjusted,
    word: Verdict,
    level: Level,
    *,
    blocks: int,
    settling: int | None = None,
) -> str:
    """The verdict in one sentence with its figures.

    Args:
        name: the contrast, such as ``content(gigpo)``.
        figure: the primary figures.
        adjusted: what the family makes of them.
        word: the verdict.
        level: what it was held to, with the smallest effect.
        blocks: complete blocks of the suite.
        settling: blocks that would detect the smallest effect; None where not known.
    """
    margin, own = level.margin, around(figure, level.critical(level.alpha, figure.df))
    shown = f" {interval(own)}" if own is not None else ""
    said = f"{name} is {signed(figure.estimate)}{shown}, adjusted {p_value(adjusted.p)}: {word}"
    if word is Verdict.EQUIVALENT:
        return f"{said} (within ±{margin:g}, adjusted equivalence {p_value(adjusted.tost_p)})"
    if word is Verdict.INCONCLUSIVE and adjusted.gate > level.alpha:
        return f"{said}; the families before it were not all shown (adjusted {p_value(adjusted.gate)})"
    if word is Verdict.INCONCLUSIVE and adjusted.noninferior_p <= level.alpha:
        said = f"{said}, yet not worse by {margin:g} (adjusted {p_value(adjusted.noninferior_p)})"
    if (
        word is Verdict.INCONCLUSIVE
        and _leaves_out_zero(own)
        and not _leaves_out_zero(adjusted.ci_simultaneous)
    ):
        said = f"{said}; that interval is of this contrast alone, and the one that decides holds 0"
    if word is Verdict.INCONCLUSIVE and settling is not None:
        if settling <= blocks:
            return f"{said}; its {blocks} blocks suffice to detect an effect of {margin:g}"
        return f"{said}; about {settling} blocks would detect an effect of {margin:g}"
    return said


def _leaves_out_zero(ends: Interval | None) -> bool:
    return ends is not None and not ends[0] <= 0.0 <= ends[1]


def unpaired(name: str, figure: Estimate) -> str:
    """What is said of a contrast that only one of two analyses can test where they must agree."""
    return (
        f"{name} is {signed(figure.estimate)} {interval(figure.ci)}: inconclusive, because too few blocks have its "
        "cells for its pairs and the pooled error to agree"
    )


def untested(name: str, figure: Estimate) -> str:
    """What is said of a contrast that is the same in every block."""
    return f"{name} is {signed(figure.estimate)} in every block: nothing varies, so nothing can be tested"
