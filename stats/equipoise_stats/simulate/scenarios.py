"""States of nature without any content of credit, in which every claim of content is false.

Success rises by 0.04 with each unit of log volume, and native volumes run from the baseline's to ten times it.

    S0  volume alone differs
    S1  and the effective sample size at equal slots and steps falls from 1 to 0.2 by rule
    S2  and success saturates with volume
    S5  and the runs of one rule spread three times as much
    SD  and 28 % of the runs of one rule diverge, worse ones more often, its twin's alike
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from equipoise_stats.decomposition import Cell
from equipoise_stats.errors import StatsError
from equipoise_stats.simulate.plan import Plan
from equipoise_stats.simulate.world import Divergence, World

NULLS: tuple[str, ...] = ("S0", "S1", "S2", "S5")
_PER_LOG = 0.04
_MOST_VOLUME, _LEAST_ESS, _SPREAD = 10.0, 0.2, 3.0


def scenario(
    name: str, plan: Plan, world: World | None = None, content: Mapping[str, float] | None = None
) -> World:
    """One of the states above.

    Args:
        name: ``S0``, ``S1``, ``S2``, ``S5`` or ``SD``.
        plan: whose conditions get the volumes, in their order, the baseline the least.
        world: level and spreads; its effects are replaced.
        content: by condition, a content added to matched and native cells after all.

    Raises:
        StatsError: if there is no scenario of that name.
    """
    if name not in (*NULLS, "SD"):
        raise StatsError([f"scenario: expected one of {', '.join((*NULLS, 'SD'))}, got '{name}'"])
    start = world or World()
    question = plan.question
    others = [c for c in question.conditions if c != question.baseline]
    order = [question.baseline, *others]
    noisy = (question.claimants or tuple(others))[-1]
    return World(
        level=start.level,
        effects=_effects(name, order, content or {}),
        run_sd=start.run_sd,
        evaluation_sd=start.evaluation_sd,
        block_sd=start.block_sd,
        spread={**start.spread, noisy: _SPREAD} if name == "S5" else start.spread,
        divergence=Divergence((noisy,)) if name == "SD" else start.divergence,
    )


def _effects(name: str, order: list[str], content: Mapping[str, float]) -> dict[Cell, float]:
    volume = np.geomspace(1.0, _MOST_VOLUME, len(order))
    ess = np.geomspace(1.0, _LEAST_ESS if name == "S1" else 1.0, len(order))
    effects: dict[Cell, float] = {}
    for condition, v, e in zip(order, volume, ess, strict=True):
        credit = content.get(condition, 0.0)
        dose = _PER_LOG * float(np.log(v))
        if name == "S2":
            # the first unit of log volume gains as much as in S0, and ten times the volume not even two of it
            dose = 1.5 * _PER_LOG * float(1.0 - 1.0 / v)
        shape = _PER_LOG * float(np.log(e))
        effects[condition, "native"] = dose + shape + credit
        effects[condition, "matched"] = shape + credit
        effects[condition, "twin"] = shape
    return effects
