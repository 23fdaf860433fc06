"""Decide each family of contrasts together: adjusted p, simultaneous intervals, adjusted equivalence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from equipoise_stats import equivalence, student
from equipoise_stats.multiplicity import holm, step_down_max_t
from equipoise_stats.results import Estimate, Interval

FloatArray = npt.NDArray[np.float64]
Critical = Callable[[float, float], float | None]
"""From a two-sided level and degrees of freedom to the |t| that rejects; None where none does."""


@dataclass(frozen=True)
class Evidence:
    """What one contrast brings into its family: figures, and p values that its looks leave valid."""

    figure: Estimate
    p: float
    tost_p: float
    noninferior_p: float


@dataclass(frozen=True)
class Level:
    """What a family is held to.

    Attributes:
        alpha: two-sided level of the family.
        margin: the smallest effect.
        critical: of one contrast alone.
    """

    alpha: float
    margin: float
    critical: Critical = student.critical


@dataclass(frozen=True)
class Adjusted:
    """What the family makes of one contrast.

    Attributes:
        gate: the largest adjusted p of the families that come before; below or at the level the gate is open.
            It is part of the three adjusted p values.
    """

    p: float
    tost_p: float
    tost_p_alone: float
    ci_simultaneous: Interval | None
    noninferior_p: float = 1.0
    noninferior_p_alone: float = 1.0
    gate: float = 0.0


def at_once(figure: Estimate, margin: float) -> Evidence:
    """The evidence of a contrast that is looked at once."""
    return Evidence(
        figure,
        1.0 if figure.p is None else figure.p,
        float(equivalence.tost_p(figure.estimate, figure.se, figure.df, margin)),
        float(equivalence.noninferior_p(figure.estimate, figure.se, figure.df, margin)),
    )


def adjust(
    members: Sequence[str],
    found: Mapping[str, Evidence],
    level: Level,
    correlation: FloatArray | None = None,
) -> dict[str, Adjusted]:
    """Adjust the contrasts of one kind.

    The registered members count even where one has no figure: losing a cell must not make the others
    easier to claim. Such members enter with p = 1.

    Args:
        members: the conditions of the family, as registered.
        found: evidence of the conditions that have a test.
        level: what the family is held to.
        correlation: (m, m) of the members' estimates: decisions by the step-down largest t, intervals by its
            single step. None decides by Holm, with Bonferroni intervals. Contrasts that do not share their
            degrees of freedom are each held to the largest t with their own.
    """
    if not found:
        return {}
    tost = holm(np.array([found[c].tost_p if c in found else 1.0 for c in members]))
    above = holm(np.array([found[c].noninferior_p if c in found else 1.0 for c in members]))
    if correlation is None:
        adjusted = holm(np.array([found[c].p if c in found else 1.0 for c in members]))
    else:
        t = np.array([_t(found.get(c)) for c in members])
        df = np.array([found[c].figure.df if c in found else 1.0 for c in members])
        adjusted = step_down_max_t(t, correlation, df)
    intervals = _intervals(found, len(members), level, correlation)
    return {
        c: Adjusted(
            float(adjusted[i]),
            float(tost[i]),
            found[c].tost_p,
            intervals[c],
            float(above[i]),
            found[c].noninferior_p,
        )
        for i, c in enumerate(members)
        if c in found
    }


def _intervals(
    found: Mapping[str, Evidence], members: int, level: Level, correlation: FloatArray | None
) -> dict[str, Interval | None]:
    critical: dict[float, float | None] = {}
    for df in {e.figure.df for e in found.values()}:
        if correlation is None:
            critical[df] = level.critical(level.alpha / members, df)
        else:
            critical[df] = student.max_t_critical(level.alpha, correlation, df)
    return {c: around(e.figure, critical[e.figure.df]) for c, e in found.items()}


def agree(
    adjusted: Mapping[str, Adjusted], alone: Mapping[str, Evidence], level: Level, factor: float
) -> dict[str, Adjusted]:
    """Claim only what the paired analysis, of each contrast alone, claims too.

    The pooled error is too small for a contrast whose runs vary more than the others. The paired test is not, but
    with few blocks pays dearly for a family. Held to ``level / factor`` it keeps the family's level for any
    ``factor`` contrasts whose spreads differ at will (Bonferroni), and the pooled test keeps that of the others,
    whose error it overstates.

    Args:
        adjusted: what the family makes of the pooled analysis; contrasts that ``alone`` lacks drop out.
        alone: the evidence of the paired analysis.
        level: of the family.
        factor: contrasts whose runs may vary more than the others.
    """
    done = {}
    for c, a in adjusted.items():
        if c not in alone:
            continue
        e = alone[c]
        own = around(e.figure, level.critical(level.alpha / factor, e.figure.df))
        done[c] = replace(
            a,
            p=max(a.p, min(1.0, factor * e.p)),
            tost_p=max(a.tost_p, min(1.0, factor * e.tost_p)),
            tost_p_alone=e.tost_p,
            ci_simultaneous=_hull(a.ci_simultaneous, own),
            noninferior_p=max(a.noninferior_p, min(1.0, factor * e.noninferior_p)),
            noninferior_p_alone=e.noninferior_p,
        )
    return done


def _hull(a: Interval | None, b: Interval | None) -> Interval | None:
    return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))


def unadjusted(evidence: Evidence, level: Level) -> Adjusted:
    """The same for a contrast outside the families: nothing is adjusted."""
    figure = evidence.figure
    own = around(figure, level.critical(level.alpha, figure.df))
    return Adjusted(
        evidence.p, evidence.tost_p, evidence.tost_p, own, evidence.noninferior_p, evidence.noninferior_p
    )


def gatekeep(
    adjusted: Mapping[str, Mapping[str, Adjusted]], members: Mapping[str, Sequence[str]], order: Sequence[str]
) -> dict[str, dict[str, Adjusted]]:
    """Open each family only when every null of the families before it is rejected (serial gatekeeping).

    The level then holds for all families of the order together, whatever procedure each of them uses
    (Westfall & Krishen 2001). An adjusted p value can be no smaller than the largest before it.

    Args:
        adjusted: by family and condition; families outside the order keep their values.
        members: the registered conditions of every family; one without a figure keeps the gate shut.
        order: of the families.
    """
    gated = {kind: dict(of_kind) for kind, of_kind in adjusted.items()}
    gate = 0.0
    for kind in order:
        here = gated.get(kind, {})
        for condition, a in here.items():
            here[condition] = replace(
                a,
                p=max(a.p, gate),
                tost_p=max(a.tost_p, gate),
                noninferior_p=max(a.noninferior_p, gate),
                gate=gate,
            )
        gate = max([gate, *(here[c].p if c in here else 1.0 for c in members[kind])])
    return gated


def around(figure: Estimate, critical: float | None) -> Interval | None:
    """The interval of so many standard errors on either side."""
    if critical is None:
        return None
    return figure.estimate - critical * figure.se, figure.estimate + critical * figure.se


def _t(evidence: Evidence | None) -> float:
    return 0.0 if evidence is None or evidence.figure.t is None else evidence.figure.t
