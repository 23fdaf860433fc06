"""Say what one contrast shows: superior, equivalent, inferior, or what would settle it."""

from __future__ import annotations

from equipoise_stats.families import Adjusted
from equipoise_stats.results import Estimate, Verdict
from equipoise_stats.wording import interval, p_value, signed


def verdict(figure: Estimate, adjusted: Adjusted, alpha: float, margin: float) -> Verdict:
    """The verdict of a contrast with a figure.

    Decisions use the family-adjusted p value; ``by at least`` uses the simultaneous interval. A difference
    that is shown comes before equivalence, on both sides alike: an effect can be both real and small.
    """
    if adjusted.p <= alpha and figure.p is not None:
        if figure.estimate < 0:
            return Verdict.INFERIOR
        return Verdict.SUPERIOR_BY_MARGIN if adjusted.ci_simultaneous[0] > margin else Verdict.SUPERIOR
    if adjusted.tost_p <= alpha and figure.p is not None:
        return Verdict.EQUIVALENT
    return Verdict.INCONCLUSIVE


def sentence(
    name: str,
    figure: Estimate,
    adjusted: Adjusted,
    word: Verdict,
    margin: float,
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
        margin: the smallest effect.
        blocks: complete blocks of the suite.
        settling: blocks that would detect the smallest effect; None where not known.
    """
    said = (
        f"{name} is {signed(figure.estimate)} {interval(figure.ci)}, adjusted {p_value(adjusted.p)}: {word}"
    )
    if word is Verdict.EQUIVALENT:
        return f"{said} (within ±{margin:g}, adjusted equivalence {p_value(adjusted.tost_p)})"
    if word is Verdict.INCONCLUSIVE and settling is not None:
        if settling <= blocks:
            return f"{said}; its {blocks} blocks suffice to detect an effect of {margin:g}"
        return f"{said}; about {settling} blocks would detect an effect of {margin:g}"
    return said


def untested(name: str, figure: Estimate) -> str:
    """What is said of a contrast that is the same in every block."""
    return f"{name} is {signed(figure.estimate)} in every block: nothing varies, so nothing can be tested"
