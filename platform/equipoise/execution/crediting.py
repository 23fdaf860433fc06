"""A rule applied to a batch: what it needs is measured, then credit is assigned."""

from collections.abc import Mapping
from dataclasses import dataclass

from equipoise.execution.batches import Batch
from equipoise.execution.conditions import condition_of
from equipoise.execution.forks import with_forks
from equipoise.execution.supplies.case import Case
from equipoise.execution.supplies.counting import counts_of
from equipoise.execution.supplies.settings import settings_of
from equipoise.execution.supplies.table import measure
from equipoise.execution.world import World
from equipoise.policies.rollout import Sampler
from equipoise_budget import Cost
from equipoise_conditions.context import Need
from equipoise_conditions.credit import Credit

__all__ = ["Credited", "credited"]


@dataclass(frozen=True, eq=False)
class Credited:
    """What came of it.

    Attributes:
        batch: that the credit is of: the given one, and forks where the rule makes them.
        credit: of its units.
        cost: of forks and measurements.
        supplied: how many units of each need were measured, and how many were not, by reason.
        forked: whether the batch is the condition's own.
    """

    batch: Batch
    credit: Credit
    cost: Cost
    supplied: Mapping[str, Mapping[str, int]]
    forked: bool


def credited(world: World, sampler: Sampler, name: str, batch: Batch) -> Credited:
    """Measure what the rule of a condition declares to need on a collected batch, and apply it.

    Args:
        world: the block; measurements take its named streams.
        sampler: the policy that collected.
        name: id of the condition.
        batch: collected, without forks.

    Raises:
        ExecutionError: if the rule needs what cannot be supplied in the suite's environment.
    """
    rule, params = condition_of(world.suite, name)
    needs = rule.needed(params)
    spent, forked = Cost(), Need.FORKS in needs
    if forked:
        batch, spent = with_forks(world, sampler, batch, settings_of(params))
    case = Case(world, sampler, batch, rule, params, [spent])
    context = measure(case)
    credit = rule.apply(batch.trajectories, context, params)
    supplied = {str(need): counts_of(context, need) for need in sorted(needs)}
    return Credited(batch, credit, case.spent, supplied, forked)
