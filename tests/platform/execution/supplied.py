"""A block of two tasks whose policy has played, for suppliers to measure on."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.execution.base import make_base
from equipoise.execution.batches import Batch
from equipoise.execution.collect import collect
from equipoise.execution.supplies.case import Case
from equipoise.execution.world import World
from equipoise_conditions import RULES
from equipoise_preregistration import Suite

NO_PARAMETERS: Mapping[str, object] = {}


@dataclass(frozen=True)
class Block:
    """A block that was collected, and where its files are."""

    world: World
    batch: Batch
    sampler: Any
    folder: Path

    def case(
        self, rule: str = "vineppo", params: Mapping[str, object] = NO_PARAMETERS, batch: Batch | None = None
    ) -> Case:
        """A rule on the block's batch; parameters that the rule does not have are passed on as they are."""
        chosen = RULES[rule]
        known = {parameter.name for parameter in chosen.parameters}
        values = chosen.validate({name: value for name, value in params.items() if name in known})
        return Case(self.world, self.sampler, batch or self.batch, chosen, {**values, **params})


def collected(suite: Suite, folder: Path) -> Block:
    """Clone and collect the first block of a suite."""
    world = World(suite, 0)
    make_base(world, folder)
    collect(world, folder, folder)
    sampler = world.sampler(world.model_from(folder / "base.safetensors"), suite.collection.temperature)
    return Block(world, Batch.load(folder), sampler, folder)
