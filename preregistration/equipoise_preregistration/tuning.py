"""How hyper-parameters are searched before anything is compared: one search, granted alike to every condition."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from equipoise_preregistration.sections import Count, Section, Size, Value, writable

__all__ = ["TRAINING", "Dimension", "Tuning"]

TRAINING = "training."
"""Prefix of the dimensions that are keys of `training`; the others are parameters of rules."""


class Dimension(Section):
    """One axis of the space: an interval, or a list to choose from.

    Attributes:
        type: Numbers of an interval, whole numbers of an interval, or a choice.
        low: Lower end of the interval, included.
        high: Upper end, included.
        log: Whether the interval is searched evenly in the logarithm.
        choices: Of a categorical dimension; without `type`, choices make it one.
    """

    type: Literal["float", "int", "categorical"] = "float"
    low: float | None = None
    high: float | None = None
    log: bool = False
    choices: Annotated[tuple[Value, ...], Field(strict=False)] = ()

    @model_validator(mode="before")
    @classmethod
    def _choices_are_categorical(cls, data: Any) -> Any:
        if isinstance(data, dict) and "type" not in data and "choices" in data:
            return {**data, "type": "categorical"}
        return data

    @model_validator(mode="after")
    def _is_whole(self) -> "Dimension":
        fault = _choice_fault(self) if self.type == "categorical" else _interval_fault(self)
        if fault:
            raise ValueError(fault)
        return self


class Tuning(Section):
    """An equal search of every condition in blocks of its own, before the first confirmatory run.

    Attributes:
        trials: Points tried for each condition; 0 leaves hyper-parameters as they are written.
        blocks: Blocks in which each point is trained and judged; no confirmatory block is among them.
        sampler: Where the points come from: a scrambled Sobol sequence or random numbers, drawn at registration
            and the same for every condition; or Optuna's TPE, of which the first half is drawn so.
        pruner: Nothing ends a trial early: conditions whose trials were cut short would get less training.
        space: The dimensions by name: `training.learning_rate`, or a parameter of a rule, which then concerns
            the conditions whose rules have it.
    """

    trials: Count = 0
    blocks: Size = 2
    sampler: Literal["qmc", "random", "tpe"] = "qmc"
    pruner: Literal["none"] = "none"
    space: dict[str, Dimension] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_all_or_nothing(self) -> "Tuning":
        if self.trials and not self.space:
            message = "expected dimensions under `space`, got none to try; add one, or set trials to 0"
            raise ValueError(message)
        if self.space and not self.trials:
            message = "expected at least one trial of the space, got 0; write `trials: ...`"
            raise ValueError(message)
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions in the one order in which points are drawn."""
        return tuple(sorted(self.space))


def _choice_fault(dimension: Dimension) -> str | None:
    if dimension.low is not None or dimension.high is not None or dimension.log:
        return "expected choices alone, got an interval besides; remove low, high and log, or choices"
    seen: list[tuple[str, Value]] = []
    for value in dimension.choices:
        writable(value)
        # 1 and true are equal in Python, and are not the same choice.
        if (type(value).__name__, value) in seen:
            return f"expected every choice once, got {value!r} again; remove it"
        seen.append((type(value).__name__, value))
    if len(seen) < 2:
        return f"expected at least two choices, got {len(seen)}; add one, or write the value where it belongs"
    return None


def _interval_fault(dimension: Dimension) -> str | None:
    low, high = dimension.low, dimension.high
    if dimension.choices:
        return f"expected an interval of type {dimension.type}, got choices; write `type: categorical`"
    if low is None or high is None:
        return "expected low and high (or choices), got only part of them; write both ends"
    if low >= high:
        return f"expected low below high, got {low:g} and {high:g}"
    if dimension.log and low <= 0:
        return f"expected a lower end above 0 where `log: true`, got {low:g}"
    if dimension.type == "int" and not (low.is_integer() and high.is_integer()):
        return f"expected whole ends of an interval of type int, got {low:g} and {high:g}"
    return None
