"""What the primary analysis says of runs with other scores: all verdicts of a family in well under a millisecond.

Serves where hundreds of scorings of one suite are judged, as in the tables of failures. It goes by the path that
simulated suites are judged on, which ``analyse`` agrees with verdict by verdict.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from equipoise_stats.decomposition import REPORTED, family
from equipoise_stats.drafts import Engine
from equipoise_stats.failures import Judge, in_order
from equipoise_stats.judging import Key
from equipoise_stats.layout import Layout
from equipoise_stats.records import ARMS, Question, RunScore
from equipoise_stats.results import Verdict
from equipoise_stats.simulate.decide import VERDICTS, judge
from equipoise_stats.simulate.plan import Plan


def primary_judges(
    runs: Sequence[RunScore], layout: Layout, question: Question, engine: Engine
) -> dict[Key, Judge]:
    """By member of a family, its verdict within the family from runs that differ in their scores only.

    Args:
        runs: checked run scores, of all blocks.
        layout: of the runs.
        question: the registered question.
        engine: the primary analysis.

    Returns:
        Empty where the family cannot be judged on its own and once: with looks, gates, incomplete blocks, cells
        that were barred or unequal numbers of twins.
    """
    plan = _plan(layout, question, engine)
    if plan is None:
        return {}
    place = {cell: i for i, cell in enumerate(layout.cells)}
    column = {block: i for i, block in enumerate(layout.blocks)}
    ordered = in_order(runs)
    kept = np.array([(r.condition, r.arm) in place for r in ordered])
    inside = [r for r in ordered if (r.condition, r.arm) in place]
    rows = np.array([place[r.condition, r.arm] for r in inside])
    columns = np.array([column[r.block] for r in inside])
    share = 1.0 / np.array([plan.twins if r.arm == "twin" else 1 for r in inside])

    def table(rescored: Sequence[RunScore]) -> bytes:
        y = np.zeros((len(place), len(column)))
        np.add.at(y, (rows, columns), share * np.array([r.y for r in rescored])[kept])
        return y.tobytes()

    @functools.lru_cache(maxsize=4096)
    def of_family(kind: str, scores: bytes) -> tuple[Verdict, ...]:
        # contrasts that share the baseline's cells share scorings
        y = np.frombuffer(scores).reshape(1, len(place), len(column))
        return tuple(VERDICTS[n] for n in judge(plan, y, (kind,))[kind].verdicts[0])

    def of_member(kind: str, member: int) -> Judge:
        return lambda rescored: of_family(kind, table(rescored))[member]

    return {
        (condition, kind): of_member(kind, i)
        for kind in REPORTED
        if plan.estimable(kind)
        for i, condition in enumerate(family(kind, question))
    }


def _plan(layout: Layout, question: Question, engine: Engine) -> Plan | None:
    once = not question.looked and not question.gatekeeping and not layout.left_out
    widths = {twins.shape[1] for twins in layout.twins.values()}
    if not once or len(widths) > 1 or min(layout.y.shape) < 2:
        return None
    arms = tuple(arm for arm in ARMS if any(cell[1] == arm for cell in layout.cells))
    plan = Plan(question, len(layout.blocks), layout.most_twins, arms)
    return plan if plan.cells == layout.cells and plan.engine == engine.name else None
