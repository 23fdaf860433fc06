"""Loops of published codes on outcomes, values and tokens, restated.

Restated from the behaviour of the codes named at each function; none of their text is here. Tensors are in
double precision, so that results can be compared to 1e-6. Where a published loop is quadratic in the rows, the
loop here is not: the difference is to the published code's advantage.
"""

from collections import defaultdict
from typing import Any

import numpy as np
import torch
from benchmarks.loops.rows import Parameters, Rows, columns_backwards, statistics, whiten
from torch import Tensor


def grpo(rows: Rows, p: Parameters) -> Tensor:
    """volcengine/verl b178a3cd core_algos.py:266-330."""
    score = rows.rewards.sum(dim=-1)
    _, mean, std = statistics(score, rows.index)
    for i in range(score.shape[0]):
        score[i] = (score[i] - mean[rows.index[i]]) / (std[rows.index[i]] + p["eps"])
    return score.unsqueeze(-1) * rows.mask


def rloo(rows: Rows, _p: Parameters) -> Tensor:
    """volcengine/verl b178a3cd core_algos.py:476-525."""
    score = rows.rewards.sum(dim=-1)
    members: dict[int, list[Tensor]] = defaultdict(list)
    for i in range(score.shape[0]):
        members[rows.index[i]].append(score[i])
    mean = {key: torch.mean(torch.stack(found)) for key, found in members.items()}
    for i in range(score.shape[0]):
        n = len(members[rows.index[i]])
        if n > 1:
            score[i] = score[i] * n / (n - 1) - mean[rows.index[i]] * n / (n - 1)
    return score.unsqueeze(-1) * rows.mask


def reinforce_pp(rows: Rows, p: Parameters) -> Tensor:
    """volcengine/verl b178a3cd core_algos.py:578-618: a loop over columns, already on all rows at once."""
    returns, running = torch.zeros_like(rows.rewards), torch.zeros(rows.rewards.shape[0])
    for t in reversed(range(rows.rewards.shape[1])):
        running = rows.rewards[:, t] + p["token_gamma"] * running
        returns[:, t] = running
        running = running * rows.mask[:, t]
    return whiten(returns, rows.mask) * rows.mask


def reinforce_pp_baseline(rows: Rows, _p: Parameters) -> Tensor:
    """volcengine/verl b178a3cd core_algos.py:425-473."""
    score = rows.rewards.sum(dim=-1)
    _, mean, _ = statistics(score, rows.index)
    for i in range(score.shape[0]):
        score[i] = score[i] - mean[rows.index[i]]
    tiled = score.unsqueeze(-1).tile([1, rows.mask.shape[1]]) * rows.mask
    return whiten(tiled, rows.mask) * rows.mask


def opo(rows: Rows, _p: Parameters) -> Tensor:
    """volcengine/verl b178a3cd core_algos.py:528-575."""
    score, length = rows.rewards.sum(dim=-1), rows.mask.sum(dim=-1)
    scores: dict[int, list[Tensor]] = defaultdict(list)
    lengths: dict[int, list[Tensor]] = defaultdict(list)
    for i in range(score.shape[0]):
        scores[rows.index[i]].append(score[i])
        lengths[rows.index[i]].append(length[i])
    baseline = {}
    for key, found in scores.items():
        weight = torch.stack(lengths[key])
        baseline[key] = (weight * torch.stack(found)).sum() / weight.sum()
    for i in range(score.shape[0]):
        score[i] = score[i] - baseline[rows.index[i]]
    return score.unsqueeze(-1) * rows.mask


def gpg(rows: Rows, p: Parameters) -> Tensor:
    """volcengine/verl b178a3cd core_algos.py:655-717."""
    score = rows.rewards.sum(dim=-1)
    alpha = score.shape[0] / torch.count_nonzero(score).clamp(min=1)
    _, mean, _ = statistics(score, rows.index)
    for i in range(score.shape[0]):
        score[i] = alpha * (score[i] - mean[rows.index[i]]) / p["f_norm"]
    return score.unsqueeze(-1) * rows.mask


def passk(rows: Rows, p: Parameters) -> Tensor:
    """volcengine/verl b178a3cd core_algos.py:360-422."""
    score = rows.rewards.sum(dim=-1)
    advantage = torch.zeros_like(score)
    scores: dict[int, list[Tensor]] = defaultdict(list)
    places: dict[int, list[int]] = defaultdict(list)
    for i in range(score.shape[0]):
        scores[rows.index[i]].append(score[i])
        places[rows.index[i]].append(i)
    for key, found in scores.items():
        stacked = torch.stack(found)
        best, where = torch.topk(stacked, 2)
        advantage[places[key][int(where[0].item())]] = (best[0] - best[1]) / (torch.std(stacked) + p["eps"])
    return advantage.unsqueeze(-1) * rows.mask


def gae(rows: Rows, p: Parameters) -> Tensor:
    """volcengine/verl b178a3cd core_algos.py:214-262: a loop over columns, already on all rows at once."""
    return whiten(
        columns_backwards(rows.rewards, rows.values, rows.mask, p["token_gamma"], p["lam"]), rows.mask
    )


def gae_turn(rows: Rows, p: Parameters) -> Tensor:
    """The same loop with turns for columns, and not whitened."""
    everything = torch.ones_like(rows.turn_rewards)
    return columns_backwards(rows.turn_rewards, rows.turn_values, everything, p["gamma"], p["lam"])


def bi_level_gae(rows: Rows, p: Parameters) -> Tensor:
    """RAGEN-AI/RAGEN 5eb79b82 ragen/trainer/core_algos.py:4-92; its search in a tensor is one in a set here."""
    advantages, updated = torch.zeros_like(rows.rewards), rows.rewards.clone()
    for b in range(rows.rewards.shape[0]):
        ends = rows.rewards[b].nonzero(as_tuple=True)[0].tolist()
        last: Any = 0.0
        for i in range(len(ends) - 1, -1, -1):
            following = rows.values[b, ends[i + 1]] if i < len(ends) - 1 else 0.0
            delta = updated[b, ends[i]] + p["gamma"] * following - rows.values[b, ends[i]]
            last = delta + p["gamma"] * p["lam"] * last
            advantages[b, ends[i]] = last
        for end in ends:
            updated[b, end] = advantages[b, end] + rows.values[b, end]
        last, stops = 0.0, set(ends)
        valid = rows.mask[b].nonzero(as_tuple=True)[0].tolist()
        for i in range(len(valid) - 1, -1, -1):
            if valid[i] in stops:
                following, last = 0.0, 0.0
            else:
                following = rows.values[b, valid[i + 1]]
            delta = updated[b, valid[i]] + p["token_gamma"] * following - rows.values[b, valid[i]]
            last = delta + p["token_gamma"] * p["lam"] * last
            advantages[b, valid[i]] = last
    return whiten(advantages, rows.mask)


def vineppo(rows: Rows, _p: Parameters) -> list[list[float]]:
    """McGill-NLP/VinePPO efe72284 math_episode_generator_with_mc_advantages.py:329-434, without its text."""
    rewards, result = rows.turn_rewards.tolist(), []
    for reward, rollouts in zip(rewards, rows.rollouts, strict=True):
        value = [float(np.mean(found)) for found in rollouts] + [0.0]
        result.append([r + value[t + 1] - value[t] for t, r in enumerate(reward)])
    return result


def gtpo(rows: Rows, p: Parameters) -> list[list[float]]:
    """teilomillet/retrain 19db12f9 advantages/credit.py: lists; GRPO's advantages before it are verl's loop."""
    score = rows.outcome.clone()
    _, mean, std = statistics(score, rows.index)
    result = []
    for i, surprisal in enumerate(rows.surprisal):
        advantage = float((score[i] - mean[rows.index[i]]) / (std[rows.index[i]] + p["eps"]))
        capped = [min(value, p["cap"]) for value in surprisal]
        centre = sum(capped) / len(capped)
        result.append([advantage * max(0.0, 1.0 + p["beta"] * (h / centre - 1.0)) for h in capped])
    return result
