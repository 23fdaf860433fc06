"""The whole inference of one suite as a record that goes to JSON and back without loss."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise_stats.dose_response import DoseResponse
from equipoise_stats.failures import Failures
from equipoise_stats.gee import Gee
from equipoise_stats.glmm.sensitivity import LogitModel
from equipoise_stats.layout import LeftOut
from equipoise_stats.results import (
    CellLevel,
    CellMean,
    Contrast,
    ControlCheck,
    CrossCheck,
    Detectable,
    HypothesisResult,
    Learning,
    Naive,
    StratumTable,
    VolumeShare,
)
from equipoise_stats.sequential_results import Sequential
from equipoise_stats.serial import from_text, to_text
from equipoise_stats.specification import SpecificationRow


@dataclass(frozen=True)
class Analysis:
    """The whole inference of one suite; the same records give the same bytes.

    Attributes:
        engine: the primary engine, ``exact-stratum``, ``mixed`` or ``paired``; ``engine_sentence`` says why.
        blocks: the complete blocks; ``left_out`` are the others with the reason.
        run_level: M1; ``cell_level`` M2; ``task_population`` M3; ``dose_response`` M4, by
            assigned steps, ``dose_response_ess`` the same by effective sample size; ``logit`` M5; ``gee`` M6: the
            sensitivity analyses.
        specification: every contrast under every analysis.
        failures: what diverged runs may have done.
        shares: of each rule's gain that are due to volume.
        sequential: the plan of looks; None where the data are looked at once.
        identity_gap: the largest gap of TOTAL against CONTENT + SHAPE + VOLUME; None where none is complete.
        void: whether a control failed, which makes every hypothesis inadmissible.
        notes: what a reader must know beside the figures.
        data_sha256: over the sorted records.
    """

    version: str
    baseline: str
    conditions: tuple[str, ...]
    alpha: float
    smallest_effect: float
    multiplicity: str
    engine: str
    engine_sentence: str
    blocks: tuple[int, ...]
    left_out: tuple[LeftOut, ...]
    cells: tuple[CellMean, ...]
    stratum: StratumTable | None
    contrasts: tuple[Contrast, ...]
    shares: tuple[VolumeShare, ...]
    sequential: Sequential | None
    identity_gap: float | None
    hypotheses: tuple[HypothesisResult, ...]
    controls: tuple[ControlCheck, ...]
    void: bool
    cross_check: CrossCheck
    run_level: CellLevel
    cell_level: CellLevel
    task_population: CellLevel
    dose_response: DoseResponse
    dose_response_ess: DoseResponse
    logit: LogitModel
    gee: Gee
    specification: tuple[SpecificationRow, ...]
    failures: Failures
    naive: Naive
    mde: Detectable
    learning: Learning
    notes: tuple[str, ...]
    data_sha256: str

    def contrast(self, condition: str, kind: str) -> Contrast:
        """The contrast of a condition and a kind.

        Raises:
            KeyError: if the suite has no such contrast.
        """
        for candidate in self.contrasts:
            if (candidate.condition, candidate.kind) == (condition, kind):
                return candidate
        message = f"no contrast {kind}({condition})"
        raise KeyError(message)

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, shortest exact numbers, no NaN."""
        return to_text(self)

    @classmethod
    def from_json(cls, text: str) -> Analysis:
        """The analysis that ``to_json`` wrote.

        Raises:
            StatsError: if the text is no analysis, naming the place.
        """
        return from_text(cls, text)
