"""Judge all contrasts of an analysis together: adjusted within their families, behind their gates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise_stats import families, sequential_evidence, verdicts
from equipoise_stats.decomposition import REPORTED, Vector, contrast, family
from equipoise_stats.families import Adjusted, Evidence, Level
from equipoise_stats.mixed import CellMeans
from equipoise_stats.records import Question
from equipoise_stats.results import Verdict

FloatArray = npt.NDArray[np.float64]
Key = tuple[str, str]
"""A contrast by its condition and kind."""


@dataclass(frozen=True)
class Judged:
    """What an analysis makes of all contrasts that it can test."""

    evidence: Mapping[Key, Evidence]
    adjusted: Mapping[Key, Adjusted]

    def verdict(self, key: Key, level: Level) -> Verdict | None:
        """The word; None where the analysis has no test."""
        if key not in self.adjusted:
            return None
        return verdicts.verdict(self.evidence[key].figure, self.adjusted[key], level.alpha, level.margin)


Correlate = Callable[[Sequence[Vector]], FloatArray]
"""The correlation of contrasts in a fit; without one a family is decided by Holm."""


def judge_all(
    evidence: Mapping[Key, Evidence],
    question: Question,
    correlate: Correlate | None = None,
    alone: Mapping[Key, Evidence] | None = None,
) -> Judged:
    """Adjust every contrast within its family, and the families behind their gates.

    Args:
        evidence: of the contrasts with a test.
        question: the registered question.
        correlate: given where the largest t decides.
        alone: of the paired analysis, where it must agree; its figures are then the ones that are printed.
    """
    level = sequential_evidence.level_of(question)
    adjusted: dict[str, dict[str, Adjusted]] = {}
    members = {kind: family(kind, question) for kind in REPORTED}
    for kind, names in members.items():
        inside = {c: evidence[c, kind] for c in names if (c, kind) in evidence}
        shared = correlate([contrast(c, kind, question) for c in names]) if correlate and names else None
        adjusted[kind] = families.adjust(names, inside, level, shared)
        if alone is not None:
            paired = {c: alone[c, kind] for c in names if (c, kind) in alone}
            adjusted[kind] = families.agree(adjusted[kind], paired, level, agreement_factor(len(names)))
    gated = families.gatekeep(adjusted, members, question.gatekeeping)
    done = {}
    for (c, kind), found in evidence.items():
        if alone is not None and (c, kind) not in alone:
            continue
        single = {c: families.unadjusted(found, level)}
        if alone is not None:
            single = families.agree(single, {c: alone[c, kind]}, level, 1)
        done[c, kind] = gated[kind].get(c) or single[c]
    return Judged(evidence if alone is None else alone, done)


def agreement_factor(members: int) -> float:
    """By what the paired p values of a family are multiplied where both analyses must agree.

    (m + 1) / 2, at least 3 and at most m. Bonferroni's inequality then holds the false claims of up to half of the
    members at the family's level, however much their runs vary. Where those of more than half do, the pooled
    error is nearly theirs, and its test holds them. Contrasts that share the cells of a noisy baseline err
    together; a third of the level covers the whole family of them. (Both by simulation: tests/calibration.)
    """
    return min(float(members), max(3.0, (members + 1) / 2))


def correlation_of(mixed: CellMeans) -> Correlate:
    """The correlation of contrasts in a mixed model."""

    def correlate(vectors: Sequence[Vector]) -> FloatArray:
        # Members that cannot be estimated are taken as independent, which bounds the others from above (Sidak).
        shared = np.eye(len(vectors))
        kept = [i for i, vector in enumerate(vectors) if vector and mixed.has(vector)]
        if kept:
            covariance = mixed.covariance([vectors[i] for i in kept])
            size = np.sqrt(np.diag(covariance))
            shared[np.ix_(kept, kept)] = covariance / np.outer(size, size)
        return shared

    return correlate
