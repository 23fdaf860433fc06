"""The loss of a token in each member of the GRPO family.

Arguments named `ratio` are probabilities of the learning policy over those of the acting one, (rows, tokens) or
(rows, 1); `advantages` broadcast with them. The line numbers are those of trl/trainer/grpo_trainer.py in the PyPI
release 1.16.0 of huggingface/trl.
"""

import math

import torch
from torch import Tensor

from equipoise.training.losses.settings import GRPOLossSettings

__all__ = ["surrogate"]

_SMALLEST_LOG_WEIGHT = math.log(1e-8)
_LARGEST_LOG_WEIGHT = 20.0
_SMALLEST_LAMBDA = 1e-4


def surrogate(
    logps: Tensor,
    log_ratio: Tensor,
    ratio: Tensor,
    advantages: Tensor,
    mask: Tensor,
    settings: GRPOLossSettings,
) -> Tensor:
    """The token losses of the loss type of the settings.

    Args:
        logps: of the policy that learns, (rows, tokens), in nats.
        log_ratio: to the policy that acted, a token, (rows, tokens), in nats.
        ratio: at the level of the settings, (rows, tokens) or (rows, 1).
        advantages: (rows, tokens) or (rows, 1).
        mask: 1 where a token counts, (rows, tokens).
        settings: of the loss.

    Returns:
        Losses, broadcastable to (rows, tokens).
    """
    if settings.loss_type == "cispo":
        return -torch.clamp(ratio, max=settings.upper).detach() * advantages * logps
    if settings.loss_type == "sapo":
        return _soft(ratio, advantages, settings)
    if settings.loss_type == "vespo":
        return -_gamma_weights(log_ratio.detach(), advantages, mask, settings) * advantages * logps
    return _clipped(ratio, advantages, settings)


def _clipped(ratio: Tensor, advantages: Tensor, settings: GRPOLossSettings) -> Tensor:
    """PPO's clip (arXiv 1707.06347) with separate sides; lines 3112-3120."""
    held = torch.clamp(ratio, 1 - settings.epsilon, 1 + settings.upper)
    if settings.delta is not None:
        ratio = torch.clamp(ratio, max=settings.delta)
    return -torch.min(ratio * advantages, held * advantages)


def _soft(ratio: Tensor, advantages: Tensor, settings: GRPOLossSettings) -> Tensor:
    """``-(4 / t) sigmoid(t (r - 1)) A``: slope 1 at r = 1, flat far from it; lines 3121-3124."""
    temperature = _by_sign(
        advantages > 0, settings.sapo_temperature_pos, settings.sapo_temperature_neg, ratio
    )
    return -torch.sigmoid(temperature * (ratio - 1)) * 4 / temperature * advantages


def _gamma_weights(log_ratio: Tensor, advantages: Tensor, mask: Tensor, settings: GRPOLossSettings) -> Tensor:
    """``exp(l) w^k exp(-l w)``, 1 at w = 1, with w the ratio of the whole row; lines 2972-3018.

    The logs of w and of its factors are clamped to ±20 (to log 1e-8 from below for w), lambda to 1e-4 at least.
    """
    log_weight = (torch.clamp(log_ratio, -_LARGEST_LOG_WEIGHT, _LARGEST_LOG_WEIGHT) * mask).sum(
        -1, keepdim=True
    )
    log_weight = torch.clamp(log_weight, _SMALLEST_LOG_WEIGHT, _LARGEST_LOG_WEIGHT)
    positive = advantages >= 0
    power = _by_sign(positive, settings.vespo_k_pos, settings.vespo_k_neg, log_ratio)
    decay = _by_sign(positive, settings.vespo_lambda_pos, settings.vespo_lambda_neg, log_ratio)
    decay = decay.clamp(min=_SMALLEST_LAMBDA)
    return torch.exp(decay + power * log_weight - decay * torch.exp(log_weight))


def _by_sign(positive: Tensor, first: float, second: float, like: Tensor) -> Tensor:
    """One of two settings an entry, rounded to single precision: TRL does so even where the rest is double."""
    one = torch.tensor(first, dtype=torch.float32, device=like.device)
    other = torch.tensor(second, dtype=torch.float32, device=like.device)
    return torch.where(positive, one, other).to(like.dtype)
