"""What a supplier measures on, and the bill that it writes its costs on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from equipoise.execution.batches import Batch
from equipoise.execution.supplies.critic import Critic, Reading, fit_critic, read_states
from equipoise.execution.supplies.settings import settings_of
from equipoise.execution.world import World
from equipoise.policies.rollout import Sampler
from equipoise_budget import Cost, charge
from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.measured import Boundary, Continuations, Replays, Verdicts
from equipoise_conditions.rule import Rule

__all__ = ["Case", "Supplier", "Supply"]

Supply = FloatArray | BoolArray | Boundary | Continuations | Replays | Verdicts


@dataclass(frozen=True, eq=False)
class Case:
    """One condition's batch in one block, and what measuring on it has cost so far.

    Attributes:
        world: the block; gives named streams.
        sampler: the policy that collected the batch.
        batch: what it collected, forks included where the rule makes them.
        rule: whose needs are measured.
        params: its own, with its defaults filled in.
        bill: every cost, in the order in which it arose.
    """

    world: World
    sampler: Sampler
    batch: Batch
    rule: Rule
    params: Mapping[str, object]
    bill: list[Cost] = field(default_factory=list)

    def pay(self, cost: Cost) -> None:
        """Write a cost on the bill, and charge it to the meters that run."""
        self.bill.append(charge(cost))

    @property
    def spent(self) -> Cost:
        """The sum of the bill."""
        return sum(self.bill, Cost())

    @cached_property
    def settings(self) -> Mapping[str, object]:
        """The parameters that say how to measure, see `settings_of`."""
        return settings_of(self.params)

    def number(self, name: str, default: int) -> int:
        """A whole number among the settings, or the default where the rule has no such parameter."""
        return int(str(self.settings.get(name, default)))

    @cached_property
    def reading(self) -> Reading:
        """The policy's hidden states on the batch: read and paid for once, however many needs they serve."""
        reading, cost = read_states(self.world, self.sampler, self.batch)
        self.pay(cost)
        return reading

    @cached_property
    def critic(self) -> Critic:
        """The critic of turns; fitted and paid for once."""
        trajectories = self.batch.trajectories
        before = self.reading.token[trajectories.token_offsets[:-1]]
        return self._fitted(before, trajectories.trajectory_of_turn)

    @cached_property
    def token_critic(self) -> Critic:
        """The critic of action tokens; fitted and paid for once."""
        return self._fitted(self.reading.token, self.batch.trajectories.trajectory_of_token)

    def _fitted(self, feature: FloatArray, owner: IntArray) -> Critic:
        critic, cost = fit_critic(self.batch.trajectories, feature, self.reading.end, owner)
        self.pay(cost)
        return critic


Supplier = Callable[[Case], Supply]
"""Measures one need on a case and pays for it there."""
