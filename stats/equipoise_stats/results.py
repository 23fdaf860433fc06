"""What an analysis says: frozen records that go to JSON and back without loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from equipoise_stats.sequential_results import LookPoint

Interval = tuple[float, float]


class Verdict(StrEnum):
    """What is said of one contrast."""

    SUPERIOR_BY_MARGIN = "superior by at least the smallest effect"
    SUPERIOR = "superior"
    EQUIVALENT = "equivalent"
    INFERIOR = "inferior"
    INCONCLUSIVE = "inconclusive"
    BY_CONSTRUCTION = "by construction"
    NOT_ESTIMABLE = "not estimable"
    INADMISSIBLE = "inadmissible"


class Finding(StrEnum):
    """What is said of one registered hypothesis."""

    CONFIRMED = "CONFIRMED"
    REFUTED = "REFUTED"
    EQUIVALENT = "EQUIVALENT"
    INCONCLUSIVE = "INCONCLUSIVE"
    INADMISSIBLE = "INADMISSIBLE"
    DEVIATED = "DEVIATED"


@dataclass(frozen=True)
class CellMean:
    """One cell over the complete blocks; SE and interval from the cell's own blocks (df = S - 1)."""

    condition: str
    arm: str
    runs: int
    diverged: int
    blocks: int
    twins: int
    mean: float | None
    sd: float | None
    se: float | None
    ci: Interval | None
    note: str


@dataclass(frozen=True)
class StratumTable:
    """The two-way analysis of variance of the complete blocks.

    Attributes:
        covariance: of the cell means with one error for all, blocks random.
        sample_covariance: of the cell means from the blocks alone; gives the errors of pairs.
    """

    cells: tuple[str, ...]
    blocks: int
    ms_error: float
    df_error: int
    error_sd: float
    ms_block: float
    df_block: int
    block_variance: float
    covariance: tuple[tuple[float, ...], ...]
    sample_covariance: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Estimate:
    """A contrast under one analysis: t and p are None where nothing varies."""

    estimate: float
    se: float
    df: float
    t: float | None
    p: float | None
    ci: Interval


@dataclass(frozen=True)
class Swap:
    """The exact test that swaps rule and twin within blocks.

    Attributes:
        p: two-sided p value.
        p_family: adjusted for the content family by the largest standardised swap statistic; None outside it.
        floor: the smallest p that this design can reach.
        draws: rearrangements looked at.
        exact: whether these are all of them.
    """

    p: float
    p_family: float | None
    floor: float
    draws: int
    exact: bool
    sentence: str


@dataclass(frozen=True)
class Contrast:
    """One contrast of one condition: the figures of the primary engine, with the others beside it.

    Attributes:
        in_family: whether it shares the level of its kind's family.
        reasons: why there is no figure, where there is none.
        engine: ``exact-stratum``, ``paired`` or ``both``; the figures are those of ``m0``, ``m1h``, ``m1h``.
        p: of this look alone.
        p_adjusted: over the looks so far, within the family and behind its gate; equal to ``p`` outside all.
        ci: 95 % interval (at 1 - alpha) for this contrast alone, repeated over the looks.
        ci_simultaneous: for all contrasts of the family together. None where a look has too few blocks for any.
        ci90: the interval that goes with the two one-sided tests (1 - 2 alpha).
        tost_p: against the smallest effect; ``tost_p_adjusted`` by Holm within the family.
        noninferior_p: of the null that it is worse by the smallest effect or more; adjusted likewise.
        gate_p: the largest adjusted p of the families that must be shown before; None without an order.
        blocks_to_settle: blocks that would detect the smallest effect, where inconclusive.
        flags: what stands beside the verdict: the exact stratum and the paired analysis disagree, or the spread
            of runs differs.
        sd_ratio: SD of the contrast's own runs over that of all others, blocks and cells taken out; None where
            one of them cannot be told.
        path: its looks so far.
        vector: coefficients by ``condition.arm``.
        question: what the figures answer: ``fixed suite``, of the tasks that were evaluated.
        m0: exact stratum of complete blocks; ``m1`` mixed model of all runs (Satterthwaite), ``m1_kr`` the same after
            Kenward and Roger; ``m1h`` paired by block; ``m1r`` swap of rule and twin.
    """

    condition: str
    kind: str
    in_family: bool
    verdict: Verdict
    sentence: str
    reasons: tuple[str, ...]
    engine: str
    vector: Mapping[str, int]
    estimate: float | None = None
    se: float | None = None
    df: float | None = None
    t: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    ci: Interval | None = None
    ci_simultaneous: Interval | None = None
    ci90: Interval | None = None
    tost_p: float | None = None
    tost_p_adjusted: float | None = None
    noninferior_p: float | None = None
    noninferior_p_adjusted: float | None = None
    gate_p: float | None = None
    blocks_to_settle: int | None = None
    flags: tuple[str, ...] = ()
    sd_ratio: float | None = None
    path: tuple[LookPoint, ...] = ()
    m0: Estimate | None = None
    m1: Estimate | None = None
    m1_kr: Estimate | None = None
    m1h: Estimate | None = None
    m1r: Swap | None = None
    question: str = "fixed suite"

    @property
    def estimable(self) -> bool:
        """Whether any analysis may give figures for it."""
        return bool(self.vector) and self.verdict not in (Verdict.INADMISSIBLE, Verdict.NOT_ESTIMABLE)


@dataclass(frozen=True)
class VolumeShare:
    """VOLUME over TOTAL with Fieller's interval; None where the interval of TOTAL holds 0."""

    condition: str
    share: float | None
    ci: Interval | None
    sentence: str


@dataclass(frozen=True)
class HypothesisResult:
    """A registered claim and what became of it.

    No figure where it is inadmissible; where it deviated, the figures are exploratory, and ``exploratory`` is
    what it would have been called.
    """

    id: str
    says: str
    condition: str
    kind: str
    direction: str
    verdict: Finding
    sentence: str
    estimate: float | None = None
    ci: Interval | None = None
    p: float | None = None
    p_one_sided: float | None = None
    p_adjusted: float | None = None
    exploratory: Finding | None = None


@dataclass(frozen=True)
class ControlCheck:
    """A control: ``passed`` is None where it could not be judged."""

    condition: str
    role: str
    passed: bool | None
    sentence: str
    estimate: float | None = None
    p: float | None = None


@dataclass(frozen=True)
class CrossCheck:
    """The second engine on the same run means: ``agree``, ``disagree`` or ``not comparable``."""

    flag: str
    sentences: tuple[str, ...]
    peer: str
    own_loglik: float | None = None
    peer_loglik: float | None = None
    largest_coefficient_gap: float | None = None
    largest_se_gap: float | None = None
    block_variance: float | None = None
    peer_block_variance: float | None = None
    peer_converged: bool | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class CellLevelContrast:
    """A contrast under a mixed model: Satterthwaite's figures, and Kenward and Roger's beside them."""

    condition: str
    kind: str
    estimate: float
    se: float
    df: float
    p: float | None
    se_kr: float
    df_kr: float
    p_kr: float | None


@dataclass(frozen=True)
class ModelCertificate:
    """Why the fit is the optimum: see ``lmm.results.Certificate``; ``pressure`` None without a boundary."""

    decrement: float
    min_eigenvalue: float
    pressure: float | None
    active: tuple[str, ...]
    steps: int
    kkt: bool


@dataclass(frozen=True)
class CellLevel:
    """A mixed model of cell means, ``fitted`` or ``refused`` with the reason.

    Attributes:
        model: ``M1`` of runs, ``M2`` of task scores, ``M3`` of task scores with cell:task besides.
        question: what its contrasts are about: ``fixed suite`` or ``task population``.
        components: variances by term; ``boundary`` names those at 0, which stay in the model.
        cells: names; ``means`` and ``covariance`` are the coefficients and their covariance.
        cross_check: what the second engine says of it; empty where it was not asked.
    """

    model: str
    formula: str
    question: str
    status: str
    reason: str
    rows: int
    loglik: float | None = None
    components: Mapping[str, float] | None = None
    boundary: tuple[str, ...] = ()
    certificate: ModelCertificate | None = None
    cells: tuple[str, ...] = ()
    means: tuple[float, ...] = ()
    covariance: tuple[tuple[float, ...], ...] = ()
    contrasts: tuple[CellLevelContrast, ...] = ()
    cross_check: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class NaiveRule:
    """One rule against the baseline on native runs alone, by Welch's t."""

    condition: str
    estimate: float
    se: float
    df: float | None
    p: float | None
    p_holm: float | None


@dataclass(frozen=True)
class Naive:
    """What a native-only comparison would have said; never a finding of the suite."""

    rules: tuple[NaiveRule, ...]
    best: str | None
    claimed_unadjusted: tuple[str, ...]
    claimed_holm: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class Detectable:
    """The smallest CONTENT and VOLUME that the attained design detects with the registered power."""

    sd: float | None
    blocks: int
    family: int
    power: float
    content: float | None
    volume: float | None
    sentence: str


@dataclass(frozen=True)
class Learning:
    """The matched baseline against the policy it started from, paired by block."""

    blocks: int
    figures: Estimate | None
    sentence: str
