"""What a native-only comparison would have claimed: shown to warn, never a finding."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from equipoise_stats import student
from equipoise_stats.multiplicity import holm
from equipoise_stats.records import Question, RunScore
from equipoise_stats.results import Naive, NaiveRule
from equipoise_stats.stratum import NO_VARIATION
from equipoise_stats.wording import p_value, signed

FloatArray = npt.NDArray[np.float64]


def naive(runs: Sequence[RunScore], question: Question) -> Naive:
    """Compare each rule with the baseline on native runs by Welch's t, blocks ignored.

    Args:
        runs: checked run scores; only the native arm is read, incomplete blocks included.
        question: the registered question; controls are left out.
    """
    scores = {
        c: np.array(
            [r.y for r in sorted(runs, key=lambda r: r.block) if r.condition == c and r.arm == "native"]
        )
        for c in (question.baseline, *question.claimants)
    }
    baseline = scores[question.baseline]
    rules = [
        welch(c, scores[c], baseline) for c in question.claimants if min(scores[c].size, baseline.size) >= 2
    ]
    if not rules:
        return Naive(
            (),
            None,
            (),
            (),
            "No native-only comparison: it needs two native runs of a rule and the baseline.",
        )
    adjusted = holm(np.array([1.0 if rule.p is None else rule.p for rule in rules]))
    rules = [
        NaiveRule(r.condition, r.estimate, r.se, r.df, r.p, None if r.p is None else float(q))
        for r, q in zip(rules, adjusted, strict=True)
    ]
    best = max(rules, key=lambda rule: rule.estimate)
    raw = tuple(r.condition for r in rules if r.estimate > 0 and _at_most(r.p, question.alpha))
    kept = tuple(r.condition for r in rules if r.estimate > 0 and _at_most(r.p_holm, question.alpha))
    return Naive(tuple(rules), best.condition, raw, kept, _sentence(rules, best, raw, kept, question))


def _at_most(p: float | None, level: float) -> bool:
    return p is not None and p <= level


def welch(condition: str, rule: FloatArray, baseline: FloatArray) -> NaiveRule:
    """Welch's t of two independent samples of at least two scores (Welch 1947), p not adjusted yet."""
    parts = np.array([rule.var(ddof=1) / rule.size, baseline.var(ddof=1) / baseline.size])
    estimate, variance = float(rule.mean() - baseline.mean()), float(parts.sum())
    if variance < NO_VARIATION:
        return NaiveRule(condition, estimate, 0.0, None, None, None)
    df = variance**2 / float(np.sum(np.square(parts) / np.array([rule.size - 1, baseline.size - 1])))
    se = math.sqrt(variance)
    return NaiveRule(condition, estimate, se, df, float(student.two_sided_p(estimate / se, df)), None)


def _sentence(
    rules: Sequence[NaiveRule], best: NaiveRule, raw: Sequence[str], kept: Sequence[str], question: Question
) -> str:
    tested = f"{signed(best.estimate)}" + (f", {p_value(best.p)}" if best.p is not None else ", not testable")
    after = f"{len(kept)} after Holm ({', '.join(kept) or 'none'})"
    return (
        f"A native-only comparison would have claimed {len(raw)} of {len(rules)} rules better than "
        f"{question.baseline} ({', '.join(raw) or 'none'}), and {after}. "
        f"Best rule: {best.condition} ({tested})."
    )
