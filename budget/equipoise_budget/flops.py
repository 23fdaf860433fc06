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
        parameters: entries of the matrices that every token is multiplied with, the output layer's included.
            Embeddings that are only looked up, and scales of norms, are left out.
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
        al. 2020 (arXiv 2001.08361), section 2.1 and table 1, with the exact causal count in the place of
        the length of the context.

        PyTorch's FlopCounterMode counts exactly this and one term more: kernels also compute the pairs that
        the mask hides, 4 x layers x width x n (n - 1) / 2 for n tokens. Norms, rotary embeddings, softmax and
        activations are in neither.
        """
        length = np.asarray(lengths, dtype=np.float64)
        pairs = length * (length + 1) / 2
        return float(2.0 * self.parameters * length.sum() + 4.0 * self.layers * self.width * pairs.sum())

    def train(self, lengths: ArrayLike) -> float:
        """Return operations of one forward and one backward pass; backward costs twice the forward.

        Each product forward has two backward, one for each of its factors. Source: as of `forward`.
        """
        return 3.0 * self.forward(lengths)
