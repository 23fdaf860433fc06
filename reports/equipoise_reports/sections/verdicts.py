"""The words of the analysis, and the marks that the page gives them."""

from __future__ import annotations

from equipoise_reports import numbers
from equipoise_reports.tables import Cell
from equipoise_stats import Analysis, Contrast, Finding, Verdict

_MARKS = {
    Verdict.SUPERIOR_BY_MARGIN: "good",
    Verdict.SUPERIOR: "good",
    Verdict.INFERIOR: "bad",
    Verdict.INADMISSIBLE: "bad",
}
# Verdicts without figures.
WORDLESS = (Verdict.NOT_ESTIMABLE, Verdict.INADMISSIBLE, Verdict.BY_CONSTRUCTION)
_FINDINGS = {
    Finding.CONFIRMED: "good",
    Finding.REFUTED: "bad",
    Finding.INADMISSIBLE: "bad",
    Finding.DEVIATED: "bad",
}


def bounds(contrast: Contrast) -> tuple[float, float] | None:
    """The interval that carries the verdict: simultaneous over its family where it is a member of one."""
    return contrast.ci_simultaneous or contrast.ci


def cell(analysis: Analysis, contrast: Contrast | None) -> Cell:
    """A verdict, or the reason why there is none; a failed control takes the word from every contrast."""
    if contrast is None:
        return Cell(numbers.MISSING)
    if analysis.void and contrast.verdict not in WORDLESS:
        return Cell("inadmissible: a control failed", mark="wrap bad")
    text = str(contrast.verdict)
    if contrast.verdict is Verdict.SUPERIOR_BY_MARGIN:
        text = f"superior by ≥ {100 * analysis.smallest_effect:g} points"
    wrap = ""
    if contrast.reasons:
        text, wrap = f"{text}: {'; '.join(contrast.reasons)}", "wrap"
    if contrast.flags:
        text, wrap = f"{text}, but {'; '.join(contrast.flags)}", "wrap"
    return Cell(
        text,
        mark=" ".join(
            filter(None, (wrap, _MARKS.get(contrast.verdict, "") if contrast.kind == "content" else ""))
        ),
    )


def finding_mark(finding: Finding) -> str:
    """The style of a hypothesis's word."""
    return _FINDINGS.get(finding, "none")


def find(analysis: Analysis, condition: str, kind: str) -> Contrast | None:
    """A contrast, or None where the suite has no such contrast."""
    chosen = [item for item in analysis.contrasts if (item.condition, item.kind) == (condition, kind)]
    return chosen[0] if chosen else None


def level(analysis: Analysis) -> str:
    """The confidence level in words: ``95 %``."""
    return f"{100 * (1 - analysis.alpha):g}\u00a0%"


def brief(contrast: Contrast | None) -> Cell:
    """Estimate and interval in one cell, or the word that stands instead of them."""
    if contrast is None:
        return Cell(numbers.MISSING)
    if contrast.estimate is None or contrast.verdict in (Verdict.NOT_ESTIMABLE, Verdict.INADMISSIBLE):
        return Cell(str(contrast.verdict), title="; ".join(contrast.reasons), mark="quiet")
    if contrast.verdict is Verdict.BY_CONSTRUCTION:
        return Cell("0 by construction", sort=0.0, title=contrast.sentence, mark="quiet")
    text = f"{numbers.points(contrast.estimate)} ({numbers.interval(bounds(contrast))})"
    return Cell(text, sort=contrast.estimate)
