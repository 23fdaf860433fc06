"""Verdicts of thousands of simulated suites at once, by the rules that ``analyse`` applies to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise_stats import student
from equipoise_stats.decomposition import CONTENT
from equipoise_stats.drafts import BOTH, PAIRED
from equipoise_stats.results import Verdict
from equipoise_stats.simulate import steps
from equipoise_stats.simulate.figures import Figures, Look, look_at
from equipoise_stats.simulate.plan import Plan

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

VERDICTS: tuple[Verdict, ...] = (
    Verdict.INCONCLUSIVE,
    Verdict.SUPERIOR_BY_MARGIN,
    Verdict.SUPERIOR,
    Verdict.EQUIVALENT,
    Verdict.INFERIOR,
)
"""What the numbers in ``Judged.verdicts`` stand for."""


@dataclass(frozen=True)
class Judged:
    """One family in N suites.

    Attributes:
        kind: of the family.
        members: the m conditions.
        estimate: (N, m) at the last look.
        verdicts: (N, m) places in ``VERDICTS``.
        low: (N, m) lower ends of the intervals of each contrast alone, at 1 - alpha.
        high: (N, m) their upper ends.
    """

    kind: str
    members: tuple[str, ...]
    estimate: FloatArray
    verdicts: npt.NDArray[np.int8]
    low: FloatArray
    high: FloatArray

    def is_(self, *verdicts: Verdict) -> BoolArray:
        """(N, m) where the verdict is one of those given."""
        return np.isin(self.verdicts, [VERDICTS.index(verdict) for verdict in verdicts])


def judge(plan: Plan, y: FloatArray, kinds: Sequence[str] | None = None) -> dict[str, Judged]:
    """The verdict of every member of every family.

    Args:
        plan: the registered plan.
        y: (N, C, S) scores in the order of ``plan.cells``, twins averaged.
        kinds: the families wanted; None is all.
    """
    looks = [look_at(y[..., :blocks]) for blocks in plan.looks]
    return {kind: _judge_kind(plan, looks, kind) for kind in kinds or plan.kinds}


def controls_pass(plan: Plan, y: FloatArray) -> dict[str, BoolArray]:
    """(N,) whether each control passed: a positive one detected, a negative one silent."""
    if not plan.controls:
        return {}
    vectors, alpha = plan.vectors(CONTENT, plan.controls), plan.question.alpha
    path = [_analyses(plan, look_at(y[..., :blocks]), vectors) for blocks in plan.looks]
    series = list(zip(*path, strict=True))
    shown = [steps.crossed(plan, [f.p for f in of_one], alpha) for of_one in series]
    # over several looks a one-sided test is half of the two-sided one
    upward = [steps.crossed(plan, [f.p for f in of_one], 2 * alpha) & (of_one[-1].t > 0) for of_one in series]
    # a positive control is judged by the figures that are printed
    detected, silent = upward[-1], ~np.all(shown, axis=0)
    return {
        c: (detected if plan.question.controls[c] == "positive" else silent)[:, i]
        for i, c in enumerate(plan.controls)
    }


def _analyses(plan: Plan, look: Look, vectors: FloatArray) -> tuple[Figures, ...]:
    """The figures that carry the verdicts; the last ones are those that are printed."""
    if plan.engine == PAIRED:
        return (look.paired(vectors),)
    if plan.engine == BOTH:
        return look.in_stratum(vectors), look.paired(vectors)
    return (look.in_stratum(vectors),)


def _judge_kind(plan: Plan, looks: Sequence[Look], kind: str) -> Judged:
    vectors = plan.vectors(kind)
    path = [_analyses(plan, look, vectors) for look in looks]
    shown, low = _decide(plan, kind, [used[0] for used in path])
    equivalent = _equal(plan, [used[0] for used in path])
    if plan.engine == BOTH:
        alone = [used[1] for used in path]
        level = plan.question.alpha / plan.factor(kind)
        shown &= steps.crossed(plan, [f.p for f in alone], level)
        tost = [f.tost(plan.question.smallest_effect) for f in alone]
        equivalent &= steps.crossed(plan, tost, steps.both_sides(plan, level))
        critical = student.critical(steps.nominal(plan, level, len(path) - 1), alone[-1].df)
        low = np.minimum(low, alone[-1].estimate - critical * alone[-1].se)
    last = path[-1][-1]
    upward = np.where(low > plan.question.smallest_effect, 1, 2)
    verdicts = np.where(shown, np.where(last.estimate < 0, 4, upward), np.where(equivalent, 3, 0))
    half = student.critical(steps.nominal(plan, plan.question.alpha, len(path) - 1), last.df) * last.se
    ends = last.estimate - half, last.estimate + half
    return Judged(kind, plan.members(kind), last.estimate, verdicts.astype(np.int8), *ends)


def _decide(plan: Plan, kind: str, path: Sequence[Figures]) -> tuple[BoolArray, FloatArray]:
    """(N, m) whether a difference is shown, and the lower ends of the simultaneous intervals."""
    alpha, last = plan.question.alpha, path[-1]
    if plan.max_t:
        values = steps.max_t_values(alpha, plan.correlation(kind), last.df)
        return steps.down(np.abs(last.t), values), last.estimate - values[0] * last.se
    members = last.estimate.shape[1]
    critical = student.critical(steps.nominal(plan, alpha / members, len(path) - 1), last.df)
    return steps.holm_shown(plan, [f.p for f in path], alpha), last.estimate - critical * last.se


def _equal(plan: Plan, path: Sequence[Figures]) -> BoolArray:
    """(N, m) whether equivalence is shown by Holm's steps."""
    tost = [f.tost(plan.question.smallest_effect) for f in path]
    return steps.holm_shown(plan, tost, steps.both_sides(plan, plan.question.alpha))
