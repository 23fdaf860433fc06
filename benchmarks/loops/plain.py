"""The rules as plain loops over lists of dictionaries, as a rollout loop holds them.

These are stricter than published codes: no tensors are indexed one by one, and nothing is written to tokens that
does not differ between tokens. Each returns one number for each unit of its rule's granularity.
"""

import math
from collections import defaultdict
from collections.abc import Hashable
from typing import Any

Turn = dict[str, Any]
Trajectory = dict[str, Any]
Parameters = dict[str, Any]


def z_scores(values: list[float], p: Parameters, std: str = "sample") -> list[float]:
    mean = sum(values) / len(values)
    if len(values) == 1:
        return [0.0]
    divisor = len(values) - (1 if std == "sample" else 0)
    scale = math.sqrt(sum((v - mean) ** 2 for v in values) / divisor) + p["eps"]
    return [(v - mean) / scale for v in values]


def by_key(values: list[float], keys: list[Any], p: Parameters, std: str = "sample") -> list[float]:
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for i, key in enumerate(keys):
        groups[key].append(i)
    result = [0.0] * len(values)
    for members in groups.values():
        for i, z in zip(members, z_scores([values[i] for i in members], p, std), strict=True):
            result[i] = z
    return result


def grpo(batch: list[Trajectory], p: Parameters) -> list[float]:
    return by_key([row["outcome"] for row in batch], [row["group"] for row in batch], p)


def reinforce(batch: list[Trajectory], _p: Parameters) -> list[float]:
    groups: dict[int, list[int]] = defaultdict(list)
    for i, row in enumerate(batch):
        groups[row["group"]].append(i)
    result = [0.0] * len(batch)
    for members in groups.values():
        total = sum(batch[i]["outcome"] for i in members)
        for i in members:
            own = batch[i]["outcome"]
            result[i] = own - (total - own) / (len(members) - 1)
    return result


def opo(batch: list[Trajectory], _p: Parameters) -> list[float]:
    total: dict[int, float] = defaultdict(float)
    length: dict[int, int] = defaultdict(int)
    for row in batch:
        tokens = sum(len(turn["token"]) for turn in row["turns"])
        total[row["group"]] += tokens * row["outcome"]
        length[row["group"]] += tokens
    return [row["outcome"] - total[row["group"]] / length[row["group"]] for row in batch]


def gpg(batch: list[Trajectory], p: Parameters) -> list[float]:
    groups: dict[int, list[float]] = defaultdict(list)
    for row in batch:
        groups[row["group"]].append(row["outcome"])
    mean = {key: sum(found) / len(found) for key, found in groups.items()}
    alpha = len(batch) / max(1, sum(row["outcome"] != 0 for row in batch))
    return [alpha * (row["outcome"] - mean[row["group"]]) / p["f_norm"] for row in batch]


def passk(batch: list[Trajectory], p: Parameters) -> list[float]:
    groups: dict[int, list[int]] = defaultdict(list)
    for i, row in enumerate(batch):
        groups[row["group"]].append(i)
    result = [0.0] * len(batch)
    for members in groups.values():
        scores = [batch[i]["outcome"] for i in members]
        first, second = sorted(range(len(scores)), key=scores.__getitem__)[-1:-3:-1]
        mean = sum(scores) / len(scores)
        std = math.sqrt(sum((v - mean) ** 2 for v in scores) / (len(scores) - 1))
        result[members[first]] = (scores[first] - scores[second]) / (std + p["eps"])
    return result


def to_go(rewards: list[float], gamma: float) -> list[float]:
    running, result = 0.0, []
    for reward in reversed(rewards):
        running = reward + gamma * running
        result.append(running)
    return result[::-1]


def reinforce_pp(batch: list[Trajectory], p: Parameters) -> list[float]:
    value: list[float] = []
    for row in batch:
        value += to_go([r for turn in row["turns"] for r in turn["token_reward"]], p["token_gamma"])
    mean = sum(value) / len(value)
    std = math.sqrt(sum((v - mean) ** 2 for v in value) / (len(value) - 1)) + p["eps"]
    return [(v - mean) / std for v in value]


def gigpo(batch: list[Trajectory], p: Parameters) -> list[float]:
    episode = grpo(batch, p)
    returns: list[float] = []
    keys: list[tuple[int, int]] = []
    for row in batch:
        returns += to_go([turn["reward"] for turn in row["turns"]], p["gamma"])
        keys += [(row["group"], turn["state"]) for turn in row["turns"]]
    step = iter(by_key(returns, keys, p))
    return [e + p["omega"] * next(step) for e, row in zip(episode, batch, strict=True) for _ in row["turns"]]


def gains(row: Trajectory) -> list[float]:
    before, result = math.exp(row["gold"]), []
    for turn in row["turns"][:-1]:
        after = math.exp(turn["gold"])
        result.append(after - before)
        before = after
    return [*result, row["outcome"]]


def igpo(batch: list[Trajectory], p: Parameters) -> list[float]:
    rewards = [gains(row) for row in batch]
    keys = [row["group"] for row in batch for _ in row["turns"]]
    normal = by_key([value for row in rewards for value in row], keys, p)
    result: list[float] = []
    for row in rewards:
        result += to_go(normal[len(result) : len(result) + len(row)], p["gamma"])
    return result


def igpo_token(batch: list[Trajectory], p: Parameters) -> list[float]:
    groups: dict[int, list[list[float]]] = defaultdict(list)
    for row in batch:
        rewards: list[float] = []
        for turn, gain in zip(row["turns"], gains(row), strict=True):
            rewards += [0.0] * (len(turn["token"]) - 1) + [gain]
        groups[row["group"]].append(to_go(rewards, p["gamma"]))
    mean = {
        key: [sum(column) / len(column) for column in zip(*found, strict=True)]
        for key, found in groups.items()
    }
    left = {key: iter(found) for key, found in groups.items()}
    result: list[float] = []
    for row in batch:
        result += [v - m for v, m in zip(next(left[row["group"]]), mean[row["group"]], strict=True)]
    return result


def dr_mas(batch: list[Trajectory], p: Parameters) -> list[float]:
    pairs = [(row, agent) for row in batch for agent in sorted({turn["agent"] for turn in row["turns"]})]
    return by_key([row["outcome"] for row, _ in pairs], [(row["group"], agent) for row, agent in pairs], p)


def istar(batch: list[Trajectory], p: Parameters) -> list[float]:
    rewards = [p["beta"] * sum(turn["log_ratio"]) for row in batch for turn in row["turns"]]
    step = iter(by_key(rewards, [row["group"] for row in batch for _ in row["turns"]], p))
    episode = zip(grpo(batch, p), batch, strict=True)
    return [e + p["omega"] * next(step) for e, row in episode for _ in row["turns"]]


def mt_grpo(batch: list[Trajectory], p: Parameters) -> list[float]:
    first = by_key([row["turns"][0]["reward"] for row in batch], [row["group"] for row in batch], p)
    result: list[float] = []
    for a, b, row in zip(grpo(batch, p), first, batch, strict=True):
        for t, turn in enumerate(row["turns"]):
            result += [a + p["turn_advantage_coef"] * b if t == 0 else a] * len(turn["token"])
    return result


def gae_turn(batch: list[Trajectory], p: Parameters) -> list[float]:
    result: list[float] = []
    for row in batch:
        following, last, found = 0.0, 0.0, []
        for turn in reversed(row["turns"]):
            last = turn["reward"] + p["gamma"] * following - turn["value"] + p["gamma"] * p["lam"] * last
            following = turn["value"]
            found.append(last)
        result += found[::-1]
    return result


def process_reward(batch: list[Trajectory], p: Parameters) -> list[float]:
    return [v for row in batch for v in to_go([turn["score"] for turn in row["turns"]], p["gamma"])]


def vineppo(batch: list[Trajectory], _p: Parameters) -> list[float]:
    result = []
    for row in batch:
        value = [sum(turn["rollouts"]) / len(turn["rollouts"]) for turn in row["turns"]] + [0.0]
        result += [turn["reward"] + value[t + 1] - value[t] for t, turn in enumerate(row["turns"])]
    return result


def c3(batch: list[Trajectory], _p: Parameters) -> list[float]:
    result = []
    for row in batch:
        for turn in row["turns"]:
            others = [sum(found) / len(found) for found in turn["alternative"]]
            result.append(sum(turn["factual"]) / len(turn["factual"]) - sum(others) / len(others))
    return result


def hcapo(batch: list[Trajectory], p: Parameters) -> list[float]:
    value: list[float] = []
    for row in batch:
        likelihood = [math.exp(turn["hindsight"] / p["temperature"]) for turn in row["turns"]]
        mean, last = sum(likelihood) / len(likelihood), len(likelihood) - 1
        for t, found in enumerate(likelihood):
            ratio = min(max(found / mean, p["clip_low"]), p["clip_high"])
            value.append(ratio * p["gamma"] ** (last - t) * row["outcome"])
    step = iter(by_key(value, [row["group"] for row in batch for _ in row["turns"]], p, p["micro_std"]))
    result = []
    for episode, row in zip(grpo(batch, p), batch, strict=True):
        for _ in row["turns"]:
            z = next(step)
            result.append(episode + p["omega"] * (max(z, 0.0) if row["outcome"] >= p["success"] else z))
    return result


def gtpo(batch: list[Trajectory], p: Parameters) -> list[float]:
    result: list[float] = []
    for advantage, row in zip(grpo(batch, p), batch, strict=True):
        capped = [min(h, p["cap"]) for turn in row["turns"] for h in turn["entropy"]]
        mean = sum(capped) / len(capped)
        result += [advantage * max(0.0, 1.0 + p["beta"] * (h / mean - 1.0)) for h in capped]
    return result


def tempo(batch: list[Trajectory], p: Parameters) -> list[float]:
    sequences = [
        [
            (token, turn["state"] if k == 0 else None)
            for turn in row["turns"]
            for k, token in enumerate(turn["token"])
        ]
        for row in batch
    ]
    value = [[a] * len(tokens) for a, tokens in zip(grpo(batch, p), sequences, strict=True)]
    groups: dict[int, list[int]] = defaultdict(list)
    for i, row in enumerate(batch):
        groups[row["group"]].append(i)
    nodes = [(members, 0) for members in groups.values()]
    while nodes:
        members, depth = nodes.pop()
        for arrived in split([i for i in members if depth < len(sequences[i])], sequences, depth, 1):
            before = sum(batch[i]["outcome"] for i in arrived) / len(arrived)
            for chosen in split(arrived, sequences, depth, 0):
                if len(chosen) < len(arrived):
                    after = sum(batch[i]["outcome"] for i in chosen) / len(chosen)
                    for i in chosen:
                        value[i][depth] += after - before
                if len(chosen) > 1:
                    nodes.append((chosen, depth + 1))
    return [v for row in value for v in row]


def split(members: list[int], sequences: list[Any], depth: int, part: int) -> list[list[int]]:
    found: dict[Hashable, list[int]] = defaultdict(list)
    for i in members:
        found[sequences[i][depth][part]].append(i)
    return list(found.values())
