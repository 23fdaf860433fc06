"""The part of a registered plan that decides how scores become verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from equipoise_stats.decomposition import CONTENT, KINDS, Cell, contrast, correlation, family
from equipoise_stats.drafts import BOTH, PAIRED
from equipoise_stats.errors import StatsError
from equipoise_stats.judging import agreement_factor
from equipoise_stats.records import ARMS, Question

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """A balanced design with its registered question.

    Attributes:
        question: conditions, levels, margin, multiplicity, looks.
        blocks: complete blocks S at the last look.
        twins: runs K of every twin cell in a block; 0 leaves the twin arm out.
        arms: the arms that are run.
    """

    question: Question
    blocks: int
    twins: int = 1
    arms: tuple[str, ...] = ARMS

    def __post_init__(self) -> None:
        faults = [] if self.blocks >= 2 else [f"blocks: expected at least 2, got {self.blocks}"]
        faults += [] if self.twins >= 0 else [f"twins: expected at least 0, got {self.twins}"]
        faults += [f"arm: expected one of {', '.join(ARMS)}, got '{a}'" for a in self.arms if a not in ARMS]
        faults += ["gatekeeping is not simulated; expected none"] if self.question.gatekeeping else []
        faults += [] if len(self.cells) >= 2 else [f"cells: expected at least 2, got {len(self.cells)}"]
        if faults:
            raise StatsError(faults)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The C cells in the layout's order."""
        return tuple(
            (condition, arm)
            for condition in self.question.conditions
            for arm in ARMS
            if arm in self.arms
            and not (arm == "twin" and (condition in self.question.identical or not self.twins))
        )

    @property
    def runs(self) -> int:
        """Runs of one block."""
        return sum(self.twins if arm == "twin" else 1 for _, arm in self.cells)

    @property
    def engine(self) -> str:
        """The primary analysis, chosen as ``analyse`` chooses it."""
        if self.question.engine != "auto":
            return self.question.engine
        if self.twins > 1 or self.question.spending == "e-process":
            return PAIRED
        return BOTH

    @property
    def looks(self) -> tuple[int, ...]:
        """Blocks at the registered looks; only the last where no level is spent early."""
        return self.question.looks if self.question.spending != "none" else (self.blocks,)

    @property
    def max_t(self) -> bool:
        """Whether families decide by the step-down largest t, which needs one common error and one look."""
        registered = self.question.multiplicity == "step-down-max-t"
        return registered and self.engine != PAIRED and len(self.looks) == 1

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds with a family whose members all have their cells."""
        return tuple(kind for kind in KINDS if self.estimable(kind))

    def members(self, kind: str) -> tuple[str, ...]:
        """The conditions of a family."""
        return family(kind, self.question)

    def vectors(self, kind: str, conditions: tuple[str, ...] | None = None) -> FloatArray:
        """(m, C) coefficients of a family, or of the conditions given."""
        chosen = self.members(kind) if conditions is None else conditions
        named = [contrast(condition, kind, self.question) for condition in chosen]
        return np.array([[float(v.get(cell, 0)) for cell in self.cells] for v in named])

    def correlation(self, kind: str) -> FloatArray:
        """(m, m) correlation of a family under one error."""
        return correlation([contrast(c, kind, self.question) for c in self.members(kind)])

    def size(self, kind: str) -> float:
        """Sum of squared coefficients of a contrast, by what its cells' variances are: twins are means of K."""
        vector = contrast(self.members(kind)[0], kind, self.question)
        several = max(1, self.twins)
        return sum(w * w / (several if arm == "twin" else 1) for (_, arm), w in vector.items())

    def factor(self, kind: str) -> float:
        """What the p value of the paired analysis alone is multiplied by where both analyses must agree."""
        return agreement_factor(len(self.members(kind)))

    @property
    def controls(self) -> tuple[str, ...]:
        """The controls with a content to judge."""
        return tuple(c for c in self.question.controls if (c, "twin") in self.cells)

    def estimable(self, kind: str) -> bool:
        """Whether every member of a family has its cells."""
        if kind == CONTENT and not self.twins:
            return False
        present = set(self.cells)
        members = self.members(kind)
        return bool(members) and all(set(contrast(c, kind, self.question)) <= present for c in members)
