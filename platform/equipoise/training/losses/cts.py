"""The clipped surrogate of CTS: groups as a dimension of their own, rows weighing the same."""

import torch
from torch import Tensor

from equipoise.errors import ExecutionError
from equipoise.training.losses.kl import k3
from equipoise.training.losses.masks import check_finite, check_shapes, masked_sum, silence

__all__ = ["cts_surrogate_loss"]


def cts_surrogate_loss(
    logprobs_new: Tensor,
    logprobs_old: Tensor,
    mask: Tensor,
    advantages: Tensor,
    *,
    clip: float = 0.2,
    kl_coef: float = 0.01,
) -> Tensor:
    """Mean over all rows of the mean over their tokens of ``-min(r A, clip(r, 1 - clip, 1 + clip) A)``, plus KL.

    A row without a token counts as a row of loss 0, whereas `agg_loss` leaves it out of the mean. The divergence
    is `k3` against the policy that acted, averaged over all tokens.

    Args:
        logprobs_new: of the policy that learns, (prompts, group, tokens), in nats.
        logprobs_old: of the policy that acted, the same shape; no gradient flows into it.
        mask: 1 where a token counts, the same shape.
        advantages: (prompts, group).
        clip: how far from 1 the ratio may go.
        kl_coef: weight of the divergence, a nat.

    Returns:
        The loss, a scalar.

    Raises:
        ExecutionError: if shapes differ, an advantage of a row with tokens is not finite, or `clip` is negative.

    Source: jadenfix/CreditAssignment-LongHorizon, commit 8762bd92, src/cts/rl/grpo.py, `grpo_surrogate_loss`.
    """
    check_shapes(logprobs_new.shape, logprobs_old=logprobs_old, mask=mask)
    check_shapes(logprobs_new.shape[:-1], advantages=advantages)
    if clip < 0:
        message = f"expected clip of at least 0, got {clip}"
        raise ExecutionError(message)
    used = mask.to(logprobs_new.dtype)
    credit = advantages.unsqueeze(-1).expand_as(used)
    check_finite(credit, used)
    credit = silence(credit, used)
    new, old = silence(logprobs_new, used), silence(logprobs_old, used).detach()
    ratio = torch.exp(new - old)
    surrogate = torch.minimum(ratio * credit, torch.clamp(ratio, 1 - clip, 1 + clip) * credit)
    rows = masked_sum(surrogate, used, -1) / used.sum(-1).clamp(min=1.0)
    divergence = masked_sum(k3(new, old), used) / used.sum().clamp(min=1.0)
    return kl_coef * divergence - rows.mean()
