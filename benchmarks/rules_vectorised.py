"""How much faster the rules are on whole columns than a plain loop written from the same formulas.

    python benchmarks/rules_vectorised.py [--trajectories 4096] [--turns 50] [--repeats 5]

Prints one JSON object. Both sides get the same data in the form that suits them: columns, or lists of
dictionaries as a rollout loop makes them. Results are compared before they are timed.
"""

import argparse
import json
import math
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from equipoise_conditions import RULES, Context, Trajectories

Turn = dict[str, Any]


def random_batch(trajectories: int, turns: int, per_task: int = 8, states: int = 40) -> Trajectories:
    rng = np.random.default_rng(0)
    total = trajectories * turns
    task = np.arange(trajectories) // per_task
    outcome = rng.integers(0, 2, trajectories).astype(float)
    reward = np.zeros(total)
    reward[turns - 1 :: turns] = outcome
    # Keys as an environment makes them: hashes of (task, state), not small numbers.
    names = rng.integers(-(2**62), 2**62, (int(task.max()) + 1, states))
    state = names[np.repeat(task, turns), rng.integers(0, states, total)]
    return Trajectories(
        task=task,
        outcome=outcome,
        turn_offsets=np.arange(trajectories + 1) * turns,
        parent=np.full(trajectories, -1),
        branch=np.zeros(trajectories, dtype=np.int64),
        state=state,
        action=np.zeros(total, dtype=np.int64),
        n_actions=np.ones(total, dtype=np.int64),
        reward=reward,
        token_offsets=np.arange(total + 1),
        logprob=np.zeros(total),
        entropy=np.zeros(total),
    )


def as_lists(t: Trajectories) -> list[list[Turn]]:
    rows: list[list[Turn]] = []
    for i in range(t.n):
        turns = range(int(t.turn_offsets[i]), int(t.turn_offsets[i + 1]))
        rows.append(
            [
                {"task": int(t.task[i]), "outcome": float(t.outcome[i])}
                | {"state": int(t.state[k]), "reward": float(t.reward[k])}
                for k in turns
            ]
        )
    return rows


def z_scores(values: list[float]) -> list[float]:
    mean = sum(values) / len(values)
    if len(values) == 1:
        return [0.0]
    std = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))
    return [(v - mean) / (std + 1e-6) for v in values]


def grpo_loop(rows: list[list[Turn]]) -> list[float]:
    groups: dict[int, list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        groups[row[0]["task"]].append(i)
    advantage = [0.0] * len(rows)
    for members in groups.values():
        for i, z in zip(members, z_scores([rows[i][0]["outcome"] for i in members]), strict=True):
            advantage[i] = z
    return [advantage[i] for i, row in enumerate(rows) for _ in row]


def gigpo_loop(rows: list[list[Turn]]) -> list[float]:
    episode = grpo_loop(rows)
    returns: list[float] = []
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row in rows:
        total, mine = 0.0, []
        for turn in reversed(row):
            total = turn["reward"] + 0.95 * total
            mine.append(total)
        for turn, value in zip(row, reversed(mine), strict=True):
            groups[turn["task"], turn["state"]].append(len(returns))
            returns.append(value)
    step = [0.0] * len(returns)
    for members in groups.values():
        for k, z in zip(members, z_scores([returns[k] for k in members]), strict=True):
            step[k] = z
    return [e + s for e, s in zip(episode, step, strict=True)]


def seconds(run: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


def apply_to_next(name: str, batches: list[Trajectories]) -> None:
    RULES[name].apply(batches.pop(), Context())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trajectories", type=int, default=4096)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    batch = random_batch(arguments.trajectories, arguments.turns)
    rows = as_lists(batch)
    columns = batch.columns
    result: dict[str, Any] = {"trajectories": batch.n, "turns": batch.n_turns}
    for name, loop in (("grpo", grpo_loop), ("gigpo", gigpo_loop)):
        credit = RULES[name].apply(batch, Context())
        difference = float(np.abs(credit.value - np.array(loop(rows))).max())
        assert difference < 1e-8, f"{name}: the loop and the rule differ by {difference}"
        # A new batch each time, so that no derived column is cached; its checks are timed apart.
        batches = [Trajectories(**columns) for _ in range(arguments.repeats)]  # type: ignore[arg-type]
        rule = seconds(partial(apply_to_next, name, batches), arguments.repeats)
        plain = seconds(partial(loop, rows), max(2, arguments.repeats // 2))
        result[name] = {
            "rule_seconds": round(rule, 5),
            "loop_seconds": round(plain, 5),
            "ratio": round(plain / rule, 1),
            "largest_difference": difference,
        }
    result["check_batch_seconds"] = round(
        seconds(lambda: Trajectories(**columns), arguments.repeats),  # type: ignore[arg-type]
        5,
    )
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
