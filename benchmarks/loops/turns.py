"""Loops of published codes on turns, restated.

Restated from the behaviour of the codes named at each function; none of their text is here. Tensors are in
double precision, so that results can be compared to 1e-6. Where a published loop is quadratic in the rows, the
loop here is not: the difference is to the published code's advantage.
"""

import math
import uuid
from collections import defaultdict
from typing import Any

import numpy as np
import torch
from benchmarks.loops.rows import Parameters, Rows, relative, statistics
from torch import Tensor


def gigpo(rows: Rows, p: Parameters) -> Tensor:
    """langfengQ/verl-agent, in langfengQ/DrMAS a64f4e09 gigpo/core_gigpo.py; one vote a trajectory: 19c632bc.

    Its returns search all rows for each row, which would take hours here: rows are gathered once instead.
    """
    step: Tensor = p["omega"] * step_term(rows, p)
    return episode_term(rows, p) + step


def episode_term(rows: Rows, p: Parameters) -> Tensor:
    score = rows.turn_scores.sum(dim=-1)
    members: dict[int, list[Tensor]] = defaultdict(list)
    seen = set()
    for i in range(score.shape[0]):
        if (rows.turn_index[i], rows.walk[i]) in seen:
            continue
        members[rows.turn_index[i]].append(score[i])
        if p.get("vote") != "turn":
            seen.add((rows.turn_index[i], rows.walk[i]))
    return (
        relative(score, rows.turn_index, members, p, mean_of_one=0.0)
        .unsqueeze(-1)
        .tile([1, rows.turn_mask.shape[1]])
        * rows.turn_mask
    )


def step_term(rows: Rows, p: Parameters) -> Tensor:
    turns: dict[int, list[int]] = defaultdict(list)
    for i in range(rows.walk.size):
        turns[rows.walk[i]].append(i)
    returns = np.zeros_like(rows.step_rewards)
    for found in turns.values():
        running = 0.0
        for i in reversed(found):
            running = rows.step_rewards[i] + p["gamma"] * running
            returns[i] = running
    names = np.empty(rows.walk.size, dtype=object)
    for key in np.unique(rows.turn_index):
        clusters: dict[Any, list[int]] = defaultdict(list)
        for i in np.where(rows.turn_index == key)[0]:
            clusters[rows.anchor[i]].append(i)
        for found in clusters.values():
            name = str(uuid.uuid4())
            for i in found:
                names[i] = name
    score = torch.tensor(returns)
    members: dict[str, list[Tensor]] = defaultdict(list)
    for i in range(score.shape[0]):
        members[names[i]].append(score[i])
    return (
        relative(score, names, members, p).unsqueeze(-1).tile([1, rows.turn_mask.shape[1]]) * rows.turn_mask
    )


def dr_mas(rows: Rows, p: Parameters) -> Tensor:
    """langfengQ/DrMAS 19c632bc core_algos.py with group_by_agent_id: GRPO over rows of a group and an agent."""
    score = rows.turn_scores.sum(dim=-1)
    keys = [(group, agent) for group, agent in zip(rows.turn_index, rows.agent, strict=True)]
    _, mean, std = statistics(score, keys)
    for i in range(score.shape[0]):
        score[i] = (score[i] - mean[keys[i]]) / (std[keys[i]] + p["eps"])
    return score.unsqueeze(-1) * rows.turn_mask


def istar(rows: Rows, p: Parameters) -> Tensor:
    """Tongyi-ConvAI/Qwen-Character 1de87a22 istar/core_istar.py: one row of each trajectory sets the baseline."""
    reward = p["beta"] * (rows.implicit * rows.turn_mask).sum(dim=-1)
    reward = reward / (reward.abs().max() + 1e-6)
    members: dict[int, list[Tensor]] = defaultdict(list)
    seen = set()
    for i in range(reward.shape[0]):
        if (rows.turn_index[i], rows.walk[i]) in seen:
            continue
        members[rows.turn_index[i]].append(reward[i])
        seen.add((rows.turn_index[i], rows.walk[i]))
    step: Tensor = p["omega"] * relative(reward, rows.turn_index, members, p, mean_of_one=0.0)
    return episode_term(rows, p) + step.unsqueeze(-1) * rows.turn_mask


def igpo(rows: Rows, p: Parameters) -> Tensor:
    """debajoycs98/IGPO 86601963 core_algos.py:28-95, 182-324, normalised apart; its gains are given."""
    last = rows.mask.sum(dim=1).long() - 1
    place = torch.arange(rows.mask.shape[1]).unsqueeze(0).expand_as(rows.mask)
    is_outcome = (place == last.unsqueeze(1)) & (rows.mask == 1)
    is_gain = (rows.mask == 1) & ~is_outcome & (rows.log_gains != 0)
    _, inverse = np.unique(rows.index, return_inverse=True)
    group = torch.from_numpy(inverse).unsqueeze(1).expand_as(place)
    normal = torch.zeros_like(rows.log_gains)
    for chosen in (is_outcome, is_gain):
        value, of = rows.log_gains[chosen], group[chosen]
        empty = torch.zeros(int(inverse.max()) + 1, dtype=torch.float64)
        count = empty.scatter_add(0, of, torch.ones_like(value)).clamp(min=1.0)
        mean = empty.scatter_add(0, of, value) / count
        std = torch.sqrt(empty.scatter_add(0, of, (value - mean[of]) ** 2) / count + 1e-8)
        std = torch.where(count <= 1, torch.ones_like(std), std)
        normal = torch.where(chosen, (rows.log_gains - mean[group]) / (std[group] + p["eps"]), normal)
    result = torch.zeros_like(normal)
    for row in range(normal.shape[0]):
        rewards, mask = normal[row], rows.mask[row]
        ends, following, sums = (rewards != 0).nonzero(as_tuple=True)[0].tolist(), 0.0, []
        for end in reversed(ends):
            following = rewards[end].item() + p["gamma"] * following
            sums.append((end, following))
        start = 0
        for end, value in reversed(sums):
            for t in range(start, end + 1):
                if mask[t] == 1:
                    result[row, t] = value
            start = end + 1
    return result


def igpo_token(rows: Rows, p: Parameters) -> Tensor:
    """GuoqingWang1/IGPO bff163b7 core_algos.py:200-254: columns backwards on all rows at once, then row by row."""
    returns, following = torch.zeros_like(rows.gains), torch.zeros(rows.gains.shape[0])
    for t in reversed(range(rows.gains.shape[1])):
        current = rows.gains[:, t] + p["gamma"] * following
        returns[:, t] = current
        following = current * rows.mask[:, t]
    members: dict[int, list[Tensor]] = defaultdict(list)
    for i in range(returns.shape[0]):
        members[rows.index[i]].append(returns[i])
    mean, std = {}, {}
    for key, found in members.items():
        stacked = torch.stack(found, dim=0)
        mean[key], std[key] = stacked.mean(dim=0), stacked.std(dim=0)  # the deviation is not used, as there
    advantages = torch.zeros_like(returns)
    for i in range(returns.shape[0]):
        advantages[i] = returns[i] - mean[rows.index[i]]
    return advantages * rows.mask


def mt_grpo(rows: Rows, p: Parameters) -> Tensor:
    """SiliangZeng/Multi-Turn-RL-Agent 7dbdd08b mt_grpo_env_trainer.py:172-208; the first turn's end is given."""
    tokens = rows.mask.shape[1] // rows.turn_rewards.shape[1]
    _, at = np.unique(rows.index, return_inverse=True)
    size = int(np.bincount(at)[0])

    def normal(score: Tensor) -> Tensor:
        blocks = score.view(-1, size)  # groups are blocks of rows there
        mean = blocks.mean(dim=1).repeat_interleave(size, dim=0)
        scaled: Tensor = (score - mean) / (blocks.std(dim=1).repeat_interleave(size, dim=0) + p["eps"])
        return scaled

    first = rows.turn_rewards[:, 0].clone()
    turn, outcome, result = normal(first), normal(rows.outcome), torch.zeros_like(rows.mask)
    for i in range(rows.mask.shape[0]):
        result[i, :tokens] = outcome[i] + p["turn_advantage_coef"] * turn[i]
        result[i, tokens:] = outcome[i]
    return result * rows.mask


def adca_grpo(rows: Rows, p: Parameters) -> Tensor:
    """modelscope/AgentEvolver a5a8db86 adca_grpo.py, its scheme decouple without what it prints and monitors."""
    steps = [[p["base"] if good else -p["base"] for good in flags] for flags in rows.flags]
    groups: dict[int, list[int]] = {}
    for i, key in enumerate(rows.index.tolist()):
        groups.setdefault(int(key), []).append(i)
    outcomes, outcome = rows.outcome.tolist(), [0.0] * len(steps)
    for found in groups.values():
        mean = sum(math.fsum(steps[i]) / len(steps[i]) for i in found) / len(found)
        spread = sum(math.fsum((x - mean) * (x - mean) for x in steps[i]) / len(steps[i]) for i in found)
        inverse = 1.0 / (math.sqrt(spread / len(found) + p["variance_eps"]) + p["eps"])
        for i in found:
            steps[i] = [(x - mean) * inverse for x in steps[i]]
        scores = torch.tensor([outcomes[i] for i in found], dtype=torch.float64)
        centre, std = scores.mean().item(), scores.std(unbiased=False).item()
        for i in found:
            outcome[i] = (outcomes[i] - centre) / (1.0 if std <= 1e-8 else std + p["eps"])
    result = torch.zeros_like(rows.mask)
    tokens = rows.mask.shape[1] // rows.turn_rewards.shape[1]
    step_of = torch.arange(rows.mask.shape[1]) // tokens
    for i, found in enumerate(steps):
        running, sums = 0.0, []
        for j, value in enumerate(reversed(found)):
            running += p["alpha"] * value + (outcome[i] if j == 0 else 0.0)
            sums.append(running)
        result[i] = torch.tensor(sums[::-1], dtype=torch.float64)[step_of]
    return result * rows.mask
