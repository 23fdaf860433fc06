"""A batch as published codes take it, and the passes over its rows that several of them share."""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

Parameters = dict[str, Any]
Array = NDArray[Any]


@dataclass(frozen=True)
class Rows:
    """One batch as the published functions take it: N rows of L tokens, or T rows (turns) of k tokens.

    Attributes:
        index: (N,) group of each trajectory.
        rewards: (N, L) reward of each token.
        mask: (N, L) 1 inside the loss.
        values: (N, L) a critic's values.
        log_gains: (N, L) information gains as differences of log-probabilities, and outcomes.
        gains: (N, L) information gains as differences of probabilities, and outcomes.
        outcome: (N,) outcomes.
        surprisal: N lists of L numbers.
        turn_rewards: (N, turns) reward of each turn.
        turn_values: (N, turns) a critic's values of the states before the turns.
        flags: N lists of a judge's verdicts on the turns.
        rollouts: N lists, of a list of outcomes for each turn.
        turn_index: (T,) group of each turn.
        walk: (T,) trajectory of each turn.
        anchor: (T,) state of each turn.
        agent: (T,) agent of each turn.
        turn_scores: (T, k) the trajectory's outcome on the last token of each of its turns.
        turn_mask: (T, k) 1 inside the loss.
        step_rewards: (T,) reward of each turn.
        implicit: (T, k) log-ratio of each token.
    """

    index: Array
    rewards: Tensor
    mask: Tensor
    values: Tensor
    log_gains: Tensor
    gains: Tensor
    outcome: Tensor
    surprisal: list[list[float]]
    turn_rewards: Tensor
    turn_values: Tensor
    flags: list[list[bool]]
    rollouts: list[list[list[float]]]
    turn_index: Array
    walk: Array
    anchor: Array
    agent: Array
    turn_scores: Tensor
    turn_mask: Tensor
    step_rewards: Array
    implicit: Tensor


def whiten(value: Tensor, mask: Tensor) -> Tensor:
    count = mask.sum()
    mean = (value * mask).sum() / count
    variance = ((value - mean) ** 2 * mask).sum() / count * count / (count - 1)
    return (value - mean) * torch.rsqrt(variance + 1e-8)


def statistics(
    score: Tensor, keys: Iterable[Hashable], mean_of_one: bool = False
) -> tuple[dict[Hashable, list[Tensor]], dict[Hashable, Tensor], dict[Hashable, Tensor]]:
    """Scores gathered row by row into lists by key, then a mean and a deviation tensor for each key."""
    members: dict[Hashable, list[Tensor]] = defaultdict(list)
    for i, key in enumerate(keys):
        members[key].append(score[i])
    mean, std = {}, {}
    for key, found in members.items():
        stacked = torch.stack(found)
        if len(found) == 1:
            mean[key] = stacked.mean() if mean_of_one else torch.tensor(0.0)
            std[key] = torch.tensor(1.0)
        else:
            mean[key], std[key] = torch.mean(stacked), torch.std(stacked)
    return members, mean, std


def relative(
    score: Tensor,
    keys: Array,
    members: dict[Any, list[Tensor]],
    p: Parameters,
    mean_of_one: float | None = None,
) -> Tensor:
    mean, std = {}, {}
    for key, found in members.items():
        numbers = torch.tensor(found, dtype=torch.float64)
        one = len(found) == 1
        mean[key] = torch.tensor(mean_of_one) if one and mean_of_one is not None else torch.mean(numbers)
        std[key] = torch.tensor(1.0) if one else torch.std(numbers)
    for i in range(score.shape[0]):
        if p["std"] == "none":
            score[i] = score[i] - mean[keys[i]]
        else:
            score[i] = (score[i] - mean[keys[i]]) / (std[keys[i]] + p["eps"])
    return score


def columns_backwards(rewards: Tensor, values: Tensor, mask: Tensor, gamma: float, lam: float) -> Tensor:
    following, last, found = torch.zeros(rewards.shape[0]), torch.zeros(rewards.shape[0]), []
    for t in reversed(range(rewards.shape[1])):
        delta = rewards[:, t] + gamma * following - values[:, t]
        new = delta + gamma * lam * last
        following = values[:, t] * mask[:, t] + (1 - mask[:, t]) * following
        last = new * mask[:, t] + (1 - mask[:, t]) * last
        found.append(last)
    return torch.stack(found[::-1], dim=1)
