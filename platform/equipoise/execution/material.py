"""What a cell trains from: its condition's batch and credit, further rollouts, and the prompts that it can afford."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from equipoise.execution.batches import Batch
from equipoise.execution.collect import played_pool
from equipoise.execution.costs import decoder_of
from equipoise.execution.crediting import credited
from equipoise.execution.refill import Refilled, refilled
from equipoise.execution.world import World
from equipoise_budget import Affordable, Cost, Decoder, affordable, apportioned
from equipoise_conditions.credit import Credit
from equipoise_conditions.trajectories import Trajectories

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["Material", "collected_again", "material_of", "prompt_costs"]


@dataclass(frozen=True, eq=False)
class Material:
    """Trajectories and credit of one cell in one round.

    Attributes:
        batch: what the credit is of.
        credit: of the condition's rule.
        refill: what was collected besides, by the cell itself; None where the budget asks for none.
        generation: the prompts that fit the limits of generation; None where the cell has no such limits.
        spent: by the cell on collecting the round and measuring on it; nothing in the first round, whose trajectories
            and signals are the block's.
        supplied: how many units of each need the cell measured itself, and how many not, by reason.
    """

    batch: Batch
    credit: Credit
    refill: Refilled | None = None
    generation: Affordable | None = None
    spent: Cost | None = None
    supplied: Mapping[str, Mapping[str, int]] | None = None

    @property
    def cost(self) -> Cost:
        """What the cell itself spent on generation."""
        return (self.spent or Cost()) + (self.refill.cost if self.refill is not None else Cost())

    def save(self, folder: Path) -> None:
        """Write what no earlier job has: batch and credit of a later round, or after refills."""
        if self.spent is not None or (self.refill is not None and self.refill.waves):
            folder.mkdir(exist_ok=True)
            self.batch.save(folder)
            self.credit.save(folder / "credit.npz")

    def to_json(self) -> dict[str, object]:
        """Return what a result says of the generation side."""
        return {
            "refill": None if self.refill is None else self.refill.to_json(),
            "prompts": None if self.generation is None else self.generation.to_json(),
        }


def material_of(
    world: World, cell: Mapping[str, object], folders: Mapping[str, Path], model: "Qwen3ForCausalLM"
) -> Material:
    """Read what the earlier jobs left; collect further rollouts, or leave prompts out, where the budget says so.

    Native cells never refill, and always keep to the limits of generation; the others keep to them if both sides are
    matched. Cells that refill keep to them by ending where they would pass one: no prompt is left out.

    Args:
        world: the block.
        cell: `condition`, `arm`.
        folders: `batch`, `signals`, and `collect` where the budget refills.
        model: the policy that collected.
    """
    found = Material(Batch.load(folders["batch"]), Credit.load(folders["signals"] / "credit.npz"))
    measured = Cost()
    if _is_limited(world, cell):
        measured = Cost.from_json(json.loads((folders["signals"] / "cost.json").read_text(encoding="utf-8")))
    if _refills(world, cell):
        return _refilled(world, cell, model, Batch.load(folders["collect"]), found, measured)
    return _limited(world, model, found, measured) if _is_limited(world, cell) else found


def collected_again(world: World, cell: Mapping[str, object], model: "Qwen3ForCausalLM") -> Material:
    """Collect the pool with a cell's own policy, measure what its rule needs with it, and assign credit.

    Args:
        world: the block in a later round.
        cell: `condition`, `arm`.
        model: the cell's policy as it is.
    """
    sampler = world.sampler(model, world.suite.collection.temperature)
    collected, cost = played_pool(world, sampler)
    own = credited(world, sampler, str(cell["condition"]), collected)
    found = Material(own.batch, own.credit, spent=cost + own.cost, supplied=own.supplied)
    if _refills(world, cell):
        return _refilled(world, cell, model, collected, found, own.cost)
    return _limited(world, model, found, own.cost) if _is_limited(world, cell) else found


def _refills(world: World, cell: Mapping[str, object]) -> bool:
    return world.suite.budget.under == "refill" and cell["arm"] != "native"


def _is_limited(world: World, cell: Mapping[str, object]) -> bool:
    budget = world.suite.budget
    return bool(budget.generation.limits) and (cell["arm"] == "native" or budget.doubly)


def _refilled(
    world: World,
    cell: Mapping[str, object],
    model: "Qwen3ForCausalLM",
    collected: Batch,
    found: Material,
    measured: Cost,
) -> Material:
    sampler = world.sampler(model, world.suite.collection.temperature)
    before = None
    if _is_limited(world, cell):
        prompts = world.env.tasks("pool")
        before = sum(prompt_costs(found.batch, measured, model, prompts), Cost())
    own = found.batch, found.credit
    more = refilled(world, sampler, str(cell["condition"]), collected, own, before)
    return replace(found, batch=more.batch, credit=more.credit, refill=more)


def _limited(world: World, model: "Qwen3ForCausalLM", found: Material, measured: Cost) -> Material:
    limits = world.suite.budget.generation.limits
    order = world.rng("order", "prompts").permutation(world.env.tasks("pool"))
    costs = prompt_costs(found.batch, measured, model, order.size)
    return replace(found, generation=affordable(costs, limits, order))


def prompt_costs(batch: Batch, spent: Cost, model: "Qwen3ForCausalLM", prompts: int) -> list[Cost]:
    """What each prompt cost: its own rollouts as counted, and its share of the measurements by its own turns.

    Args:
        batch: of a condition.
        spent: on its forks and measurements.
        model: that collected.
        prompts: how many tasks there are.
    """
    trajectories = batch.trajectories
    own = np.bincount(trajectories.task_of_turn[trajectories.own], minlength=prompts)
    whole, decoder = np.diff(batch.transcripts.offsets), decoder_of(model)
    shares = apportioned(spent, own)
    return [_rollouts(trajectories, whole, task, decoder) + shares[task] for task in range(prompts)]


def _rollouts(trajectories: Trajectories, whole: np.ndarray, task: int, decoder: Decoder) -> Cost:
    of_task = np.flatnonzero(trajectories.collected & (trajectories.task == task))
    return Cost(
        rollout_tokens=int(whole[of_task].sum()),
        environment_steps=int(trajectories.lengths[of_task].sum()),
        environment_resets=int(of_task.size),
        flops=decoder.forward(whole[of_task]),
    )
