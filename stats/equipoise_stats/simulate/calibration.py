"""The states of nature under which every verdict is held to its level, and how often each is then wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from equipoise_stats.decomposition import CONTENT
from equipoise_stats.records import Question
from equipoise_stats.simulate.decide import controls_pass
from equipoise_stats.simulate.plan import Plan
from equipoise_stats.simulate.rates import study
from equipoise_stats.simulate.scenarios import scenario
from equipoise_stats.simulate.world import World, draw

_RULES = ("base", "a", "b", "c", "d", "e", "f")
LEVEL = 0.05
TOLERATED = 0.055
"""The highest rate of false claims, beyond the error of the simulation, at a nominal level of 0.05."""


@dataclass(frozen=True)
class Calibration:
    """Rates of false verdicts in one state of nature; the worst of the four families where none is named.

    Attributes:
        case: the state of nature.
        rates: by verdict. ``content`` is any false difference of content in either direction.
        coverage: of the intervals of content, one by one.
    """

    case: str
    blocks: int
    engine: str
    sets: int
    rates: Mapping[str, float]
    coverage: float


def calibration_plan(blocks: int, engine: str = "auto", multiplicity: str = "step-down-max-t") -> Plan:
    """Six rules, their baseline and two controls, one twin a block."""
    question = Question(
        "base",
        (*_RULES, "good", "bad"),
        identical=frozenset({"base"}),
        controls={"good": "positive", "bad": "negative"},
        engine=engine,
        multiplicity=multiplicity,
    )
    return Plan(question, blocks)


def other_designs() -> dict[str, Plan]:
    """Looks at unfinished suites, several twins a block, and one more block than the fewest; by what they are."""
    found = {}
    for blocks in (10, 20):
        plan = calibration_plan(blocks)
        for spending in ("obf", "pocock"):
            looks = (blocks // 2, blocks)
            question = replace(plan.question, looks=looks, spending=spending)
            found[f"{spending}, looks at {looks[0]} and {looks[1]} blocks"] = Plan(question, blocks)
        question = replace(plan.question, looks=tuple(range(2, blocks + 1)), spending="e-process")
        found[f"e-process, looks after every one of {blocks} blocks"] = Plan(question, blocks)
    found["two twins a block, 5 blocks"] = replace(calibration_plan(5), twins=2)
    found["two twins a block, 10 blocks"] = replace(calibration_plan(10), twins=2)
    found["three blocks"] = calibration_plan(3)
    return found


def cases(plan: Plan) -> dict[str, World]:
    """Every state of nature by what it is; in none but the last two has a rule any content."""
    margin = plan.question.smallest_effect
    at_margin = {(rule, "matched"): margin for rule in plan.question.claimants}
    noisy = {"f": 3.0, "good": 3.0, "bad": 3.0}
    return {
        "volume up to 10x": scenario("S0", plan),
        "effective sample size down to 0.2": scenario("S1", plan),
        "saturating dose": scenario("S2", plan),
        "one rule with 3x the run SD": scenario("S5", plan),
        "one rule with 10x the run SD": World(spread={"f": 10.0}),
        "half of the rules with 3x the run SD": World(spread=dict.fromkeys("abc", 3.0)),
        "all rules but one with 3x the run SD": World(spread=dict.fromkeys("abcde", 3.0)),
        "the baseline with 3x the run SD": World(spread={"base": 3.0}),
        "the baseline and half of the rules with 3x": World(spread=dict.fromkeys(("base", *"abc"), 3.0)),
        "controls with 3x the run SD": World(spread={"good": 3.0, "bad": 3.0}),
        "28 % divergence of bad runs": scenario("SD", plan),
        "content equal to the margin": World(effects=at_margin),
        "content equal to the margin, one rule with 3x": World(effects=at_margin, spread=noisy),
    }


def calibrate(plan: Plan, case: str, *, sets: int, seed: int) -> Calibration:
    """Simulate one case and count false verdicts of each sort.

    Hypotheses need no rates of their own: CONFIRMED, REFUTED and EQUIVALENT are the verdicts of one contrast,
    and so are no more often wrong than those of its family.
    """
    world = cases(plan)[case]
    by_kind = study(plan, world, sets, seed)
    worst = {
        name: max(getattr(rates, name) for rates in by_kind.values())
        for name in ("any_difference", "superior", "by_margin", "inferior", "equivalent")
    }
    # controls are judged where they have no content, whatever the rules have
    idle = replace(world, effects={c: e for c, e in world.effects.items() if c[0] not in plan.controls})
    rng = np.random.default_rng(seed + 1)
    passed = controls_pass(plan, draw(plan, idle, sets, rng))
    rates = {"content": by_kind[CONTENT].any_difference, **worst}
    rates["positive control passed"] = float(passed["good"].mean())
    rates["negative control failed"] = float((~passed["bad"]).mean())
    return Calibration(case, plan.blocks, plan.engine, sets, rates, by_kind[CONTENT].coverage)
