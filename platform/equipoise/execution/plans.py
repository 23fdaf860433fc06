"""From credit to the slots of a cell: which example is presented when, in each arm."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from equipoise.execution.conditions import twin_of
from equipoise.execution.world import World
from equipoise_budget import (
    Affordable,
    Budget,
    BudgetRefused,
    EmptyBudget,
    Plan,
    Turns,
    fitted,
    native,
    share_of,
    token_twin,
)
from equipoise_conditions import FloatArray, IntArray
from equipoise_conditions.credit import Credit
from equipoise_conditions.projection import loss_tokens, to_tokens, to_turns
from equipoise_conditions.trajectories import Trajectories
from equipoise_conditions.twins import Move, Twin, draw

__all__ = ["plan_of", "registered_budget", "whole_budget"]

_MOVES = 8
"""Moves that a twin draws for each step where tokens are matched, to choose among."""


def registered_budget(world: World, trajectories: Trajectories) -> Budget:
    """The common budget of the suite's matched and twin cells in one round: its share of the totals.

    Args:
        world: the block.
        trajectories: a batch of the round. The target of tokens, unless it is registered, is the mean over the
            turns that were collected in the registered rollouts, which stand first in every batch.
    """
    budget, rounds = world.suite.budget, world.suite.collection.rounds
    examples = share_of(budget.examples, rounds)
    targets = {axis: value / rounds for axis, value in _targets(world).items()}
    if "weight_mass" in budget.match:
        targets.setdefault("weight_mass", float(examples))
    if "tokens" in budget.match and "tokens" not in targets:
        turns = int(trajectories.turn_offsets[_collected(world)])
        mean = int(trajectories.token_offsets[turns]) / turns
        targets["tokens"] = float(round(examples * mean))
    return _budget(world, examples, share_of(budget.optimizer_steps, rounds), targets)


def whole_budget(world: World, shares: Sequence[Budget]) -> Budget:
    """What the rounds add up to: the registered slots, steps and targets.

    Args:
        world: the block.
        shares: of the rounds that were begun. A target that is not registered is the sum of theirs.
    """
    budget, registered = world.suite.budget, _targets(world)
    targets = {
        axis: registered.get(axis, float(sum(share.targets[axis] for share in shares)))
        for axis in shares[0].targets
    }
    return _budget(world, budget.examples, budget.optimizer_steps, targets)


def _targets(world: World) -> dict[str, float]:
    """Targets that the suite registers, of all rounds together."""
    targets = world.suite.budget.targets.model_dump()
    return {axis: float(value) for axis, value in targets.items() if value is not None}


def _budget(world: World, examples: int, steps: int, targets: Mapping[str, float]) -> Budget:
    budget = world.suite.budget
    return Budget(
        examples=examples,
        optimizer_steps=steps,
        under=budget.under,
        over=budget.over,
        max_repetition=budget.max_repetition,
        targets=targets,
        tolerances=budget.tolerances.model_dump(),
    )


def plan_of(
    world: World,
    cell: Mapping[str, object],
    trajectories: Trajectories,
    credit: Credit,
    generation: Affordable | None = None,
) -> Plan:
    """Slots of one cell, frozen before training starts.

    The order of the slots comes from a stream of the block, not of the condition: two rules that leave the same
    examples present them in the same slots. A twin is the matched plan of its rule with the credit moved to other
    places, so that the weights of every step stay what they were.

    Args:
        world: the block.
        cell: `condition`, `arm`, `twin`.
        trajectories: of the condition's own batch, refills included.
        credit: of its turns, or of any other granularity.
        generation: the prompts that the cell can afford; all where it has no limits.

    Raises:
        EmptyBudget: if the rule leaves no example, or the cell can afford no prompt that it left one on.
        BudgetRefused: if it leaves too few for the fill, or a target cannot be met.
    """
    budget = registered_budget(world, trajectories)
    turns = to_turns(credit, trajectories)
    fine = credit.granularity in ("token", "segment") or not bool(loss_tokens(credit, trajectories).all())
    weights = to_tokens(credit, trajectories) if fine else None
    examples = _affordable(turns.examples, trajectories, generation)
    if cell["arm"] == "native":
        plan = native(turns.value, examples, budget.batch, world.rng("order", "native"))
        return plan if weights is None else plan.with_tokens(weights.value, trajectories.token_offsets)
    table = _turns(world, trajectories, weights)
    plan = _explained(turns.value, examples, table, budget, world, generation)
    if plan.fill != "pad" and _is_refilled(world, trajectories):
        plan = replace(plan, fill="refill")
    if weights is not None:
        plan = plan.with_tokens(weights.value, trajectories.token_offsets)
    if "weight_mass" in budget.targets:
        plan = plan.scaled_to(budget.targets["weight_mass"])
    plan = replace(plan, stop=budget.stop)
    return plan if cell["arm"] == "matched" else _twin(world, cell, trajectories, credit, plan, table.tokens)


def _explained(
    values: FloatArray,
    examples: IntArray,
    table: Turns,
    budget: Budget,
    world: World,
    generation: Affordable | None,
) -> Plan:
    """The matched plan; where the limits of generation leave too little for it, the refusal says which one binds."""
    try:
        return fitted(values, examples, table, budget, world.rng("order", "matched"))
    except EmptyBudget:
        raise
    except BudgetRefused as error:
        if generation is None or generation.binding is None:
            raise
        message = f"{error}; of both sides the generation binds: {generation.sentence}"
        raise BudgetRefused(message) from error


def _affordable(examples: IntArray, trajectories: Trajectories, generation: Affordable | None) -> IntArray:
    if generation is None:
        return examples
    kept = examples[np.isin(trajectories.task_of_turn[examples], generation.prompts)]
    if not kept.size and examples.size:
        message = f"generation: no example of {examples.size} is left; {generation.sentence}"
        raise EmptyBudget(message)
    return kept


def _turns(world: World, trajectories: Trajectories, weights: Credit | None) -> Turns:
    tokens = trajectories.tokens_of_turn
    if weights is not None:
        tokens = np.bincount(trajectories.turn_of_token, weights.defined, trajectories.n_turns)
    task = trajectories.task_of_turn
    return Turns(
        stratum=task if world.suite.budget.stratify == "task" else np.zeros_like(task),
        tokens=tokens.astype(np.int64),
        trajectory=trajectories.trajectory_of_turn,
        order=world.rng("order", "trajectories").random(trajectories.n),
    )


def _collected(world: World) -> int:
    """Trajectories that were collected for all conditions of the block."""
    return world.env.tasks("pool") * world.suite.collection.rollouts_per_task


def _is_refilled(world: World, trajectories: Trajectories) -> bool:
    return world.suite.budget.under == "refill" and int(trajectories.collected.sum()) > _collected(world)


def _twin(
    world: World,
    cell: Mapping[str, object],
    trajectories: Trajectories,
    credit: Credit,
    plan: Plan,
    tokens: IntArray,
) -> Plan:
    turns = to_turns(credit, trajectories)
    kind = twin_of(world.suite, str(cell["condition"]))
    rng = world.rng("twin", str(cell["condition"]), int(str(cell["twin"])))
    steps, fine = plan.steps, bool(plan.token_offsets.size)

    def moves() -> Iterator[Move]:
        while True:
            # Weights of tokens fit only turns with as many of them in the loss.
            yield draw(turns, trajectories, kind, rng, like=tokens if fine else None)

    if fine:
        inside = to_tokens(credit, trajectories).defined
        order = world.rng("twin", "tokens", str(cell["condition"]), int(str(cell["twin"])))
        drawn = _moves(moves(), kind, steps)
        offsets = trajectories.token_offsets
        return token_twin(plan, drawn, inside, offsets, order, signs=kind == Twin.SIGN)
    if "tokens" not in world.suite.budget.match:
        return plan.twin(_moves(moves(), kind, steps))
    twin = plan.twin(_even(moves(), kind, plan, tokens))
    reached, budget = int(tokens[twin.example].sum()), registered_budget(world, trajectories)
    if not budget.holds("tokens", reached):
        message = (
            f"tokens: expected {budget.targets['tokens']:g} in the slots of the twin within "
            f"{budget.tolerances['tokens']:g}, reached {reached} with the best of {_MOVES} moves a step; "
            "register a wider budget.tolerances.tokens, or take tokens out of budget.match"
        )
        raise BudgetRefused(message)
    return twin


def _moves(moves: Iterator[Move], kind: Twin, steps: int) -> Iterator[tuple[IntArray, FloatArray]]:
    """A fresh move for every optimizer step.

    One move for all steps where credit may go to turns that the rule left out: fresh ones would show many more
    different turns than the rule does, and the twin would differ from it by more than the place of the credit.
    """
    once = next(moves) if kind == Twin.ANYWHERE else None
    for _ in range(steps):
        move = once or next(moves)
        yield move.to, move.sign


def _even(
    moves: Iterator[Move], kind: Twin, plan: Plan, tokens: IntArray
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Moves that keep the number of tokens: of some a step, the one after which it differs least from the rule's."""
    ahead = 0
    whole = kind == Twin.ANYWHERE
    for step in range(1 if whole else plan.steps):
        here = plan.example if whole else plan.example[plan.step == step]
        drawn = [next(moves) for _ in range(_MOVES)]
        gaps = [ahead + int((tokens[move.to[here]] - tokens[here]).sum()) for move in drawn]
        best = min(range(_MOVES), key=lambda index: abs(gaps[index]))
        ahead = gaps[best]
        for _ in range(plan.steps if whole else 1):
            yield drawn[best].to, drawn[best].sign
