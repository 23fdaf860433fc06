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
        paired: whether contrasts were tested by paired t rather than on the error stratum.
        multiplicity: ``holm`` or ``step-down-max-t``, as it was applied.
    """

    conditions: str
    blocks: str
    arms: str
    paired: bool
    multiplicity: str


def view(study: Study) -> Methods:
    """Collect what the methods section says of this study."""
    design, analysis = study.design, study.analysis
    return Methods(
        conditions=numbers.plural(len(study.conditions), "condition"),
        blocks=numbers.plural(len(design.blocks), "block"),
        arms=numbers.listed(design.arms),
        paired=analysis is not None and analysis.engine == "paired",
        multiplicity=design.multiplicity if analysis is None else analysis.multiplicity,
    )
