"""The page: sections in reading order, style and script inside it, the same bytes for the same study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined

from equipoise_reports import downloads
from equipoise_reports.checks import check
from equipoise_reports.sections import (
    budget,
    cost,
    curve,
    decomposition,
    dose,
    generation,
    learning,
    methods,
    naive,
    power,
    provenance,
    result,
    robustness,
    rounds,
    runs,
    tuning,
)
from equipoise_reports.study import Study


@dataclass(frozen=True)
class Section:
    """A section of the page: where it is, what stands over it, what it shows and with which template."""

    anchor: str
    heading: str
    view: object

    @property
    def template(self) -> str:
        """The template that shows it."""
        return f"sections/{self.anchor}.html.j2"


# Reading order. A view that is None has nothing to show in this study and is left out of the page.
_SECTIONS: tuple[tuple[str, str, Callable[[Study], object]], ...] = (
    ("result", "Result", result.view),
    ("decomposition", "What the difference is made of", decomposition.view),
    ("budget", "Was the budget held?", budget.view),
    ("dose", "How much training each rule leaves", dose.view),
    ("rounds", "Round by round", rounds.view),
    ("runs", "Every run", runs.view),
    ("naive", "What an unmatched comparison would have said", naive.view),
    ("learning", "Was anything learned?", learning.view),
    ("robustness", "Would another analysis say the same?", robustness.view),
    ("curve", "What more training buys", curve.view),
    ("power", "What could have been seen", power.view),
    ("tuning", "How hyper-parameters were chosen", tuning.view),
    ("cost", "What the credit cost", cost.view),
    ("generation", "What generation was allowed and used", generation.view),
    ("conditions", "The conditions", lambda study: study.conditions),
    ("reading", "How to read this page", lambda study: study.design),
    ("methods", "Methods", methods.view),
    ("provenance", "Provenance", provenance.view),
    ("downloads", "Downloads", downloads.view),
)


def render(study: Study) -> str:
    """The report of a study: one self-contained HTML file.

    Nothing in it is fetched, dated or random, so that the same study gives the same bytes.

    Raises:
        NothingToReport: no run has ended.
        IncoherentStudy: the parts of the study disagree.
    """
    check(study)
    environment = Environment(
        loader=PackageLoader("equipoise_reports", "templates"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    sections = [Section(anchor, heading, view(study)) for anchor, heading, view in _SECTIONS]
    return environment.get_template("report.html.j2").render(
        study=study,
        sections=[section for section in sections if section.view is not None],
        style=_source(environment, "style.css"),
        script=_source(environment, "sort.js"),
    )


def _source(environment: Environment, name: str) -> str:
    loader = environment.loader
    assert loader is not None
    return loader.get_source(environment, name)[0]
