"""Returns of tokens: what a token and those after it earn, and what has been added up until a token."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.groups import discounted
from equipoise_conditions.rule import Parameter
from equipoise_conditions.trajectories import Trajectories

__all__ = ["TOKEN_GAMMA", "cumulated", "return_to_mask", "reward_to_go"]

TOKEN_GAMMA = Parameter("token_gamma", 1.0, "float", "discount per token", minimum=0.0, maximum=1.0)


def reward_to_go(trajectories: Trajectories) -> FloatArray:
    """Return (K,) sum of the token rewards in the loss from each token to its trajectory's end.

    Masked tokens are bridged: later turns give their reward to earlier ones across tool output. A reward on
    a masked token is not counted.

    Source: volcengine/verl b178a3cd verl/trainer/ppo/core_algos.py, ReMax (:651) and the token baselines.
    """
    reward = np.where(trajectories.mask, trajectories.token_reward, 0.0)
    return discounted(reward, trajectories.token_offsets_of_trajectory, 1.0)


def return_to_mask(
    reward: FloatArray, mask: BoolArray, offsets: IntArray, *, token_gamma: float = 1.0
) -> FloatArray:
    """Return (K,) G_k = r_k + gamma m_{k+1} G_{k+1}: returns that end where the next token is masked.

    A masked token begins a span of its own, so nothing after it reaches a token before it.

    Source: volcengine/verl b178a3cd verl/trainer/ppo/core_algos.py:609-613 (REINFORCE++).

    Args:
        reward: (K,) token rewards.
        mask: (K,) tokens in the loss.
        offsets: (N+1,) tokens of each trajectory.
        token_gamma: discount per token.
    """
    begins = ~mask
    begins[offsets[:-1]] = True
    spans = np.append(np.flatnonzero(begins), reward.size).astype(np.int64)
    return discounted(reward, spans, token_gamma)


def cumulated(value: FloatArray, offsets: IntArray) -> FloatArray:
    """Return (K,) sum of `value` from its trajectory's first token to each token.

    Inside a trajectory only, so that a NaN or a large number in one never reaches another.
    """
    backwards = (value.size - offsets[::-1]).astype(np.int64)
    return discounted(value[::-1], backwards, 1.0)[::-1]
