"""Policy-gradient losses on (rows, tokens) credit: pure torch functions, differentiable, in any floating precision.

Log-probabilities are in nats, masks are 1 where a token counts, and losses are to be minimised. A token that a mask
leaves out never enters: neither its value nor its gradient, even where it is NaN.
"""

from equipoise.training.losses.aggregation import AGG_MODES, AggMode, agg_loss
from equipoise.training.losses.cts import cts_surrogate_loss
from equipoise.training.losses.dual_clip import DualClipLoss, dual_clip_loss
from equipoise.training.losses.grpo import grpo_loss
from equipoise.training.losses.kl import kl_penalty
from equipoise.training.losses.settings import LOSS_TYPES, GRPOLossSettings, ImportanceSamplingLevel, LossType

__all__ = [
    "AGG_MODES",
    "LOSS_TYPES",
    "AggMode",
    "DualClipLoss",
    "GRPOLossSettings",
    "ImportanceSamplingLevel",
    "LossType",
    "agg_loss",
    "cts_surrogate_loss",
    "dual_clip_loss",
    "grpo_loss",
    "kl_penalty",
]
