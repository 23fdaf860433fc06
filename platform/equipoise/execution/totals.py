"""What a cell received in all its rounds, counted again from their ledgers and held to the whole budget."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from equipoise.execution.plans import whole_budget
from equipoise.execution.received import ROUNDING, dose_of, levels_of, moved
from equipoise.execution.rounds import Round
from equipoise.execution.untrained import nothing_received
from equipoise.execution.world import World
from equipoise.training.counts import Counts
from equipoise_budget import Budget, BudgetRefused, Cost, Dose, Joined, Ledger, Levels, breaches, reached

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["digest_of", "in_all"]


def in_all(
    world: World, rounds: Sequence[Round], models: tuple["Qwen3ForCausalLM", "Qwen3ForCausalLM"]
) -> dict[str, Any]:
    """What all rounds gave together; of a single registered round what that round gave.

    Args:
        world: the block.
        rounds: those that were begun, at least one.
        models: the base policy, and the trained one.
    """
    if world.suite.collection.rounds == 1:
        return dict(rounds[0].told)
    shares = [done.budget for done in rounds if done.budget is not None]
    budget = whole_budget(world, shares) if shares else None
    messages = [f"round {done.number}: {done.told['message']}" for done in rounds if done.told["message"]]
    trained = [done for done in rounds if done.plan is not None]
    told_each = [done.to_json() for done in rounds]
    if not trained:
        received = nothing_received(BudgetRefused("; ".join(messages)), budget)
        return {**received, "round_of_step": [], "rounds": told_each}
    told = _together(budget, trained, models, max(ROUNDING, world.suite.budget.tolerance))
    own = [f"round {done.number}: {sentence}" for done in rounds for sentence in done.told["breaches"]]
    return {
        **told,
        "message": "; ".join(messages) or None,
        "breaches": [*own, *told["breaches"]],
        "round_of_step": [done.number for done in trained for _ in done.told["allocated"]["slots"]],
        "rounds": told_each,
    }


def digest_of(digests: Sequence[str]) -> str:
    """One digest for the plans of all rounds: of one plan its own, of several that of theirs in order."""
    if len(digests) == 1 or set(digests) == {"none"}:
        return digests[0]
    return "eq1:" + hashlib.sha256("\n".join(("rounds", *digests)).encode()).hexdigest()


def _together(
    budget: Budget | None,
    trained: Sequence[Round],
    models: tuple["Qwen3ForCausalLM", "Qwen3ForCausalLM"],
    tolerance: float,
) -> dict[str, Any]:
    joined = Joined(
        [done.plan for done in trained if done.plan is not None],
        [levels_of(done.material.batch.trajectories) for done in trained],
    )
    counts = _counts(trained, joined.ahead)
    dose, planned = _dose(trained, counts, joined, models), joined.dose()
    end = trained[-1].told["end"]
    found = (
        breaches(planned, dose, budget=budget, ledger=counts.ledger, tolerance=tolerance)
        if end == "ok"
        else ()
    )
    allocated = [done.told["allocated"] for done in trained]
    return {
        "end": end,
        "planned": {**planned.to_json(), "fill": joined.fill, "batch": joined.plans[0].batch},
        "dose": dose.to_json(),
        "allocated": {name: [x for table in allocated for x in table[name]] for name in allocated[0]},
        "steps": counts.ledger.steps,
        "breaches": list(found),
        "reached": reached(budget, dose) if budget is not None else {},
        "cost": sum((done.trained_for for done in trained), Cost()).to_json(),
    }


def _dose(
    trained: Sequence[Round],
    counts: Counts,
    joined: Joined,
    models: tuple["Qwen3ForCausalLM", "Qwen3ForCausalLM"],
) -> Dose:
    """The dose of all rounds; how far they moved the policy is measured where the first of them went."""
    displacement = moved(*models, trained[0].material.batch)
    of_tokens = bool(joined.token_weight.size)
    dose = dose_of(counts, displacement, Levels.joined(joined.levels), of_tokens=of_tokens)
    return replace(dose, weight_mass=math.fsum(done.told["dose"]["weight_mass"] for done in trained))


def _counts(trained: Sequence[Round], ahead: Sequence[int]) -> Counts:
    """The books of all rounds as one; examples are numbered through their batches, -1 stays padding."""
    books = [done.training.counts for done in trained if done.training is not None]
    return Counts(
        ledger=Ledger(row for book in books for row in book.ledger.rows),
        examples=[
            example + before if example >= 0 else example
            for book, before in zip(books, ahead, strict=True)
            for example in book.examples
        ],
        weights=[weight for book in books for weight in book.weights],
        lengths=[length for book in books for length in book.lengths],
        tokens=sum(book.tokens for book in books),
        padding_tokens=sum(book.padding_tokens for book in books),
        micro_batches=sum(book.micro_batches for book in books),
        token_weight_abs=math.fsum(book.token_weight_abs for book in books),
        token_weight_sq=math.fsum(book.token_weight_sq for book in books),
    )
