"""Sums and means over the tokens that count, and the checks that all losses share."""

import torch
from torch import Tensor

from equipoise.errors import ExecutionError

__all__ = ["check_finite", "check_shapes", "masked_mean", "masked_sum", "silence"]


def silence(values: Tensor, mask: Tensor) -> Tensor:
    """The values with a constant 0 where the mask is 0.

    Multiplying by the mask would not do: 0 times NaN is NaN, in the loss and in the gradient.
    """
    return torch.where(mask.bool(), values, torch.zeros((), dtype=values.dtype, device=values.device))


def masked_sum(values: Tensor, mask: Tensor, dim: int | None = None) -> Tensor:
    """Sum of the values, weighted by the mask, over one dimension or all."""
    weighted = silence(values, mask) * mask
    return weighted.sum() if dim is None else weighted.sum(dim)


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over the tokens that count; 0 where none does, because 1e-8 is added to their number.

    Source: volcengine/verl, commit b178a3cd, verl/utils/torch_functional.py:287-301.
    """
    return masked_sum(values, mask) / (mask.sum() + 1e-8)


def check_shapes(shape: torch.Size, **tensors: Tensor | None) -> None:
    """Refuse tensors that would broadcast: a loss over the wrong tokens looks like a loss.

    Raises:
        ExecutionError: if a tensor that is given has another shape.
    """
    for name, tensor in tensors.items():
        if tensor is not None and tensor.shape != shape:
            message = f"expected {name} of shape {tuple(shape)}, one entry a token, got {tuple(tensor.shape)}"
            raise ExecutionError(message)


def check_finite(advantages: Tensor, mask: Tensor) -> None:
    """Refuse undefined credit on a token that counts: one NaN makes every weight NaN at the next step.

    Raises:
        ExecutionError: if an advantage under the mask is NaN or infinite.
    """
    bad = ~torch.isfinite(silence(advantages, mask))
    if bad.any():
        place = tuple(int(index) for index in bad.nonzero()[0])
        message = (
            f"expected finite advantages on all tokens that count, got {int(bad.sum())} that are not, the first at "
            f"{place}; a turn whose credit is undefined has to be masked"
        )
        raise ExecutionError(message)
