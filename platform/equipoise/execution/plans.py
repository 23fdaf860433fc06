"""From credit to the slots of a cell: which example is presented when, in each arm."""

from collections.abc import Iterator, Mapping

import numpy as np

from equipoise.execution.conditions import twin_of
from equipoise.execution.world import World
from equipoise_budget import Budget, Plan, matched, native
from equipoise_conditions import FloatArray, IntArray
from equipoise_conditions.credit import Credit
from equipoise_conditions.projection import loss_tokens, to_tokens, to_turns
from equipoise_conditions.trajectories import Trajectories
from equipoise_conditions.twins import Twin, cells, draw

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
    examples present them in the same slots. A twin is the matched plan of its rule with the credit moved to other
    places, so that the weights of every step stay what they were.

    Args:
        world: the block.
        cell: `condition`, `arm`, `twin`.
        trajectories: of the condition's own batch.
        credit: of its turns, or of any other granularity.

    Raises:
        BudgetError: if the rule leaves no example, or too few for any fill.
    """
    budget = registered_budget(world)
    turns = to_turns(credit, trajectories)
    if cell["arm"] == "native":
        plan = native(turns.value, turns.examples, budget.batch, world.rng("order", "native"))
    else:
        strata = trajectories.task_of_turn
        plan = matched(turns.value, turns.examples, strata, budget, world.rng("order", "matched"))
    fine = credit.granularity in ("token", "segment") or not bool(loss_tokens(credit, trajectories).all())
    if fine:
        plan = plan.with_tokens(to_tokens(credit, trajectories).value, trajectories.token_offsets)
    if cell["arm"] in ("native", "matched"):
        return plan
    kind = twin_of(world.suite, str(cell["condition"]))
    rng = world.rng("twin", str(cell["condition"]), int(str(cell["twin"])))
    if fine:
        places = cells(turns, trajectories, kind)[plan.example]
        return plan.token_twin(places, rng, signs=kind == Twin.SIGN)
    return plan.twin(_moves(turns, trajectories, kind, rng, plan.steps))


def _moves(
    credit: Credit, trajectories: Trajectories, kind: Twin, rng: np.random.Generator, steps: int
) -> Iterator[tuple[IntArray, FloatArray]]:
    """A fresh move for every optimizer step.

    One move for all steps where credit may go to turns that the rule left out: fresh ones would show many more
    different turns than the rule does, and the twin would differ from it by more than the place of the credit.
    """
    once = draw(credit, trajectories, kind, rng) if kind == Twin.ANYWHERE else None
    for _ in range(steps):
        move = once or draw(credit, trajectories, kind, rng)
        yield move.to, move.sign
