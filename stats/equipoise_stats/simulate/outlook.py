"""What a registered plan can show, and how often it would err: the table that is stored with a registration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from equipoise_stats import power
from equipoise_stats.decomposition import CONTENT
from equipoise_stats.drafts import BOTH, PAIRED
from equipoise_stats.errors import StatsError
from equipoise_stats.power import Design
from equipoise_stats.simulate import steps
from equipoise_stats.simulate.decide import controls_pass
from equipoise_stats.simulate.naive import native_claims
from equipoise_stats.simulate.plan import Plan
from equipoise_stats.simulate.rates import false_claims, power_of
from equipoise_stats.simulate.scenarios import NULLS, scenario
from equipoise_stats.simulate.world import World, draw

_MOST = 4_096
_ROUNDED = 4


@dataclass(frozen=True)
class FamilyPower:
    """One family of contrasts, each of its members taken alone.

    Attributes:
        kind: of the contrasts.
        members: how many share the level.
        mde: the smallest effect that is claimed with the registered power, at the family's first step.
        power: the chance that a rule with the smallest effect that matters is claimed, at the first step.
        power_simulated: the same of the whole plan, later steps included.
        equivalence: the chance that a rule without an effect is called equivalent, at the first step.
        blocks_to_detect: the fewest blocks that reach the registered power; None beyond thousands.
        blocks_for_equivalence: the fewest with which equivalence reaches it.
    """

    kind: str
    members: int
    mde: float
    power: float
    power_simulated: float
    equivalence: float
    blocks_to_detect: int | None
    blocks_for_equivalence: int | None


@dataclass(frozen=True)
class Outlook:
    """What a plan can show.

    Attributes:
        engine: the primary analysis.
        world: the spreads that were taken to be true.
        families: by kind, in the order of the decomposition.
        false_content: by null scenario, how often any rule is claimed to have content that none has.
        false_native: by null scenario, how often a native-only comparison would have called any rule better.
        not_void: the chance that all controls pass, the positive ones having the content given.
        sets: simulated suites behind each rate.
        seed: of the draws.
    """

    engine: str
    multiplicity: str
    blocks: int
    twins: int
    looks: tuple[int, ...]
    smallest_effect: float
    target: float
    world: World
    families: tuple[FamilyPower, ...]
    false_content: Mapping[str, float]
    false_native: Mapping[str, float]
    not_void: float
    sets: int
    seed: int


def look_ahead(
    plan: Plan, world: World, *, sets: int = 4_000, seed: int = 0, control_effect: float | None = None
) -> Outlook:
    """Work a plan out, in closed form and by simulation.

    Args:
        plan: the registered plan.
        world: spreads, and divergence, that are taken to be true.
        sets: simulated suites for each rate; the Monte-Carlo error of a rate of 0.05 is 0.0034 at 4,000.
        seed: of the draws.
        control_effect: content of positive controls; None is twice the smallest effect.

    Raises:
        StatsError: if the plan looks at the data open-ended; with few blocks no effect is then ever claimed.
    """
    if plan.question.spending == "e-process":
        raise StatsError(
            ["spending: expected none, obf or pocock, got 'e-process', whose power is not worked out"]
        )
    bare = replace(world, effects={})
    judged = CONTENT in plan.kinds
    native = "native" in plan.arms and bool(plan.question.claimants)
    content = 2 * plan.question.smallest_effect if control_effect is None else control_effect
    return Outlook(
        engine=plan.engine,
        multiplicity="step-down-max-t" if plan.max_t else "holm",
        blocks=plan.blocks,
        twins=plan.twins,
        looks=plan.looks,
        smallest_effect=plan.question.smallest_effect,
        target=plan.question.power,
        world=bare,
        families=tuple(_family(plan, bare, kind, sets, seed) for kind in plan.kinds),
        false_content=false_claims(plan, bare, sets=sets, seed=seed) if judged else {},
        false_native=_native(plan, bare, sets, seed) if native else {},
        not_void=_not_void(plan, bare, content, sets, seed),
        sets=sets,
        seed=seed,
    )


def design(plan: Plan, world: World, kind: str, *, equivalence: bool = False) -> Design:
    """The first step of a family, at which its hardest claim is made.

    Args:
        plan: the registered plan.
        world: the spread of runs.
        kind: of the family.
        equivalence: the design of its two one-sided tests in the place of that of a difference.
    """
    alpha, members = plan.question.alpha, len(plan.members(kind))
    sides, last = 2 if equivalence else 1, len(plan.looks) - 1
    family = steps.nominal(plan, sides * alpha / members, last)
    critical, pooled, paired = None, None, None
    if plan.engine == PAIRED:
        paired = family
    elif plan.max_t and not equivalence:
        df = (len(plan.cells) - 1) * (plan.blocks - 1)
        shared = plan.correlation(kind)
        critical = steps.max_t_value(alpha, float(shared[0, 1]) if members > 1 else 0.0, members, df)
    else:
        pooled = family
    if plan.engine == BOTH:
        paired = steps.nominal(plan, sides * alpha / plan.factor(kind), last)
    return Design(
        world.noise, plan.blocks, plan.size(kind), len(plan.cells), pooled, paired, pooled_critical=critical
    )


def _family(plan: Plan, world: World, kind: str, sets: int, seed: int) -> FamilyPower:
    effect, wanted = plan.question.smallest_effect, plan.question.power
    single = replace(plan, question=replace(plan.question, looks=(), spending="none"))

    def at(blocks: int) -> Plan:
        return replace(single, blocks=blocks)

    def detects(blocks: int) -> bool:
        return power.power(design(at(blocks), world, kind), effect) >= wanted

    def equates(blocks: int) -> bool:
        return power.tost_power(design(at(blocks), world, kind, equivalence=True), effect) >= wanted

    here = design(plan, world, kind)
    return FamilyPower(
        kind=kind,
        members=len(plan.members(kind)),
        mde=round(power.mde(here, wanted), _ROUNDED),
        power=round(power.power(here, effect), _ROUNDED),
        power_simulated=power_of(plan, world, kind, effect, sets=sets, seed=seed),
        equivalence=round(power.tost_power(design(plan, world, kind, equivalence=True), effect), _ROUNDED),
        blocks_to_detect=power.fewest_blocks(detects, _MOST),
        blocks_for_equivalence=power.fewest_blocks(equates, _MOST),
    )


def _native(plan: Plan, world: World, sets: int, seed: int) -> dict[str, float]:
    rates = {}
    for place, name in enumerate(NULLS):
        y = draw(plan, scenario(name, plan, world), sets, np.random.default_rng(seed + place))
        rates[name] = float(native_claims(plan, y).any(axis=1).mean())
    return rates


def _not_void(plan: Plan, world: World, content: float, sets: int, seed: int) -> float:
    positive = [c for c in plan.controls if plan.question.controls[c] == "positive"]
    changed = replace(world, effects={(c, "matched"): content for c in positive})
    passed = controls_pass(plan, draw(plan, changed, sets, np.random.default_rng(seed)))
    return float(np.all(list(passed.values()), axis=0).mean()) if passed else 1.0
