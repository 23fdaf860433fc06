"""Divergence as an outcome of its own: each rule against the baseline, exactly, block by block.

Within a stratum (one block of one arm) any of the runs could have been the ones that diverged: given how many
did, the number among the rule's runs is hypergeometric, and independent strata add up by convolution. With one
run of each a stratum this is McNemar's exact test. (Mantel & Haenszel 1959; Agresti, *Categorical Data
Analysis*, 7.3.5; two-sided as in Fisher's test, by summing the outcomes that are no more likely.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from equipoise_stats.multiplicity import holm
from equipoise_stats.records import Question, RunScore

# Probabilities that are equal in exact arithmetic must count as ties.
_TIE = 1.0 + 1e-9


@dataclass(frozen=True)
class DivergenceTest:
    """Whether runs of one condition diverge more or less often than the baseline's.

    Attributes:
        strata: block-and-arm strata that hold runs of both.
        informative: strata where some runs diverged and some did not; the others say nothing.
        runs: of the condition in those strata, ``diverged`` of them; ``baseline_runs`` likewise.
        difference: Mantel-Haenszel risk difference; None without strata.
        p: exact, two-sided. ``p_adjusted`` by Holm over the conditions of the suite.
        floor: the smallest p that these strata and this many divergences can reach.
    """

    condition: str
    strata: int
    informative: int
    runs: int
    diverged: int
    baseline_runs: int
    baseline_diverged: int
    difference: float | None
    p: float
    p_adjusted: float
    floor: float
    sentence: str


# One stratum: runs and divergences of the rule, runs and divergences of the baseline.
Stratum = tuple[int, int, int, int]


def divergence_tests(runs: Sequence[RunScore], question: Question) -> tuple[DivergenceTest, ...]:
    """Every condition against the baseline, in the suite's order.

    Args:
        runs: checked run scores; ``diverged`` is what is counted, scores are not looked at.
        question: names the baseline, the conditions and the level.
    """
    counts: dict[tuple[str, str, int], tuple[int, int]] = {}
    for r in runs:
        n, d = counts.get((r.condition, r.arm, r.block), (0, 0))
        counts[r.condition, r.arm, r.block] = (n + 1, d + int(r.diverged))
    others = [c for c in question.conditions if c != question.baseline]
    tests = [_test(c, _strata(c, question.baseline, counts)) for c in others]
    adjusted = holm(np.array([t.p for t in tests])) if tests else np.zeros(0)
    return tuple(
        _spoken(replace(t, p_adjusted=float(p)), question) for t, p in zip(tests, adjusted, strict=True)
    )


def _strata(
    condition: str, baseline: str, counts: Mapping[tuple[str, str, int], tuple[int, int]]
) -> list[Stratum]:
    return [
        (*count, *counts[baseline, arm, block])
        for (name, arm, block), count in sorted(counts.items())
        if name == condition and (baseline, arm, block) in counts
    ]


def _test(condition: str, strata: Sequence[Stratum]) -> DivergenceTest:
    p, floor = exact_p(strata)
    n, d, m, e = (sum(column) for column in zip(*strata, strict=True)) if strata else (0, 0, 0, 0)
    informative = sum(0 < s[1] + s[3] < s[0] + s[2] for s in strata)
    return DivergenceTest(
        condition, len(strata), informative, n, d, m, e, mantel_haenszel(strata), p, p, floor, ""
    )


def exact_p(strata: Sequence[Stratum]) -> tuple[float, float]:
    """The two-sided exact p of stratified two-by-two tables, and the smallest p that could have come out.

    Args:
        strata: (runs, diverged, baseline runs, baseline diverged) of each.
    """
    null, lowest = np.ones(1), 0
    for n, d, m, e in strata:
        null = np.convolve(null, hypergeometric(n, m, d + e))
        lowest += max(0, d + e - m)
    observed = sum(s[1] for s in strata) - lowest
    null = null / null.sum()
    p = float(null[null <= null[observed] * _TIE].sum())
    floor = float(null[null <= null.min() * _TIE].sum())
    return min(p, 1.0), min(floor, 1.0)


def hypergeometric(n: int, m: int, total: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """P(x of ``total`` divergences fall on the rule's n runs of n + m), x from its least to its largest."""
    low, high = max(0, total - m), min(n, total)
    ways = [math.comb(n, x) * math.comb(m, total - x) for x in range(low, high + 1)]
    return np.array([w / math.comb(n + m, total) for w in ways])


def mantel_haenszel(strata: Sequence[Stratum]) -> float | None:
    """The risk difference pooled over strata with weights n m / (n + m); None without strata."""
    if not strata:
        return None
    weight = math.fsum(n * m / (n + m) for n, _, m, _ in strata)
    return math.fsum((d * m - e * n) / (n + m) for n, d, m, e in strata) / weight


def _spoken(test: DivergenceTest, question: Question) -> DivergenceTest:
    if test.difference is None:
        said = f"{test.condition}: no block holds runs of it and of {question.baseline} in one arm"
        return replace(test, sentence=said)
    said = (
        f"{test.condition}: {test.diverged} of {test.runs} runs diverged against {test.baseline_diverged} of "
        f"{test.baseline_runs} of {question.baseline} (exact p {test.p:.3g}, Holm {test.p_adjusted:.3g})"
    )
    if test.informative == 0:
        said += "; no stratum holds both outcomes, so nothing can be tested"
    elif test.floor > question.alpha:
        said += f"; the smallest possible p is {test.floor:.3g}: this cannot reject at {question.alpha:g}"
    return replace(test, sentence=said)
