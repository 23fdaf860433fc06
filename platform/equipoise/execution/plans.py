"""From credit to the slots of a cell: which example is presented when, in each arm."""

from collections.abc import Mapping

from equipoise.execution.world import World
from equipoise_budget import Budget, Plan, matched, native
from equipoise_conditions.credit import Credit
from equipoise_conditions.trajectories import Trajectories
from equipoise_conditions.twins import permutation

__all__ = ["plan_of", "registered_budget"]


def registered_budget(world: World) -> Budget:
    """The common budget of the suite's matched and twin cells."""
    budget = world.suite.budget
    return Budget(
        examples=budget.examples,
        optimizer_steps=budget.optimizer_steps,
        under=budget.under,
        over=budget.over,
    )


def plan_of(world: World, cell: Mapping[str, object], trajectories: Trajectories, credit: Credit) -> Plan:
    """Slots of one cell, frozen before training starts.

    The order of the slots comes from a stream of the block, not of the condition: two rules that leave the same
    examples present them in the same slots. A twin is the matched plan of its rule with every slot's example moved
    to another turn of the same trajectory, so that the weights of every step stay what they were.

    Args:
        world: the block.
        cell: `condition`, `arm`, `twin`.
        trajectories: of the condition's own batch.
        credit: of its turns.

    Raises:
        BudgetError: if the rule leaves no example, or too few for any fill.
    """
    budget = registered_budget(world)
    values, examples = credit.value, credit.examples
    if cell["arm"] == "native":
        return native(values, examples, budget.batch, world.rng("order", "native"))
    strata = trajectories.task_of_turn
    plan = matched(values, examples, strata, budget, world.rng("order", "matched"))
    if cell["arm"] == "matched":
        return plan
    twin = world.rng("twin", str(cell["condition"]), int(str(cell["twin"])))
    return plan.twin(permutation(trajectories, twin))
