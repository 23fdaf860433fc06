"""One random batch for all sides: columns, tensors of rows, and lists of dictionaries."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from benchmarks.loops.rows import Array, Rows

from equipoise_conditions import Boundary, Context, Continuations, Replays, Trajectories, Verdicts

TOKENS = 3  # of each turn, all in the loss
GROUP = 8  # trajectories of each task
STATES = 40  # of each task


@dataclass(frozen=True)
class Data:
    """A batch and what was measured for it."""

    trajectories: Trajectories
    context: Context

    def again(self) -> Trajectories:
        """Return the batch anew, without derived columns."""
        return Trajectories(**self.trajectories.columns)  # type: ignore[arg-type]


def random_data(n: int, turns: int) -> Data:
    """Return `n` trajectories in groups, with random outcomes of 0 and 1, rewards, states and measurements."""
    rng = np.random.default_rng(0)
    total = n * turns
    task = np.arange(n) // GROUP
    outcome = rng.integers(0, 2, n).astype(float)
    reward = 0.1 * rng.normal(size=total)
    reward[turns - 1 :: turns] += outcome
    # Keys as an environment makes them: hashes of (task, state), not small numbers.
    names = rng.integers(-(2**62), 2**62, (int(task.max()) + 1, STATES))
    batch = Trajectories(
        task=task,
        outcome=outcome,
        turn_offsets=np.arange(n + 1) * turns,
        parent=np.full(n, -1),
        branch=np.zeros(n, dtype=np.int64),
        state=names[np.repeat(task, turns), rng.integers(0, STATES, total)],
        action=rng.integers(0, 5, total),
        n_actions=np.full(total, 5),
        reward=reward,
        token_offsets=np.arange(total + 1) * TOKENS,
        logprob=-rng.exponential(size=total * TOKENS),
        entropy=rng.exponential(size=total * TOKENS),
        agent=rng.integers(0, 2, total),
        token=rng.integers(0, 5, total * TOKENS),
    )
    defined = np.zeros(total, dtype=np.int64)
    context = Context(
        hindsight=-rng.exponential(size=total),
        replays=Replays(
            defined,
            rng.integers(0, 2, (total, 3)).astype(float),
            rng.integers(0, 2, (total, 4, 3)).astype(float),
        ),
        continuations=Continuations(defined, rng.random((total, 3))),
        values=rng.random(total),
        token_values=rng.random(total * TOKENS),
        step_scores=rng.random(total),
        gold=Boundary(-rng.random(n), -rng.random(total)),
        judge=Verdicts(rng.choice([-1.0, 1.0], (total, 1)), np.ones(total, dtype=np.bool_)),
        log_ratio=rng.normal(size=total * TOKENS),
    )
    return Data(batch, context)


def given(value: Any) -> Any:
    """Return a measured column, which is there."""
    assert value is not None
    return value


def tensor(value: Array, *shape: int) -> torch.Tensor:
    return torch.from_numpy(np.array(value, dtype=np.float64).reshape(shape))


def rows_of(data: Data) -> Rows:
    """Return the batch as published functions take it."""
    t, context = data.trajectories, data.context
    n, total = t.n, t.n_turns
    last = np.arange(1, total + 1) * TOKENS - 1

    def placed(value: Array) -> torch.Tensor:
        tokens = np.zeros(t.n_tokens)
        tokens[last] = value
        return tensor(tokens, n, -1)

    def rewards(before: Array, after: Array) -> torch.Tensor:
        boundary = np.concatenate([before[:, None], after.reshape(n, -1)], axis=1)
        gain = np.diff(boundary, axis=1)
        gain[:, -1] = t.outcome
        return placed(gain.ravel())

    gold = given(context.gold)
    return Rows(
        index=t.group.copy(),
        rewards=placed(t.reward),
        mask=torch.ones(n, t.n_tokens // n, dtype=torch.float64),
        values=tensor(given(context.token_values), n, -1),
        log_gains=rewards(gold.before, gold.after),
        gains=rewards(np.exp(gold.before), np.exp(gold.after)),
        outcome=tensor(t.outcome, n),
        surprisal=(-t.logprob).reshape(n, -1).tolist(),
        turn_rewards=tensor(t.reward, n, -1),
        turn_values=tensor(given(context.values), n, -1),
        flags=(given(context.judge).score[:, 0] > 0).reshape(n, -1).tolist(),
        rollouts=given(context.continuations).outcome.reshape(n, total // n, -1).tolist(),
        turn_index=t.group_of_turn.copy(),
        walk=t.trajectory_of_turn.copy(),
        anchor=t.state.copy(),
        agent=t.agent.copy(),
        turn_scores=placed(t.outcome[t.trajectory_of_turn]).reshape(total, TOKENS),
        turn_mask=torch.ones(total, TOKENS, dtype=torch.float64),
        step_rewards=t.reward.copy(),
        implicit=tensor(given(context.log_ratio), total, TOKENS),
    )


def dictionaries(data: Data) -> list[dict[str, Any]]:
    """Return the batch as a rollout loop holds it: a dictionary for each trajectory and for each turn."""
    t, context = data.trajectories, data.context
    per_turn = {
        "state": t.state,
        "reward": t.reward,
        "agent": t.agent,
        "value": given(context.values),
        "score": given(context.step_scores),
        "gold": given(context.gold).after,
        "hindsight": given(context.hindsight),
        "rollouts": given(context.continuations).outcome,
        "factual": given(context.replays).factual,
        "alternative": given(context.replays).alternative,
        "token": t.token.reshape(-1, TOKENS),
        "token_reward": t.token_reward.reshape(-1, TOKENS),
        "entropy": t.entropy.reshape(-1, TOKENS),
        "log_ratio": given(context.log_ratio).reshape(-1, TOKENS),
    }
    lists = [column.tolist() for column in per_turn.values()]
    turns = [dict(zip(per_turn, values, strict=True)) for values in zip(*lists, strict=True)]
    before = given(context.gold).before.tolist()
    return [
        {
            "group": group,
            "outcome": outcome,
            "gold": gold,
            "turns": turns[int(t.turn_offsets[i]) : int(t.turn_offsets[i + 1])],
        }
        for i, (group, outcome, gold) in enumerate(
            zip(t.group.tolist(), t.outcome.tolist(), before, strict=True)
        )
    ]
