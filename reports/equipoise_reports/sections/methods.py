"""The methods in one paragraph that can be pasted into a paper, with the sources of every test it names."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise_reports import numbers
from equipoise_reports.study import Study


@dataclass(frozen=True)
class Methods:
    """What the paragraph depends on.

    Attributes:
        conditions: how many, in words.
        blocks: how many were planned, in words.
        arms: the arms, in words.
        tested: by which analyses contrasts were tested, ``exact-stratum``, ``paired`` or ``both``.
        multiplicity: ``holm`` or ``step-down-max-t``, as it was applied.
    """

    conditions: str
    blocks: str
    arms: str
    tested: str
    multiplicity: str


def view(study: Study) -> Methods:
    """Collect what the methods section says of this study."""
    design, analysis = study.design, study.analysis
    return Methods(
        conditions=numbers.plural(len(study.conditions), "condition"),
        blocks=numbers.plural(len(design.blocks), "block"),
        arms=numbers.listed(design.arms),
        tested="both" if analysis is None else analysis.engine,
        multiplicity=design.multiplicity if analysis is None else analysis.multiplicity,
    )
