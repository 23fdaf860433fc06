"""Decide each family of contrasts together: adjusted p, simultaneous intervals, adjusted equivalence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise_stats import equivalence, student
from equipoise_stats.decomposition import Vector, correlation
from equipoise_stats.multiplicity import holm, step_down_max_t
from equipoise_stats.results import Estimate, Interval


@dataclass(frozen=True)
class Adjusted:
    """What the family makes of one contrast."""

    p: float
    tost_p: float
    tost_p_alone: float
    ci_simultaneous: Interval


def adjust(
    members: Sequence[str],
    found: Mapping[str, Estimate],
    vectors: Mapping[str, Vector],
    *,
    alpha: float,
    margin: float,
    max_t: bool,
) -> dict[str, Adjusted]:
    """Adjust the contrasts of one kind.

    The registered members count even where one has no figure: losing a cell must not make the others
    easier to claim. Such members enter with p = 1.

    Args:
        members: the conditions of the family, as registered.
        found: figures of the conditions that have a test, all with the same degrees of freedom.
        vectors: the contrast of every member.
        alpha: two-sided level of the family.
        margin: the smallest effect.
        max_t: step-down largest t with one common error; else Holm. Simultaneous intervals are single-step
            largest t or Bonferroni.
    """
    if not found:
        return {}
    df = next(iter(found.values())).df
    alone = {c: float(equivalence.tost_p(f.estimate, f.se, f.df, margin)) for c, f in found.items()}
    p = np.array([_p(found.get(c)) for c in members])
    tost = holm(np.array([alone.get(c, 1.0) for c in members]))
    if max_t:
        shared = correlation([vectors[c] for c in members])
        adjusted = step_down_max_t(np.array([_t(found.get(c)) for c in members]), shared, df)
        critical = student.max_t_critical(alpha, shared, df)
    else:
        adjusted = holm(p)
        critical = student.critical(alpha / len(members), df)
    return {
        c: Adjusted(float(adjusted[i]), float(tost[i]), alone[c], _interval(found[c], critical))
        for i, c in enumerate(members)
        if c in found
    }


def unadjusted(figure: Estimate, alpha: float, margin: float) -> Adjusted:
    """The same for a contrast outside the families: nothing is adjusted."""
    tost_p = float(equivalence.tost_p(figure.estimate, figure.se, figure.df, margin))
    return Adjusted(_p(figure), tost_p, tost_p, _interval(figure, student.critical(alpha, figure.df)))


def _p(figure: Estimate | None) -> float:
    return 1.0 if figure is None or figure.p is None else figure.p


def _t(figure: Estimate | None) -> float:
    return 0.0 if figure is None or figure.t is None else figure.t


def _interval(figure: Estimate, critical: float) -> Interval:
    return figure.estimate - critical * figure.se, figure.estimate + critical * figure.se
