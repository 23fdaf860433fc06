"""What a cell trains from: its condition's batch and credit, further rollouts, and the prompts that it can afford."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from equipoise.execution.batches import Batch
from equipoise.execution.costs import decoder_of
from equipoise.execution.refill import Refilled, refilled
from equipoise.execution.world import World
from equipoise_budget import Affordable, Cost, Decoder, affordable, apportioned
from equipoise_conditions.credit import Credit
from equipoise_conditions.trajectories import Trajectories

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["Material", "material_of", "prompt_costs"]


@dataclass(frozen=True, eq=False)
class Material:
    """Trajectories and credit of one cell.

    Attributes:
        batch: what the credit is of.
        credit: of the condition's rule.
        refill: what was collected besides, by the cell itself; None where the budget asks for none.
        generation: the prompts that fit the limits of generation; None where the cell has no such limits.
    """

    batch: Batch
    credit: Credit
    refill: Refilled | None = None
    generation: Affordable | None = None

    @property
    def cost(self) -> Cost:
        """What the cell itself spent on generation."""
        return self.refill.cost if self.refill is not None else Cost()

    def save(self, folder: Path) -> None:
        """Write what no earlier job has: the batch and the credit after refills."""
        if self.refill is not None and self.refill.waves:
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
    matched.

    Args:
        world: the block.
        cell: `condition`, `arm`.
        folders: `batch`, `signals`, and `collect` where the budget refills.
        model: the policy that collected.
    """
    budget, native = world.suite.budget, cell["arm"] == "native"
    batch, credit = Batch.load(folders["batch"]), Credit.load(folders["signals"] / "credit.npz")
    if budget.under == "refill" and not native:
        sampler = world.sampler(model, world.suite.collection.temperature)
        collected = Batch.load(folders["collect"])
        more = refilled(world, sampler, str(cell["condition"]), collected, (batch, credit))
        return Material(more.batch, more.credit, more)
    limits = budget.generation.limits
    if not limits or not (native or budget.doubly):
        return Material(batch, credit)
    spent = Cost.from_json(json.loads((folders["signals"] / "cost.json").read_text(encoding="utf-8")))
    order = world.rng("order", "prompts").permutation(world.env.tasks("pool"))
    fits = affordable(prompt_costs(batch, spent, model, order.size), limits, order)
    return Material(batch, credit, generation=fits)


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
