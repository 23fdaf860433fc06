"""Floating point operations of a decoder, counted from its shape."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from equipoise_budget.errors import BudgetError

__all__ = ["Decoder"]


@dataclass(frozen=True)
class Decoder:
    """The shape of a decoder, as far as its operations depend on it.

    Attributes:
        parameters: parameters that every token passes, embeddings that are only looked up left out.
        layers: attention layers.
        width: attention heads times their size.
    """

    parameters: int
    layers: int
    width: int

    def __post_init__(self) -> None:
        if min(self.parameters, self.layers, self.width) < 1:
            message = f"decoder: expected a shape of at least 1 in everything, got {self}"
            raise BudgetError(message)

    def forward(self, lengths: ArrayLike) -> float:
        """Return operations of one forward pass over sequences of these lengths.

        2 for each parameter and token, and for each layer 4 x width for each pair of a token and a token
        that it attends to (causal): scores and weighted sum, a multiply and an add each. Source: Kaplan et
        al. 2020 (arXiv 2001.08361), appendix B, with the exact causal count.
        """
        length = np.asarray(lengths, dtype=np.float64)
        pairs = length * (length + 1) / 2
        return float(2.0 * self.parameters * length.sum() + 4.0 * self.layers * self.width * pairs.sum())

    def train(self, lengths: ArrayLike) -> float:
        """Return operations of one forward and one backward pass; backward costs twice the forward."""
        return 3.0 * self.forward(lengths)
