"""What a trainer really did, one entry an optimizer step, written by its hooks."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import accumulate

from equipoise_budget.dose import kish

__all__ = ["Counts"]

_BY_ROW = ("examples", "weights")


@dataclass
class Counts:
    """Lists of equal length, one entry an optimizer step.

    Attributes:
        slots: rows that were in the loss. `tokens`: action tokens that were in it.
        forward_tokens: tokens that passed through the model, prompts included, padding not.
        weight_abs, weight_sq: sums over the rows of abs(weight) and of its square.
        loss: before the step. `grad_norm`: L2 norm before clipping. `learning_rate`: used by the step.
        micro_batches: forward passes.
        examples, weights: example id and weight of every row in the order presented, of all steps together.
    """

    slots: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    forward_tokens: list[int] = field(default_factory=list)
    weight_abs: list[float] = field(default_factory=list)
    weight_sq: list[float] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    grad_norm: list[float] = field(default_factory=list)
    learning_rate: list[float] = field(default_factory=list)
    micro_batches: list[int] = field(default_factory=list)
    examples: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    def columns(self) -> Mapping[str, list[float]]:
        """The per-step lists by name, and `ess`: Kish's effective sample size of each step's weights."""
        names = [f.name for f in fields(self) if f.name not in _BY_ROW]
        columns: dict[str, list[float]] = {name: list(getattr(self, name)) for name in names}
        ends = list(accumulate(self.slots))
        pairs = zip([0, *ends[:-1]], ends, strict=True) if ends else ()
        columns["ess"] = [kish(self.weights[begin:end]) for begin, end in pairs]
        return columns
