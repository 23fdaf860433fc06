"""The inference: decomposition, multiplicity, equivalence, verdicts and their cross-checks."""

from equipoise_stats.analyse import analyse
from equipoise_stats.analysis import Analysis
from equipoise_stats.errors import StatsError
from equipoise_stats.layout import LeftOut
from equipoise_stats.power import blocks_to_settle, planned_mde
from equipoise_stats.records import Hypothesis, Question, RunScore, TaskScore
from equipoise_stats.results import (
    CellLevel,
    CellLevelContrast,
    CellMean,
    Contrast,
    ControlCheck,
    CrossCheck,
    Detectable,
    Estimate,
    Finding,
    HypothesisResult,
    Learning,
    Naive,
    NaiveRule,
    StratumTable,
    Swap,
    Verdict,
    VolumeShare,
)
from equipoise_stats.sequential_results import LookPoint, Sequential
from equipoise_stats.specification import SpecificationRow

__all__ = [
    "Analysis",
    "CellLevel",
    "CellLevelContrast",
    "CellMean",
    "Contrast",
    "ControlCheck",
    "CrossCheck",
    "Detectable",
    "Estimate",
    "Finding",
    "Hypothesis",
    "HypothesisResult",
    "Learning",
    "LeftOut",
    "LookPoint",
    "Naive",
    "NaiveRule",
    "Question",
    "RunScore",
    "Sequential",
    "SpecificationRow",
    "StatsError",
    "StratumTable",
    "Swap",
    "TaskScore",
    "Verdict",
    "VolumeShare",
    "analyse",
    "blocks_to_settle",
    "planned_mde",
]
