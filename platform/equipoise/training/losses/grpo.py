"""The GRPO family in one function, with credit a row or a token.

Source: huggingface/trl 1.16.0 (PyPI), trl/trainer/grpo_trainer.py:3020-3292; the papers of the members stand in
`equipoise.training.losses.settings.GRPOLossSettings`.
"""

import torch
from torch import Tensor

from equipoise.errors import ExecutionError
from equipoise.training.losses.kl import k3
from equipoise.training.losses.masks import check_finite, check_shapes, masked_sum, silence
from equipoise.training.losses.settings import GRPOLossSettings
from equipoise.training.losses.surrogates import surrogate

__all__ = ["grpo_loss"]


def grpo_loss(
    logps: Tensor,
    advantages: Tensor,
    completion_mask: Tensor,
    settings: GRPOLossSettings,
    *,
    old_logps: Tensor | None = None,
    ref_logps: Tensor | None = None,
    tool_mask: Tensor | None = None,
    num_items_in_batch: float | None = None,
) -> Tensor:
    """The loss of one micro-batch, scaled so that the gradients of an optimizer step's micro-batches are added.

    `dapo`, `cispo` and `vespo` divide by the tokens of the whole generation batch, so the sum over micro-batches is
    the loss of the batch, however it is cut. The others divide each micro-batch by its own size and then by
    `gradient_accumulation_steps`: `bnpo` therefore gives micro-batches with unequal numbers of tokens, and `grpo`,
    `dr_grpo`, `sapo` and `luspo` those with unequal numbers of rows, another weight than one batch would.

    Args:
        logps: log-probabilities of the policy that learns, (rows, tokens), in nats.
        advantages: (rows,), (rows, 1) or (rows, tokens); may have either sign.
        completion_mask: 1 on tokens of the completion, 0 on padding, (rows, tokens).
        settings: of the loss.
        old_logps: of the policy that acted, (rows, tokens); None means the policy that learns is that policy: all
            ratios are 1 and have a gradient.
        ref_logps: of the reference policy, (rows, tokens); needed if `beta` is not 0.
        tool_mask: 1 on the model's own tokens, 0 on those of tools and environment, (rows, tokens); None: all own.
        num_items_in_batch: tokens of the generation batch that count; None counts those of this call, which is
            right only where the batch is not cut. Below 1 it is taken as 1.

    Returns:
        The loss, a scalar; 0 where no token counts.

    Raises:
        ExecutionError: if shapes do not fit, an advantage that counts is not finite, or `ref_logps` is missing.
    """
    check_shapes(
        logps.shape,
        completion_mask=completion_mask,
        old_logps=old_logps,
        ref_logps=ref_logps,
        tool_mask=tool_mask,
    )
    mask = completion_mask.to(logps.dtype)
    mask = mask if tool_mask is None else mask * tool_mask
    credit = _credit(advantages, mask)
    logps = silence(logps, mask)
    old = logps.detach() if old_logps is None else silence(old_logps, mask).detach()
    log_ratio = logps - old
    ratio = torch.exp(_at_level(log_ratio, mask, settings))
    losses = surrogate(logps, log_ratio, ratio, credit, mask, settings)
    if settings.beta != 0:
        if ref_logps is None:
            raise ExecutionError(f"expected ref_logps for a beta of {settings.beta}, got None")
        losses = losses + settings.beta * k3(logps, silence(ref_logps, mask))
    return _reduce(losses.expand_as(mask), mask, settings, num_items_in_batch)


def _credit(advantages: Tensor, mask: Tensor) -> Tensor:
    if advantages.dim() == 1:
        advantages = advantages.unsqueeze(1)
    if advantages.shape not in (mask.shape, (mask.shape[0], 1)):
        message = (
            f"expected advantages of shape ({mask.shape[0]},), one a row, or {tuple(mask.shape)}, one a token, "
            f"got {tuple(advantages.shape)}"
        )
        raise ExecutionError(message)
    credit = advantages.expand_as(mask)
    check_finite(credit, mask)
    return silence(credit, mask)


def _at_level(log_ratio: Tensor, mask: Tensor, settings: GRPOLossSettings) -> Tensor:
    if settings.importance_sampling_level == "token":
        return log_ratio
    return ((log_ratio * mask).sum(-1) / mask.sum(-1).clamp(min=1.0)).unsqueeze(-1)


def _reduce(
    losses: Tensor, mask: Tensor, settings: GRPOLossSettings, num_items_in_batch: float | None
) -> Tensor:
    steps = settings.gradient_accumulation_steps
    if settings.loss_type in ("dapo", "cispo", "vespo"):
        items = float(mask.sum()) if num_items_in_batch is None else num_items_in_batch
        return masked_sum(losses, mask) / (max(items, 1.0) * steps / settings.steps_per_generation)
    if settings.loss_type == "bnpo":
        loss = masked_sum(losses, mask) / mask.sum().clamp(min=1.0)
    elif settings.loss_type == "dr_grpo":
        assert settings.max_completion_length is not None, "the settings refuse dr_grpo without it"
        loss = masked_sum(losses, mask) / (mask.shape[0] * settings.max_completion_length)
    elif settings.loss_type == "luspo":
        loss = masked_sum(losses, mask, -1).mean()
    else:
        loss = (masked_sum(losses, mask, -1) / mask.sum(-1).clamp(min=1.0)).mean()
    return loss / steps
