"""PPO's clipped loss with a second bound for tokens of negative advantage."""

from dataclasses import dataclass

import torch
from torch import Tensor

from equipoise.errors import ExecutionError
from equipoise.training.losses.aggregation import AggMode, agg_loss
from equipoise.training.losses.masks import check_finite, check_shapes, masked_mean, silence

__all__ = ["DualClipLoss", "dual_clip_loss"]

_LOG_RATIO_LIMIT = 20.0


@dataclass(frozen=True)
class DualClipLoss:
    """A loss and what clipping did to it.

    Attributes:
        loss: a scalar, to be minimised.
        clip_fraction: share of the tokens, 0 to 1, where the usual clip took over.
        clip_fraction_lower: share of the tokens, 0 to 1, of negative advantage that the second bound stopped.
        approx_kl: mean of the log ratio old to new, in nats; of either sign.
    """

    loss: Tensor
    clip_fraction: float
    clip_fraction_lower: float
    approx_kl: float


def dual_clip_loss(
    log_prob: Tensor,
    old_log_prob: Tensor,
    advantages: Tensor,
    response_mask: Tensor,
    *,
    clip_ratio_low: float = 0.2,
    clip_ratio_high: float = 0.2,
    clip_ratio_c: float = 3.0,
    loss_agg_mode: AggMode = "token-mean",
) -> DualClipLoss:
    """Dual-clip PPO: ``max(-A r, -A clip(r, 1 - low, 1 + high))``, and where A < 0 at most ``-A c``.

    Without the second bound a token of negative advantage that became likely would weigh without limit. The log
    ratio is clamped to ±20. This is not the textbook loss of PPO (arXiv 1707.06347): `clip_ratio_c` of infinity is.

    Args:
        log_prob: of the policy that learns, (rows, tokens), in nats.
        old_log_prob: of the policy that acted, the same shape; no gradient flows into it.
        advantages: the same shape.
        response_mask: 1 where a token counts, the same shape.
        clip_ratio_low: how far the ratio may fall below 1.
        clip_ratio_high: how far it may rise above 1.
        clip_ratio_c: the bound for negative advantages, as a ratio above 1.
        loss_agg_mode: see `equipoise.training.losses.aggregation.agg_loss`.

    Returns:
        The loss and its clip metrics.

    Raises:
        ExecutionError: if shapes differ, an advantage that counts is not finite, or a bound is out of its range.

    Source: arXiv 1912.09729; volcengine/verl, commit b178a3cd, verl/trainer/ppo/core_algos.py:1159-1250.
    """
    check_shapes(
        log_prob.shape, old_log_prob=old_log_prob, advantages=advantages, response_mask=response_mask
    )
    if not clip_ratio_c > 1 or clip_ratio_low < 0 or clip_ratio_high < 0:
        message = (
            "expected clip_ratio_c above 1 and clip_ratio_low and clip_ratio_high of at least 0, "
            f"got {clip_ratio_c}, {clip_ratio_low} and {clip_ratio_high}"
        )
        raise ExecutionError(message)
    check_finite(advantages, response_mask)
    mask = response_mask.to(log_prob.dtype)
    credit = silence(advantages, mask)
    log_ratio = silence(log_prob, mask) - silence(old_log_prob, mask).detach()
    log_ratio = torch.clamp(log_ratio, -_LOG_RATIO_LIMIT, _LOG_RATIO_LIMIT)
    ratio = torch.exp(log_ratio)
    plain = -credit * ratio
    held = -credit * torch.clamp(ratio, 1 - clip_ratio_low, 1 + clip_ratio_high)
    once = torch.maximum(plain, held)
    negative = credit < 0
    bound = torch.where(negative, -credit * clip_ratio_c, torch.inf)
    return DualClipLoss(
        loss=agg_loss(torch.minimum(once, bound), mask, loss_agg_mode),
        clip_fraction=masked_mean((held > plain).to(mask.dtype), mask).item(),
        clip_fraction_lower=masked_mean((once > bound).to(mask.dtype), mask).item(),
        approx_kl=masked_mean(-log_ratio.detach(), mask).item(),
    )
