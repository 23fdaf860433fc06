"""What a suite compares, and what it spends on each side: conditions, arms, budget, evaluation."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

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


class Budget(Section):
    """What every matched and twin cell spends, exactly.

    Attributes:
        examples: Slots: examples presented to the optimizer, repetitions counted.
        optimizer_steps: Steps; examples / optimizer_steps is the batch and must be whole.
        under: What fills the slots where a rule leaves too few examples.
        over: What chooses among them where it leaves too many.
        tolerance: Relative difference between planned and counted dose up to which the budget is held.
        max_repetition: How often an example may be shown on average before the budget is called impossible.
    """

    examples: Size
    optimizer_steps: Size
    under: Literal["resample", "cycle"] = "resample"
    over: Literal["thin", "keep_largest"] = "thin"
    tolerance: Number = 0.0
    max_repetition: Size = 16

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
