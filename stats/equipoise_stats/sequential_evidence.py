"""From the figures of a contrast at its looks to p values and intervals that the looks leave valid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import ndtr

from equipoise_stats import sequential, student
from equipoise_stats.families import Evidence, Level, at_once
from equipoise_stats.records import Question
from equipoise_stats.results import Estimate
from equipoise_stats.sequential_results import LookPoint, Sequential

Path = Sequence[Estimate | None]
"""The figures of one contrast at the looks so far; None where it could not be estimated."""


def level_of(question: Question) -> Level:
    """What one contrast alone is held to at the look of a question: repeated intervals with several looks."""
    plain = Level(question.alpha, question.smallest_effect)
    if not question.looked:
        return plain
    if question.spending == "e-process":
        return Level(plain.alpha, plain.margin, lambda level, df: sequential.e_critical(level, round(df) + 1))
    look, shares = len(question.looked) - 1, information(question)

    def critical(level: float, df: float) -> float:
        return student.critical(sequential.nominal_level(level, look, shares, question.spending), df)

    return Level(plain.alpha, plain.margin, critical)


def information(question: Question) -> tuple[float, ...]:
    """The share of the blocks that each look has."""
    return tuple(blocks / question.looks[-1] for blocks in question.looks)


def evidence(path: Path, question: Question) -> Evidence | None:
    """The evidence of a contrast from its figures at the looks so far; None where it has no test now."""
    figure = path[-1] if path else None
    if figure is None or figure.p is None:
        return None
    single = at_once(figure, question.smallest_effect)
    if not question.looked:
        return single
    if question.spending == "e-process":
        return _anytime(path, figure, question.smallest_effect)
    at_looks = [None if f is None or f.p is None else at_once(f, question.smallest_effect) for f in path]
    shares = information(question)

    def over(values: Sequence[float]) -> float:
        return sequential.sequential_p(tuple(values), shares, question.spending)

    # a one-sided test spends half of what both sides spend
    return Evidence(
        figure,
        over([1.0 if e is None else e.p for e in at_looks]),
        over([1.0 if e is None else min(1.0, 2.0 * e.tost_p) for e in at_looks]) / 2.0,
        over([1.0 if e is None else min(1.0, 2.0 * e.noninferior_p) for e in at_looks]) / 2.0,
    )


def _anytime(path: Path, figure: Estimate, margin: float) -> Evidence:
    """What holds at any look: the reciprocal of the largest e value so far (Ville's inequality)."""
    best = [1.0, 1.0, 1.0]
    for f in path:
        if f is None or f.p is None:
            continue
        below = 1.0 / _e(f, -margin) if f.estimate > -margin else 1.0
        above = 1.0 / _e(f, margin) if f.estimate < margin else 1.0
        now = (1.0 / _e(f, 0.0), max(below, above), below)
        best = [min(b, n) for b, n in zip(best, now, strict=True)]
    return Evidence(figure, *best)


def _e(figure: Estimate, null: float) -> float:
    return float(sequential.e_value((figure.estimate - null) / figure.se, round(figure.df) + 1))


def points(
    path: Path, adjusted: Sequence[float | None], members: int, question: Question
) -> tuple[LookPoint, ...]:
    """The path of one contrast.

    Args:
        path: its figures at the looks so far.
        adjusted: its adjusted p at each of them; None where it has none.
        members: of its family; 1 outside one.
        question: the registered looks.
    """
    shares, anytime = information(question), question.spending == "e-process"
    found = []
    for place, (figure, p_adjusted) in enumerate(zip(path, adjusted, strict=True)):
        tested = figure is not None and figure.p is not None
        if anytime:
            boundary = members / question.alpha
        else:
            boundary = sequential.nominal_level(question.alpha / members, place, shares, question.spending)
        p = 1.0 if p_adjusted is None else p_adjusted
        found.append(
            LookPoint(
                blocks=question.looked[place],
                t=figure.t if figure is not None and tested else None,
                p=figure.p if figure is not None and tested else None,
                e=_e(figure, 0.0) if figure is not None and tested and anytime else None,
                boundary=boundary,
                p_adjusted=p,
                crossed=p <= question.alpha,
            )
        )
    return tuple(found)


def summary(question: Question, crossed: Mapping[str, int]) -> Sequential | None:
    """Where this analysis stands in the registered plan of looks; None without one.

    Args:
        question: the registered looks.
        crossed: the contrasts whose boundary is crossed, with the blocks at which it was.
    """
    if not question.looked:
        return None
    z: tuple[float, ...] = ()
    if question.spending != "e-process":
        found = sequential.boundaries(np.array([question.alpha]), information(question), question.spending)[0]
        z = tuple(float(value) for value in found)
    place = len(question.looked)
    said = (
        f"look {place} of {len(question.looks)}, after {question.looked[-1]} of {question.looks[-1]} blocks"
    )
    if z:
        said += f"; {question.spending} boundary |z| = {z[place - 1]:.4f}"
    else:
        said += f"; rejects once the evidence reaches {1 / question.alpha:g} (times the size of the family)"
    names = ", ".join(f"{name} after {blocks} blocks" for name, blocks in crossed.items())
    said += f"; crossed: {names or 'none'}"
    nominal = tuple(float(2.0 * ndtr(-value)) for value in z)
    return Sequential(question.spending, place, question.looks, z, nominal, said)
