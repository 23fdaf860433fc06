"""Diverged runs: the primary scoring beside what other scorings would have said.

Primary is intention to treat: a diverged run keeps the score that was registered for it, and stays in. Beside
it stand the analysis of the runs that did not diverge (per protocol), the worst and the best case (Manski
1990, *Am. Econ. Rev.* 80: a rate lies in [0, 1]), Lee's bounds for runs that would never diverge (Lee 2009,
*Rev. Econ. Stud.* 76), and the score at which the verdict would tip. All are paired by block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from equipoise_stats import families, figures, verdicts
from equipoise_stats.decomposition import Cell, Vector, cell_name, contrast, registered_contrasts
from equipoise_stats.divergence import DivergenceTest, divergence_tests
from equipoise_stats.records import ARMS, Question, RunScore
from equipoise_stats.results import Estimate, Interval, Verdict

Judge = Callable[[Sequence[RunScore]], Verdict]
"""What the primary analysis says of one contrast if the runs had these scores."""

# Scores tried for the diverged runs of one side: from all episodes failed to all succeeded.
GRID: tuple[float, ...] = tuple(i / 20 for i in range(21))
_BISECTIONS = 12


@dataclass(frozen=True)
class FailureCount:
    """How many runs of a cell diverged."""

    condition: str
    arm: str
    runs: int
    diverged: int


@dataclass(frozen=True)
class Scoring:
    """A contrast under one scoring of the diverged runs; no figures where too few blocks are left.

    Attributes:
        blocks: blocks with a score in every cell of the contrast.
        verdict: of this contrast alone, unadjusted.
    """

    scoring: str
    blocks: int
    figures: Estimate | None
    verdict: Verdict


@dataclass(frozen=True)
class LeeBounds:
    """Bounds on the effect among runs that diverge under neither cell.

    Attributes:
        bounds: the least and the largest effect; None with the reason where there are none.
        trimmed: the cell that diverged less often, from which ``share`` of its surviving runs is trimmed.
    """

    bounds: Interval | None
    trimmed: str
    share: float
    reason: str


@dataclass(frozen=True)
class TippingRow:
    """The contrast if every diverged run of the side had this score."""

    score: float
    estimate: float
    p: float | None
    verdict: Verdict


@dataclass(frozen=True)
class Tipping:
    """What score the diverged runs of one side would need for the verdict to change.

    Attributes:
        cells: the side: the cells that the contrast adds, or those that it takes away.
        diverged: diverged runs in them.
        verdict: with the registered scores.
        below: the largest score below the registered ones at which the verdict is another one, and ``above``
            the smallest above them; None where it never is.
        rows: the verdict over the grid of scores.
    """

    cells: tuple[str, ...]
    diverged: int
    verdict: Verdict
    below: float | None
    above: float | None
    rows: tuple[TippingRow, ...]
    sentence: str


@dataclass(frozen=True)
class ContrastFailures:
    """One contrast under every scoring."""

    condition: str
    kind: str
    intention_to_treat: Scoring
    per_protocol: Scoring
    worst: Scoring
    best: Scoring
    lee: LeeBounds
    tipping: tuple[Tipping, ...]


@dataclass(frozen=True)
class Failures:
    """Divergence in the suite: counts, tests, and the contrasts whose cells hold diverged runs."""

    counts: tuple[FailureCount, ...]
    tests: tuple[DivergenceTest, ...]
    contrasts: tuple[ContrastFailures, ...]


def failures(
    runs: Sequence[RunScore], question: Question, judges: Mapping[tuple[str, str], Judge] | None = None
) -> Failures:
    """Everything that divergence may have done to the contrasts.

    Args:
        runs: checked run scores, diverged runs scored by intention to treat.
        question: the registered question.
        judges: by (condition, kind) the primary analysis, for the tipping tables; contrasts without one are
            judged alone, paired by block and unadjusted.
    """
    ordered = in_order(runs)
    counts = count(ordered, question)
    struck = {(c.condition, c.arm) for c in counts if c.diverged}
    found = []
    for condition, kind in registered_contrasts(question):
        vector = contrast(condition, kind, question)
        if struck & set(vector):
            judge = (judges or {}).get((condition, kind))
            inside = [r for r in ordered if (r.condition, r.arm) in vector]
            if judge is None:
                found.append(_under_all(condition, kind, inside, question, alone(vector, question)))
            else:  # the primary analysis looks at all runs
                found.append(_under_all(condition, kind, ordered, question, judge))
    return Failures(counts, divergence_tests(ordered, question), tuple(found))


def in_order(runs: Sequence[RunScore]) -> list[RunScore]:
    """The runs in the order in which judges are given them."""
    return sorted(runs, key=lambda r: (r.block, r.condition, r.arm, r.twin))


def count(runs: Sequence[RunScore], question: Question) -> tuple[FailureCount, ...]:
    """Runs and divergences of every cell that has runs, in the suite's order."""
    cells = [(c, arm) for c in question.conditions for arm in ARMS]
    held = {cell: [r.diverged for r in runs if (r.condition, r.arm) == cell] for cell in cells}
    return tuple(FailureCount(*cell, len(held[cell]), sum(held[cell])) for cell in cells if held[cell])


def alone(vector: Vector, question: Question) -> Judge:
    """The judgement of one contrast by its within-block values, without the family."""
    return lambda runs: scored("", runs, vector, question).verdict


def scored(scoring: str, runs: Sequence[RunScore], vector: Vector, question: Question) -> Scoring:
    """A contrast from the scores given: paired by block, twins of a block averaged.

    Args:
        scoring: what the scores are called.
        runs: the runs that count; a block that lacks a cell of the contrast is left out of it.
        vector: the contrast.
        question: level and smallest effect.
    """
    differences = _differences(runs, vector)
    if len(differences) < 2:
        return Scoring(scoring, len(differences), None, Verdict.NOT_ESTIMABLE)
    figure = figures.of_differences(np.array(differences), question.alpha)
    if figure.p is None:  # the same in every block: nothing varies, so nothing is tested
        return Scoring(scoring, len(differences), figure, Verdict.INCONCLUSIVE)
    level = families.Level(question.alpha, question.smallest_effect)
    outcome = families.unadjusted(families.at_once(figure, question.smallest_effect), level)
    word = verdicts.verdict(figure, outcome, question.alpha, question.smallest_effect)
    return Scoring(scoring, len(differences), figure, word)


def _differences(runs: Sequence[RunScore], vector: Vector) -> list[float]:
    scores: dict[int, dict[Cell, list[float]]] = {}
    for r in runs:
        if (r.condition, r.arm) in vector:
            scores.setdefault(r.block, {}).setdefault((r.condition, r.arm), []).append(r.y)
    return [
        math.fsum(weight * math.fsum(own[cell]) / len(own[cell]) for cell, weight in vector.items())
        for _, own in sorted(scores.items())
        if len(own) == len(vector)
    ]


def _under_all(
    condition: str, kind: str, runs: Sequence[RunScore], question: Question, judge: Judge
) -> ContrastFailures:
    vector = contrast(condition, kind, question)
    survivors = [r for r in runs if not r.diverged]
    sides = (
        tuple(cell for cell, weight in vector.items() if weight > 0),
        tuple(cell for cell, weight in vector.items() if weight < 0),
    )
    return ContrastFailures(
        condition,
        kind,
        scored("intention to treat", runs, vector, question),
        scored("per protocol", survivors, vector, question),
        scored("worst case", _extreme(runs, vector, worst=True), vector, question),
        scored("best case", _extreme(runs, vector, worst=False), vector, question),
        lee_bounds(runs, vector),
        tuple(
            tipping(runs, side, vector, question, judge)
            for side in sides
            if any(r.diverged and (r.condition, r.arm) in side for r in runs)
        ),
    )


def rescored(runs: Sequence[RunScore], cells: Sequence[Cell], score: float) -> list[RunScore]:
    """The runs with one score for every diverged run of the cells."""
    return [replace(r, y=score) if r.diverged and (r.condition, r.arm) in cells else r for r in runs]


def _extreme(runs: Sequence[RunScore], vector: Vector, *, worst: bool) -> list[RunScore]:
    """Diverged runs at 0 where that hurts the contrast (or helps it), at 1 elsewhere."""
    plus = [cell for cell, weight in vector.items() if weight > 0]
    minus = [cell for cell, weight in vector.items() if weight < 0]
    low, high = (0.0, 1.0) if worst else (1.0, 0.0)
    return rescored(rescored(runs, plus, low), minus, high)


def lee_bounds(runs: Sequence[RunScore], vector: Vector) -> LeeBounds:
    """Lee's bounds of a contrast of two cells.

    The cell with the larger share q of surviving runs is trimmed by 1 - q_other / q from its upper end for one
    bound, from its lower end for the other; a run at the edge counts in part. They hold if a change of rule
    only ever prevents divergence or only ever causes it.

    Args:
        runs: run scores.
        vector: the contrast, +1 for one cell and -1 for another.
    """
    if sorted(vector.values()) != [-1, 1]:
        return LeeBounds(None, "", 0.0, f"Lee's bounds compare two cells; this contrast has {len(vector)}")
    sides = {w: [r for r in runs if (r.condition, r.arm) == cell] for cell, w in vector.items()}
    alive = {w: sorted(r.y for r in side if not r.diverged) for w, side in sides.items()}
    if not all(alive.values()):
        return LeeBounds(None, "", 0.0, "a cell has no run that did not diverge")
    share = {w: len(alive[w]) / len(sides[w]) for w in sides}
    larger = 1 if share[1] >= share[-1] else -1
    trim = 1.0 - share[-larger] / share[larger]
    other = math.fsum(alive[-larger]) / len(alive[-larger])
    ends = (
        _lowest_mean(alive[larger], 1.0 - trim),
        -_lowest_mean([-y for y in alive[larger]][::-1], 1.0 - trim),
    )
    effects = sorted(larger * (end - other) for end in ends)
    name = next(cell_name(cell) for cell, w in vector.items() if w == larger)
    return LeeBounds((effects[0], effects[1]), name if trim > 0 else "", trim, "")


def _lowest_mean(ascending: Sequence[float], share: float) -> float:
    """The mean of the lowest share of values, the one at the edge counted in part."""
    mass = share * len(ascending)
    weights = [min(1.0, max(0.0, mass - i)) for i in range(len(ascending))]
    return math.fsum(w * y for w, y in zip(weights, ascending, strict=True)) / math.fsum(weights)


def tipping(
    runs: Sequence[RunScore], side: Sequence[Cell], vector: Vector, question: Question, judge: Judge
) -> Tipping:
    """At which common score of a side's diverged runs the verdict becomes another one.

    Args:
        runs: run scores by intention to treat.
        side: cells of the contrast whose diverged runs are rescored; at least one has diverged.
        vector: the contrast.
        question: level and smallest effect.
        judge: what is said of rescored runs.
    """
    struck = [r.y for r in runs if r.diverged and (r.condition, r.arm) in side]
    now = judge(runs)
    table = []
    for score in GRID:
        fresh = rescored(runs, side, score)
        figure = scored("", fresh, vector, question).figures
        if figure is not None:
            table.append(TippingRow(score, figure.estimate, figure.p, judge(fresh)))

    def differs(score: float) -> bool:
        return judge(rescored(runs, side, score)) is not now

    below = _first_change(differs, [s for s in reversed(GRID) if s < min(struck)], min(struck))
    above = _first_change(differs, [s for s in GRID if s > max(struck)], max(struck))
    names = tuple(cell_name(cell) for cell in side)
    return Tipping(
        names, len(struck), now, below, above, tuple(table), _tipping_sentence(names, now, below, above)
    )


def _first_change(differs: Callable[[float], bool], scores: Sequence[float], start: float) -> float | None:
    """The nearest score on the way at which the verdict is another one, bisected within its step of the grid."""
    if differs(start):  # one score for all of them is a change already where they had several
        return start
    inside = start
    for score in scores:
        if differs(score):
            outside = score
            for _ in range(_BISECTIONS):
                middle = (inside + outside) / 2.0
                inside, outside = (inside, middle) if differs(middle) else (middle, outside)
            return round(outside, 4)
        inside = score
    return None


def _tipping_sentence(names: Sequence[str], now: Verdict, below: float | None, above: float | None) -> str:
    who = f"diverged runs of {' and '.join(names)}"
    if below is None and above is None:
        return f"'{now}' stands whatever score the {who} are given"
    ends = [
        f"{score:.3f} or {word}" for score, word in ((below, "less"), (above, "more")) if score is not None
    ]
    return f"'{now}' would change if the {who} had scored {', or '.join(ends)}"
