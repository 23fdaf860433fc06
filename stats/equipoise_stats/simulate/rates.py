"""How often a simulated plan claims what is true, and what is not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from equipoise_stats.decomposition import CONTENT
from equipoise_stats.results import Verdict
from equipoise_stats.simulate.decide import Judged, judge
from equipoise_stats.simulate.plan import Plan
from equipoise_stats.simulate.scenarios import NULLS, scenario
from equipoise_stats.simulate.world import World, draw, truth

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

# An interval or a margin is met up to rounding of the scenario's sums.
_ROUNDING = 1e-12
_BATCH = 4_000


@dataclass(frozen=True)
class Rates:
    """Shares of simulated suites.

    Attributes:
        any_difference: with a difference claimed of at least one member that has none, or of the wrong sign.
        superior: with a rule falsely called superior, by a margin or not.
        by_margin: with a rule falsely called superior by at least the smallest effect.
        inferior: with a rule falsely called inferior.
        equivalent: with a rule falsely called equivalent.
        coverage: mean share of members whose interval holds the truth.
        shown: by member, with a difference claimed in the true direction, or in any where the truth is 0.
        equal: by member, with equivalence claimed.
    """

    sets: int
    any_difference: float
    superior: float
    by_margin: float
    inferior: float
    equivalent: float
    coverage: float
    shown: Mapping[str, float]
    equal: Mapping[str, float]

    def error(self, rate: float) -> float:
        """Monte-Carlo standard error of a rate."""
        return math.sqrt(max(rate * (1.0 - rate), 1.0 / self.sets) / self.sets)


def study(
    plan: Plan, world: World, sets: int, seed: int, kinds: Sequence[str] | None = None
) -> dict[str, Rates]:
    """Simulate a plan and rate each of its families.

    Args:
        plan: the registered plan.
        world: what is taken to be true.
        sets: simulated suites.
        seed: of the draws; the same arguments give the same rates.
        kinds: the families wanted; None is all.
    """
    rng = np.random.default_rng(seed)
    parts: dict[str, list[Judged]] = {kind: [] for kind in kinds or plan.kinds}
    done = 0
    while done < sets:
        batch = min(_BATCH, sets - done)
        for kind, judged in judge(plan, draw(plan, world, batch, rng), kinds).items():
            parts[kind].append(judged)
        done += batch
    return {kind: _rates(found, truth(plan, world, kind), plan) for kind, found in parts.items()}


def _rates(parts: list[Judged], true: FloatArray, plan: Plan) -> Rates:
    margin = plan.question.smallest_effect

    def where(*verdicts: Verdict) -> BoolArray:
        return np.concatenate([judged.is_(*verdicts) for judged in parts])

    def some(wrong: BoolArray) -> float:
        return float(wrong.any(axis=1).mean())

    up, down = where(Verdict.SUPERIOR, Verdict.SUPERIOR_BY_MARGIN), where(Verdict.INFERIOR)
    same, by_margin = where(Verdict.EQUIVALENT), where(Verdict.SUPERIOR_BY_MARGIN)
    wrong_up, wrong_down = up & (true <= _ROUNDING), down & (true >= -_ROUNDING)
    shown = np.where(true > _ROUNDING, up, np.where(true < -_ROUNDING, down, up | down))
    covered = [(judged.low <= true) & (true <= judged.high) for judged in parts]
    members = parts[0].members
    return Rates(
        sets=up.shape[0],
        any_difference=some(wrong_up | wrong_down),
        superior=some(wrong_up),
        by_margin=some(by_margin & (true <= margin + _ROUNDING)),
        inferior=some(wrong_down),
        equivalent=some(same & (np.abs(true) >= margin - _ROUNDING)),
        coverage=float(np.concatenate(covered).mean()),
        shown=dict(zip(members, shown.mean(axis=0).tolist(), strict=True)),
        equal=dict(zip(members, same.mean(axis=0).tolist(), strict=True)),
    )


def power_of(plan: Plan, world: World, kind: str, effect: float, *, sets: int, seed: int) -> float:
    """The chance that one rule with an effect is claimed to have it, the others having none.

    Args:
        plan: the registered plan.
        world: spreads; its effects are replaced.
        kind: of the contrast that has the effect.
        effect: in success rate.
        sets: simulated suites.
        seed: of the draws.
    """
    member = plan.members(kind)[-1]
    cell = {"content": "matched", "shape": "twin", "volume": "native", "total": "native"}[kind]
    changed = replace(world, effects={(member, cell): effect})
    return study(plan, changed, sets, seed, (kind,))[kind].shown[member]


def false_claims(plan: Plan, world: World, *, sets: int, seed: int) -> dict[str, float]:
    """By scenario, how often a content is claimed of any rule where there is none."""
    return {
        name: study(plan, scenario(name, plan, world), sets, seed + place, (CONTENT,))[CONTENT].any_difference
        for place, name in enumerate(NULLS)
    }
