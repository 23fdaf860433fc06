"""What a trainer really did, written by its hooks while it did it."""

from dataclasses import dataclass, field

from equipoise_budget.dose import kish
from equipoise_budget.ledger import Ledger, StepRow

__all__ = ["Counts"]


@dataclass
class Counts:
    """The book of one training run.

    Attributes:
        ledger: one row an optimizer step.
        examples, weights: example id and weight of every row that was in the loss, in the order presented.
        lengths: tokens of every row that passed through the model, its prompt included.
        tokens: action tokens that were in the loss. `micro_batches`: forward-backward passes.
    """

    ledger: Ledger = field(default_factory=Ledger)
    examples: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    tokens: int = 0
    micro_batches: int = 0
    _open: list[float] = field(default_factory=list)
    _tokens: int = 0
    _loss: float = 0.0
    _norm: float = 0.0

    def rows(
        self, examples: list[int], weights: list[float], lengths: list[int], tokens: int, loss: float
    ) -> None:
        """Note the rows of one forward pass."""
        self.examples += examples
        self.weights += weights
        self.lengths += lengths
        self.tokens += tokens
        self.micro_batches += 1
        self._open += weights
        self._tokens += tokens
        self._loss += loss

    def gradient(self, norm: float) -> None:
        """Note the norm of the gradient before clipping; of several passes of a step the last one stands."""
        self._norm = norm

    def step(self, learning_rate: float) -> None:
        """Close an optimizer step."""
        weights = self._open
        row = StepRow(
            slots=len(weights),
            tokens=self._tokens,
            weight_abs=sum(abs(weight) for weight in weights),
            weight_sq=sum(weight * weight for weight in weights),
            ess=kish(weights),
            grad_norm=self._norm,
            learning_rate=learning_rate,
            loss=self._loss,
        )
        self.ledger.record(row)
        self._open, self._tokens, self._loss = [], 0, 0.0
