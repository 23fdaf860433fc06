"""How the losses of tokens become one number.

Source: volcengine/verl, commit b178a3cd, verl/trainer/ppo/core_algos.py:1025-1080.
"""

from typing import Literal, get_args

from torch import Tensor

from equipoise.errors import ExecutionError
from equipoise.training.losses.masks import check_shapes, masked_sum

__all__ = ["AGG_MODES", "AggMode", "agg_loss"]

AggMode = Literal["token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"]
AGG_MODES: tuple[AggMode, ...] = get_args(AggMode)


def agg_loss(
    loss_mat: Tensor,
    loss_mask: Tensor,
    loss_agg_mode: AggMode,
    *,
    batch_num_tokens: float | None = None,
    global_batch_size: float | None = None,
    loss_scale_factor: float | None = None,
) -> Tensor:
    """Reduce a matrix of losses to one.

    Args:
        loss_mat: losses, (rows, tokens).
        loss_mask: 1 where a token counts, the same shape.
        loss_agg_mode: `token-mean`: each token weighs the same. `seq-mean-token-sum`: sums of rows, averaged over
            the rows that have a token. `seq-mean-token-mean`: means of rows (1e-8 is added to their lengths),
            averaged likewise. `seq-mean-token-sum-norm`: the sum over all tokens divided by a constant, and not by
            the number of rows (Dr.GRPO, arXiv 2503.20783).
        batch_num_tokens: what `token-mean` divides by; None counts the tokens of this call. The count of the whole
            batch makes the losses of micro-batches add up to the loss of the batch.
        global_batch_size: what both means over rows divide by; None counts the rows of this call.
        loss_scale_factor: what `seq-mean-token-sum-norm` divides by; None takes the padded number of tokens.

    Returns:
        The loss, a scalar; NaN where a mean is over nothing.

    Raises:
        ExecutionError: if the shapes differ, the mode is unknown, or a divisor is not positive.
    """
    check_shapes(loss_mat.shape, loss_mask=loss_mask)
    _check_positive(
        batch_num_tokens=batch_num_tokens,
        global_batch_size=global_batch_size,
        loss_scale_factor=loss_scale_factor,
    )
    mask = loss_mask.to(loss_mat.dtype)
    if loss_agg_mode == "token-mean":
        return masked_sum(loss_mat, mask) / _given(batch_num_tokens, mask.sum())
    if loss_agg_mode == "seq-mean-token-sum-norm":
        return masked_sum(loss_mat, mask) / _given(loss_scale_factor, mask.shape[-1])
    lengths = mask.sum(-1)
    sums = masked_sum(loss_mat, mask, -1)
    filled = (lengths > 0).to(mask.dtype)
    if loss_agg_mode == "seq-mean-token-sum":
        return sums.sum() / _given(global_batch_size, filled.sum())
    if loss_agg_mode == "seq-mean-token-mean":
        return (sums / (lengths + 1e-8)).sum() / _given(global_batch_size, filled.sum())
    message = f"expected one of {', '.join(AGG_MODES)} as loss_agg_mode, got {loss_agg_mode!r}"
    raise ExecutionError(message)


def _given(constant: float | None, otherwise: Tensor | int) -> Tensor | float:
    return otherwise if constant is None else constant


def _check_positive(**divisors: float | None) -> None:
    for name, value in divisors.items():
        if value is not None and not value > 0:
            message = f"expected {name} above 0, because the loss is divided by it, got {value}"
            raise ExecutionError(message)
