"""COCOA in a tabular decision process whose dynamics are known: exact contribution coefficients."""

from dataclasses import dataclass

import numpy as np

from equipoise_conditions.arrays import FloatArray, IntArray
from equipoise_conditions.errors import RuleError

__all__ = [
    "TabularProcess",
    "action_values",
    "contribution_coefficients",
    "expected_contribution",
    "trajectory_contribution",
]

_SAME_REWARD = 5e-5


@dataclass(frozen=True, eq=False)
class TabularProcess:
    """A decision process with S states, A actions and B possible rewards.

    Attributes:
        transition: (S, A, S) probability of the next state.
        reward_probs: (S, A, B) probability of each reward.
        reward_values: (B,) the rewards, all different.
        horizon: steps that are looked ahead; a revisited state counts each time.
    """

    transition: FloatArray
    reward_probs: FloatArray
    reward_values: FloatArray
    horizon: int

    def __post_init__(self) -> None:
        states, actions, rewards = self.reward_probs.shape
        if self.transition.shape != (states, actions, states) or self.reward_values.shape != (rewards,):
            shapes = (self.transition.shape, self.reward_probs.shape, self.reward_values.shape)
            message = f"process: expected shapes (S, A, S), (S, A, B) and (B,), got {shapes}"
            raise RuleError(message)
        if np.unique(self.reward_values).size != rewards:
            message = (
                f"reward_values: expected {rewards} different rewards; join the probabilities of equal ones"
            )
            raise RuleError(message)

    def occupancy(self, policy: FloatArray) -> FloatArray:
        """Return (S, A, S) expected visits to each state in the `horizon` steps after taking an action.

        Args:
            policy: (S, A) probabilities.
        """
        states = self.transition.shape[0]
        visits = np.zeros_like(self.transition)
        for _ in range(self.horizon):
            from_state = np.einsum("sa,sau->su", policy, visits)
            visits = self.transition @ (np.eye(states) + from_state)
        return visits

    @property
    def reward(self) -> FloatArray:
        """(S, A) expected reward."""
        expected: FloatArray = self.reward_probs @ self.reward_values
        return expected


def action_values(process: TabularProcess, policy: FloatArray) -> FloatArray:
    """Return (S, A) Q: the immediate reward and those of the states visited after it.

    Args:
        process: the process.
        policy: (S, A) probabilities.
    """
    later: FloatArray = process.occupancy(policy) @ np.einsum("sa,sa->s", policy, process.reward)
    return process.reward + later


def contribution_coefficients(process: TabularProcess, policy: FloatArray, hindsight: str) -> FloatArray:
    """Return (S, A, U) w(s, a, u) = visits to u after (s, a) / visits to u after s; 1 where u is never met.

    Source: Meulemans et al. 2023 (arXiv 2306.16803); conditioned on states this is HCA.

    Args:
        process: the process.
        policy: (S, A) probabilities.
        hindsight: what u is: "state" (U = S) or "reward" (U = B).

    Raises:
        RuleError: when `hindsight` is another word.
    """
    visits = process.occupancy(policy) @ _objects(process, policy, hindsight)
    expected = np.einsum("sa,sau->su", policy, visits)[:, None, :]
    ratio: FloatArray = np.divide(visits, expected, out=np.ones_like(visits), where=expected != 0)
    return ratio


def expected_contribution(
    process: TabularProcess, policy: FloatArray, hindsight: str, return_type: str
) -> FloatArray:
    """Return (S, A) what the estimator gives on average: Q - V for "advantage", Q for "action_value".

    Args:
        process: the process.
        policy: (S, A) probabilities.
        hindsight: "state" or "reward".
        return_type: "advantage" or "action_value".

    Raises:
        RuleError: when a word is not one of these.
    """
    weight = contribution_coefficients(process, policy, hindsight) - _baseline(return_type)
    from_state = np.einsum("sa,sau->su", policy, process.occupancy(policy))
    if hindsight == "state":
        rewards = from_state * np.einsum("sa,sa->s", policy, process.reward)
    else:
        rewards = (from_state @ _objects(process, policy, hindsight)) * process.reward_values
    immediate = process.reward
    if return_type == "advantage":
        immediate = immediate - np.einsum("sa,sa->s", policy, immediate)[:, None]
    later: FloatArray = np.einsum("sau,su->sa", weight, rewards)
    return immediate + later


def trajectory_contribution(
    process: TabularProcess,
    policy: FloatArray,
    *,
    hindsight: str,
    return_type: str,
    states: IntArray,
    actions: IntArray,
    rewards: FloatArray,
    dones: IntArray | None = None,
) -> FloatArray:
    """Return (T, A) the credit that one trajectory gives every action of the states it met.

    Action a of step t gets the sum over k > t of r_k (w(s_t, a, u_k) - 1); the action taken also r_t / pi, without
    a baseline.

    Source: as for `contribution_coefficients`, and the authors' code.

    Args:
        process: the process.
        policy: (S, A) probabilities.
        hindsight: "state" or "reward".
        return_type: "advantage" (w - 1) or "action_value" (w).
        states: (T,) states met.
        actions: (T,) actions taken.
        rewards: (T,) rewards received.
        dones: (T+1,) 1 from the step at whose start the episode had ended; rewards there contribute nothing to
            earlier steps. None for an episode that ends with its last step.

    Raises:
        RuleError: when a word is not one of these, or a reward not one of the process's.
    """
    weight = contribution_coefficients(process, policy, hindsight) - _baseline(return_type)
    met = states if hindsight == "state" else _reward_index(process, rewards)
    alive = np.ones(states.size) if dones is None else 1.0 - dones[: states.size]
    later = np.triu(np.ones((states.size, states.size)), k=1) * (rewards * alive)
    credit: FloatArray = np.einsum("tk,tak->ta", later, weight[states][:, :, met])
    steps = np.arange(states.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        credit[steps, actions] += rewards / policy[states, actions]
    return credit


def _objects(process: TabularProcess, policy: FloatArray, hindsight: str) -> FloatArray:
    """Return (S, U) the probability of each hindsight object in each state under the policy."""
    if hindsight == "state":
        return np.eye(process.transition.shape[0])
    if hindsight == "reward":
        found: FloatArray = np.einsum("sa,sab->sb", policy, process.reward_probs)
        return found
    message = f"hindsight: expected state or reward, got '{hindsight}'"
    raise RuleError(message)


def _baseline(return_type: str) -> float:
    if return_type in ("advantage", "action_value"):
        return 1.0 if return_type == "advantage" else 0.0
    message = f"return_type: expected advantage or action_value, got '{return_type}'"
    raise RuleError(message)


def _reward_index(process: TabularProcess, rewards: FloatArray) -> IntArray:
    distance = np.abs(rewards[:, None] - process.reward_values[None, :])
    index: IntArray = distance.argmin(axis=1).astype(np.int64)
    far = distance[np.arange(rewards.size), index] > _SAME_REWARD
    if far.any():
        known = ", ".join(f"{value:g}" for value in process.reward_values)
        message = f"rewards: expected one of {known}, got {rewards[far][0]:g}; add it to reward_values"
        raise RuleError(message)
    return index
