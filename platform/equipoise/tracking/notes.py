"""The Markdown that MLflow shows at the top of an experiment and of its `suite` run."""

from collections.abc import Mapping, Sequence
from typing import cast

from equipoise.tracking.facts import SuiteFacts

__all__ = ["experiment_note", "suite_note", "verdicts_note"]


def experiment_note(facts: SuiteFacts) -> str:
    """Return the question, the frozen hash and the hypotheses of a suite."""
    lines = [f"### {facts.question or facts.name}", "", f"Registration `{facts.hash}`", ""]
    if facts.hypotheses:
        lines += [*(f"- **{label}** {says}" for label, says in facts.hypotheses), ""]
    lines.append(
        "One run per cell (condition x arm x block). A rule wins only where it beats its own twin: compare "
        "`matched` with `twin`, never `native` with `native`. Outcomes (`eval/`) appear when every cell of "
        "their block has ended. The run `suite` carries the registration and the report."
    )
    return "\n".join(lines)


def suite_note(facts: SuiteFacts, ended: int, total: int) -> str:
    """Return the verdicts, once there are any, the suite's progress, and its facts."""
    progress = f"{ended} of {total} cells have ended."
    return "\n\n".join(part for part in (facts.note, progress, experiment_note(facts)) if part)


def verdicts_note(analysis: Mapping[str, object]) -> str:
    """Return the verdict of every hypothesis, from an analysis as JSON.

    Of an entry of `hypotheses` its `id`, `verdict` and `sentence` are shown.
    """
    rows = cast("Sequence[Mapping[str, object]]", analysis.get("hypotheses") or ())
    if not rows:
        return ""
    return "\n".join(
        f"- **{_said(row, 'id')}: {_said(row, 'verdict')}** {_said(row, 'sentence')}" for row in rows
    )


def _said(row: Mapping[str, object], name: str) -> str:
    return " ".join(str(row.get(name) or "").split())
