"""The study as files inside the page."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from equipoise_reports import exports
from equipoise_reports.study import Study


@dataclass(frozen=True)
class File:
    """A file that the page carries: its name, what it is, its size in words and its data URI."""

    name: str
    says: str
    size: str
    uri: str


def view(study: Study) -> tuple[File, ...]:
    """Pack the exports; the analysis and its tables only when every planned run has ended."""
    stem = f"{study.registration.hash8}-"
    files = [
        _file(f"{stem}runs.csv", "every run, full precision", "text/csv", exports.runs_csv(study)),
        _file(
            f"{stem}suite.yaml", "the suite as registered", "application/yaml", study.registration.suite_yaml
        ),
    ]
    if not study.interim and study.analysis is not None:
        files += [
            _file(
                f"{stem}analysis.json", "the whole analysis", "application/json", exports.analysis_json(study)
            ),
            _file(
                f"{stem}decomposition.md",
                "the decomposition for a README",
                "text/markdown",
                exports.decomposition_markdown(study),
            ),
            _file(
                f"{stem}decomposition.tex",
                "the decomposition for a paper (booktabs)",
                "application/x-tex",
                exports.decomposition_latex(study),
            ),
        ]
    return tuple(files)


def _file(name: str, says: str, kind: str, text: str) -> File:
    data = text.encode()
    size = f"{len(data):,} bytes" if len(data) < 2048 else f"{len(data) / 1024:,.0f} KiB"
    return File(name, says, size, f"data:{kind};charset=utf-8;base64,{base64.b64encode(data).decode()}")
