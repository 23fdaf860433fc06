"""What a trainer really did, one entry an optimizer step, written by its hooks."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

__all__ = ["Counts"]


@dataclass
class Counts:
    """Lists of equal length, one entry an optimizer step.

    Attributes:
        slots: rows that were in the loss. `tokens`: action tokens that were in it.
        forward_tokens: tokens that passed through the model, prompts included, padding not.
        weight_abs, weight_sq: sums over the rows of abs(weight) and of its square.
        positive, zero: rows of positive and of zero weight.
        loss: before the step. `grad_norm`: L2 norm before clipping. `learning_rate`: used by the step.
        micro_batches: forward passes.
        examples: example ids in the order they were presented (of all steps).
    """

    slots: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    forward_tokens: list[int] = field(default_factory=list)
    weight_abs: list[float] = field(default_factory=list)
    weight_sq: list[float] = field(default_factory=list)
    positive: list[int] = field(default_factory=list)
    zero: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    grad_norm: list[float] = field(default_factory=list)
    learning_rate: list[float] = field(default_factory=list)
    micro_batches: list[int] = field(default_factory=list)
    examples: list[int] = field(default_factory=list)

    def columns(self) -> Mapping[str, list[float]]:
        """The per-step lists by name."""
        names = [f.name for f in fields(self) if f.name != "examples"]
        return {name: list(getattr(self, name)) for name in names}
