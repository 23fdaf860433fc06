"""Estimators of the divergence from a reference policy, a value a token.

Source: J. Schulman, "Approximating KL divergence" (2020), as in volcengine/verl, commit b178a3cd,
verl/trainer/ppo/core_algos.py:1841-1902.
"""

import torch
from torch import Tensor

from equipoise.errors import ExecutionError
from equipoise.training.losses.masks import check_shapes

__all__ = ["k3", "kl_penalty"]

_LOG_RATIO_LIMIT = 20.0
_K3_LIMIT = 10.0


def k3(logprob: Tensor, ref_logprob: Tensor) -> Tensor:
    """The estimate ``exp(d) - d - 1`` with ``d = ref_logprob - logprob``, in nats: never negative, not clamped.

    Source: huggingface/trl 1.16.0, trl/trainer/grpo_trainer.py:3099-3102.
    """
    log_ratio = ref_logprob - logprob
    return torch.exp(log_ratio) - log_ratio - 1


def kl_penalty(logprob: Tensor, ref_logprob: Tensor, estimator: str) -> Tensor:
    """Estimate KL(policy || reference) at each sampled token.

    Args:
        logprob: of the policy, any shape, in nats.
        ref_logprob: of the reference, the same shape.
        estimator: `k1` (`kl`), the log ratio; `abs`, its size; `k2` (`mse`), half its square; `k3` (`low_var_kl`),
            with the log ratio clamped to ±20 and the estimate to ±10. A plus sign behind it keeps the value and
            takes the gradient of `k2`, the only one whose expectation is the gradient of the divergence.

    Returns:
        The estimates in nats, in the shape of `logprob`.

    Raises:
        ExecutionError: if the shapes differ or the estimator is unknown. `full` needs the logits of the whole
            vocabulary and is not an estimator of this kind.
    """
    check_shapes(logprob.shape, ref_logprob=ref_logprob)
    value = _value(logprob, ref_logprob, estimator.removesuffix("+"))
    if not estimator.endswith("+"):
        return value
    carrier = 0.5 * (logprob - ref_logprob).square()
    return carrier - carrier.detach() + value.detach()


def _value(logprob: Tensor, ref_logprob: Tensor, estimator: str) -> Tensor:
    difference = logprob - ref_logprob
    if estimator in ("kl", "k1"):
        return difference
    if estimator == "abs":
        return difference.abs()
    if estimator in ("mse", "k2"):
        return 0.5 * difference.square()
    if estimator in ("low_var_kl", "k3"):
        limited = torch.clamp(-difference, -_LOG_RATIO_LIMIT, _LOG_RATIO_LIMIT)
        return torch.clamp(torch.exp(limited) - limited - 1, -_K3_LIMIT, _K3_LIMIT)
    message = (
        f"expected k1, kl, abs, k2, mse, k3 or low_var_kl as estimator of the divergence, got {estimator!r}"
    )
    raise ExecutionError(message)
