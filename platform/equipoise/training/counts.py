"""What a trainer really did, written by its hooks while it did it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from equipoise_budget.dose import kish
from equipoise_budget.ledger import Ledger, StepRow

__all__ = ["Counts"]


@dataclass
class _Step:
    """Rows of the optimizer step that is under way."""

    examples: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    tokens: int = 0
    passes: int = 0
    loss: float = 0.0
    norm: float = 0.0
    token_weight_abs: float = 0.0
    token_weight_sq: float = 0.0
    padding_tokens: int = 0
    clipped: int | None = None


@dataclass
class Counts:
    """The book of one training run; a step that is never taken leaves no trace in it.

    Attributes:
        ledger: one row an optimizer step.
        examples, weights: example id and weight of every row that was in the loss, in the order presented.
        lengths: tokens of every row that passed through the model, its prompt included.
        tokens: action tokens that were in the loss. `micro_batches`: forward-backward passes.
        padding_tokens: action tokens of empty slots, which were in no loss.
        token_weight_abs, token_weight_sq: sums of |w| and of w squared over those tokens.
    """

    ledger: Ledger = field(default_factory=Ledger)
    examples: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    tokens: int = 0
    micro_batches: int = 0
    token_weight_abs: float = 0.0
    token_weight_sq: float = 0.0
    padding_tokens: int = 0
    _open: _Step = field(default_factory=_Step)

    def rows(
        self,
        examples: list[int],
        weights: list[float],
        lengths: list[int],
        tokens: int,
        loss: float,
        token_weights: Sequence[float] = (),
        clipped: int | None = None,
    ) -> None:
        """Note the rows of one forward pass; an example of -1 is a row of padding.

        Of the `tokens` the clip of the ratio held back as many as are `clipped`; None where there is no clip.
        """
        under_way = self._open
        under_way.examples += examples
        under_way.weights += weights
        under_way.lengths += lengths
        under_way.tokens += tokens
        under_way.passes += 1
        under_way.loss += loss
        under_way.token_weight_abs += math.fsum(abs(weight) for weight in token_weights)
        under_way.token_weight_sq += math.fsum(weight * weight for weight in token_weights)
        if clipped is not None:
            under_way.clipped = (under_way.clipped or 0) + clipped

    def padded(self, tokens: int) -> None:
        """Note action tokens of empty slots: they passed through the model and are in no loss."""
        self._open.padding_tokens += tokens

    def gradient(self, norm: float) -> None:
        """Note the norm of the gradient before clipping; of several passes of a step the last one stands."""
        self._open.norm = norm

    def step(self, learning_rate: float, *, kl: float | None = None, l2: float | None = None) -> None:
        """Close an optimizer step.

        Args:
            learning_rate: that it was taken with.
            kl: divergence from the start after it, None where it was not measured or there is none.
            l2: distance of the parameters from the start after it, None where it was not measured.
        """
        taken, self._open = self._open, _Step()
        self.examples += taken.examples
        self.weights += taken.weights
        self.lengths += taken.lengths
        self.tokens += taken.tokens
        self.micro_batches += taken.passes
        self.padding_tokens += taken.padding_tokens
        self.token_weight_abs += taken.token_weight_abs
        self.token_weight_sq += taken.token_weight_sq
        row = StepRow(
            slots=len(taken.weights),
            tokens=taken.tokens,
            weight_abs=sum(abs(weight) for weight in taken.weights),
            weight_sq=sum(weight * weight for weight in taken.weights),
            ess=kish(taken.weights),
            grad_norm=taken.norm,
            learning_rate=learning_rate,
            loss=taken.loss,
            unique_examples=len({example for example in taken.examples if example >= 0}),
            micro_batches=taken.passes,
            kl_from_start=kl,
            l2_from_start=l2,
            # Of no tokens there is no share.
            clip_fraction=None if taken.clipped is None or not taken.tokens else taken.clipped / taken.tokens,
        )
        self.ledger.record(row)
