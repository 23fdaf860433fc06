"""Several reward functions as one score a trajectory, before any rule sees it."""

import numpy as np

from equipoise_conditions.arrays import FloatArray, IntArray
from equipoise_conditions.errors import RuleError
from equipoise_conditions.groups import codes, standardised

__all__ = ["combined_rewards"]


def combined_rewards(
    rewards: FloatArray,
    weights: FloatArray,
    *,
    within: IntArray | None = None,
    std: str = "sample",
    eps: float = 1e-4,
) -> FloatArray:
    """Return (N,) weighted sums of several reward functions; NaN where none of them gave a number.

    A function that gave no number adds nothing to the sum. A trajectory whose sum is NaN has no outcome and
    cannot be part of a batch. TRL's `sum_then_normalize` is the plain sum under the rule grpo with one of
    its TRL presets; its `normalize_then_sum` is the sum of standardised rewards (`within`), given to the
    preset trl as outcomes of one single group, the batch.

    Source: PyPI trl 1.16.0 trl/trainer/grpo_trainer.py:2759-2810.

    Args:
        rewards: (N, F) rewards of F functions, NaN where a function gave none.
        weights: (F,) weight of each function.
        within: (N,) groups inside which each function's rewards are standardised before they are summed;
            None sums them as they are.
        std: see `standardised`.
        eps: see `standardised`.

    Raises:
        RuleError: when the shapes do not agree.
    """
    if rewards.ndim != 2 or rewards.shape[1:] != weights.shape:
        message = f"rewards: expected (N, F) with one weight each, got {rewards.shape} and {weights.shape}"
        raise RuleError(message)
    known = ~np.isnan(rewards)
    value = np.where(known, rewards, 0.0)
    if within is not None:
        for function in range(weights.size):
            use = known[:, function]
            code, n_groups = codes(within[use])
            value[use, function] = standardised(value[use, function], code, n_groups, std=std, eps=eps)
    total: FloatArray = value @ weights
    return np.where(known.any(axis=1), total, np.nan)
