"""Further trajectories for a rule that leaves too few examples, collected by its cell and charged to it."""

from dataclasses import dataclass

import numpy as np

from equipoise.execution.batches import Batch, batch_of
from equipoise.execution.costs import played
from equipoise.execution.crediting import credited
from equipoise.execution.forks import append
from equipoise.execution.world import World
from equipoise.policies.episodes import Start
from equipoise.policies.rollout import Sampler, opening
from equipoise_budget import BudgetExceeded, BudgetRefused, Cost, Meters, charge, further_rollouts, share_of
from equipoise_conditions.credit import Credit
from equipoise_conditions.projection import to_turns

__all__ = ["Refilled", "refilled"]


@dataclass(frozen=True, eq=False)
class Refilled:
    """What the rule leaves after refills.

    Attributes:
        batch: collected trajectories, refills after the block's own, and forks after them.
        credit: of the rule, applied to all of it again.
        waves: further rollouts of each task, wave by wave.
        cost: of collecting them, and of measuring on the larger batch as often as that was done; of a wave that passed
            a limit too, though none of its trajectories are here.
        refusal: why there are still too few examples; None when there are enough.
    """

    batch: Batch
    credit: Credit
    waves: tuple[int, ...]
    cost: Cost
    refusal: BudgetRefused | None

    def to_json(self) -> dict[str, object]:
        """Return plain JSON values, without the arrays."""
        return {"waves": list(self.waves), "cost": self.cost.to_json()}


def refilled(
    world: World,
    sampler: Sampler,
    name: str,
    collected: Batch,
    own: tuple[Batch, Credit],
    before: Cost | None = None,
) -> Refilled:
    """Collect wave after wave with the policy that collected the batch, until the rule leaves an example for each slot.

    The streams are named by wave, not by condition, so that all conditions that refill meet the same trajectories,
    and a twin meets those of its rule.

    Args:
        world: the block and the round.
        sampler: the policy that collected.
        name: id of the condition.
        collected: the batch of the block, in later rounds of the cell, without forks.
        own: the condition's batch, forks included, and the rule's credit of it.
        before: what that credit has cost; refills are then held to what the limits of generation leave. None for a
            cell without limits. The spending that passes one ends the cell, and is charged to it.
    """
    limits = {} if before is None else world.suite.budget.generation.limits
    with Meters("budget.generation", limits):
        try:
            charge(before or Cost())
        except BudgetExceeded as error:
            return Refilled(*own, (), Cost(), error)
        return _in_waves(world, sampler, name, collected, own)


def _in_waves(
    world: World, sampler: Sampler, name: str, collected: Batch, own: tuple[Batch, Credit]
) -> Refilled:
    budget, rollouts = world.suite.budget, world.suite.collection.rollouts_per_task
    slots = share_of(budget.examples, world.suite.collection.rounds)
    (batch, credit), waves = own, list[int]()
    with Meters("refill") as spent:
        while True:
            examples, refills = len(to_turns(credit, batch.trajectories).examples), sum(waves)
            try:
                more = further_rollouts(
                    examples, slots, rollouts + refills, spent=refills, cap=budget.refill.cap
                )
                if not more:
                    return Refilled(batch, credit, tuple(waves), spent.cost, None)
                collected = _wave(world, sampler, collected, more, len(waves))
                again = credited(world, sampler, name, collected)
            except BudgetRefused as error:
                return Refilled(batch, credit, tuple(waves), spent.cost, error)
            batch, credit = again.batch, again.credit
            waves.append(more)


def _wave(world: World, sampler: Sampler, batch: Batch, rollouts: int, wave: int) -> Batch:
    """The batch with so many further rollouts of every pool task behind it; what they cost is charged."""
    tasks = [task for task in range(world.env.tasks("pool")) for _ in range(rollouts)]
    states = [world.env.reset("pool", task) for task in tasks]
    starts = [Start(state, opening(world.words, state)) for state in states]
    episodes = sampler.play(starts, world.uniforms(len(starts), "refill", wave))
    alone = np.full(len(tasks), -1, dtype=np.int64)
    charge(played(sampler.model, starts, episodes))
    return append(batch, batch_of(episodes, tasks, sampler.bank), alone, np.zeros_like(alone))
