"""The HTML report: what was asked, what was spent, what came out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise_reports.errors import IncoherentStudy, NothingToReport, ReportError
from equipoise_reports.received import GenerationUse, RoundRecord
from equipoise_reports.study import (
    BaseScore,
    ConditionCard,
    Design,
    Registration,
    RunRecord,
    Slot,
    Study,
)

if TYPE_CHECKING:
    from equipoise_reports.html import render

__all__ = [
    "BaseScore",
    "ConditionCard",
    "Design",
    "GenerationUse",
    "IncoherentStudy",
    "NothingToReport",
    "Registration",
    "ReportError",
    "RoundRecord",
    "RunRecord",
    "Slot",
    "Study",
    "render",
]


def __getattr__(name: str) -> object:
    """Load the renderer, and with it the template engine, only when a report is made."""
    if name == "render":
        from equipoise_reports.html import render

        return render
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
