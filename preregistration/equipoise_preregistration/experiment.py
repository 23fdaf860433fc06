"""What a suite compares, and what it spends on each side: conditions, arms, budget, evaluation."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from equipoise_preregistration.sections import (
    Count,
    Identifier,
    Number,
    Positive,
    Section,
    Size,
    Value,
    writable,
)

__all__ = ["Arms", "Budget", "Condition", "Evaluation", "TwinKind"]

TwinKind = Literal["within", "position", "across", "sign", "anywhere"]
"""Which places exchange their credit in a twin."""


class Condition(Section):
    """A credit rule with its parameters: every key besides these five is a parameter of the rule.

    Attributes:
        id: Its name in the suite.
        rule: Name of the credit rule.
        baseline: Whether the others are compared with it; exactly one is.
        control: `positive` must be found better, `negative` must not, or the suite is void.
        twin: Which places exchange their credit in its twins; by default what `arms.twin` says.
    """

    model_config = ConfigDict(extra="allow")
    # Typed as pydantic's documentation does it; pyright holds the base's wider type against it.
    __pydantic_extra__: dict[str, Value] = Field(init=False)  # pyright: ignore[reportIncompatibleVariableOverride]

    id: Identifier
    rule: str
    baseline: bool = False
    control: Literal["positive", "negative"] | None = None
    twin: TwinKind | None = None

    @model_validator(mode="after")
    def _parameters_can_be_written(self) -> "Condition":
        for value in (self.__pydantic_extra__ or {}).values():
            writable(value)
        return self

    @property
    def parameters(self) -> Mapping[str, Value]:
        """The parameters of the rule, read-only."""
        return MappingProxyType(self.__pydantic_extra__ or {})


class Arms(Section):
    """Which budget regimes every condition is run under.

    Attributes:
        native: The examples that the rule itself leaves.
        matched: Exactly the common budget.
        twins: How many times a block the matched run is repeated with the rule's credit permuted.
        twin: Which places exchange their credit: turns with credit of one trajectory (`within`), of a group
            (`across`), of a group at one depth (`position`), none but with random signs (`sign`), or all own
            turns of one trajectory (`anywhere`).
    """

    native: bool = True
    matched: bool = True
    twins: Count = 1
    twin: TwinKind = "within"


Axis = Literal[
    "examples", "optimizer_steps", "tokens", "weight_mass", "effective_sample_size", "displacement"
]
"""What cells can be matched on; the first two always are."""


class Targets(Section):
    """What every matched and twin cell is to reach on the optional axes of `match`.

    Attributes:
        tokens: Tokens in the loss; by default the slots times the mean tokens of the block's collected turns.
        weight_mass: Sum of |w| over slots; by default the slots, so that the mean is 1.
        effective_sample_size: Kish's, of trajectories, each with the sum of its slots' |w|.
        displacement: Mean divergence from the starting policy in nats at which training stops.
    """

    tokens: Size | None = None
    weight_mass: Positive | None = None
    effective_sample_size: Annotated[float, Field(ge=1.0)] | None = None
    displacement: Positive | None = None


Tolerance = Annotated[float, Field(ge=0.0, lt=1.0)]
"""A relative difference."""


class Tolerances(Section):
    """Relative difference to its target up to which an optional axis is held."""

    tokens: Tolerance = 0.02
    weight_mass: Tolerance = 1e-9
    effective_sample_size: Tolerance = 0.05
    displacement: Tolerance = 0.1


class Refill(Section):
    """How far `under: refill` may go.

    Attributes:
        cap: Most further rollouts of each task; they are charged to the cell.
    """

    cap: Size = 8


class Generation(Section):
    """Most that obtaining the credit of one condition may cost in one block; null for no limit.

    Attributes:
        rollout_tokens: Tokens sampled, collection included.
        environment_steps: Actions executed, collection included.
        judge_calls: Questions put to a judge.
        flops: Operations of the model, collection included, training not.
    """

    rollout_tokens: Size | None = None
    environment_steps: Size | None = None
    judge_calls: Count | None = None
    flops: Positive | None = None

    @property
    def limits(self) -> Mapping[str, float]:
        """The limits that there are, by name."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: float(value) for name, value in values.items() if value is not None}


class Budget(Section):
    """What every matched and twin cell spends, exactly.

    Attributes:
        examples: Slots: examples presented to the optimizer, repetitions counted.
        optimizer_steps: Steps; examples / optimizer_steps is the batch and must be whole.
        under: What fills the slots where a rule leaves too few examples.
        over: What chooses among them where it leaves too many.
        stratify: Whether slots are shared out over tasks in proportion to their examples.
        tolerance: Relative difference between planned and counted dose up to which the budget is held.
        max_repetition: How often an example may be shown on average before the budget is called impossible.
        match: What is equal in all matched and twin cells.
        targets: What they are to reach on the optional axes of `match`.
        tolerances: How near they have to come.
        refill: How far `under: refill` may go.
        generation: Limits on what a condition's credit may cost: where they are short, prompts are left out.
        doubly: Whether matched and twin cells keep to the limits too; without, only native cells do.
    """

    examples: Size
    optimizer_steps: Size
    under: Literal["resample", "cycle", "pad", "refill"] = "resample"
    over: Literal["thin", "keep_largest"] = "thin"
    stratify: Literal["task", "none"] = "task"
    tolerance: Number = 0.0
    max_repetition: Size = 16
    match: Annotated[tuple[Axis, ...], Field(strict=False)] = ("examples", "optimizer_steps")
    targets: Targets = Targets()
    tolerances: Tolerances = Tolerances()
    refill: Refill = Refill()
    generation: Generation = Generation()
    doubly: bool = False

    @property
    def batch(self) -> int:
        """Slots of one optimizer step."""
        return self.examples // self.optimizer_steps


class Evaluation(Section):
    """How a trained policy is judged.

    Attributes:
        primary: The split of tasks that the claims rest on.
        episodes_per_task: Episodes on each task of the pool.
        held_out_episodes: Episodes on each held-out task.
        temperature: Of the sampling.
    """

    primary: Literal["pool", "held_out"] = "pool"
    episodes_per_task: Size = 8
    held_out_episodes: Count = 1
    temperature: Positive = 1.0
