"""Small batches for the tests of credit rules."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from equipoise_conditions import Trajectories

Batch = Callable[..., Trajectories]


def make_batch(
    *,
    outcome: list[float],
    lengths: list[int],
    task: list[int] | None = None,
    parent: list[int] | None = None,
    branch: list[int] | None = None,
    **columns: Any,
) -> Trajectories:
    n, turns = len(outcome), sum(lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    reward = np.zeros(turns)
    reward[offsets[1:] - 1] = outcome
    defaults: dict[str, Any] = {
        "state": np.arange(turns),
        "action": np.zeros(turns, dtype=int),
        "n_actions": np.full(turns, 3),
        "reward": reward,
        "token_offsets": np.arange(turns + 1),
    }
    values = defaults | columns
    tokens = int(values["token_offsets"][-1])
    values.setdefault("logprob", np.full(tokens, -1.0))
    values.setdefault("entropy", np.ones(tokens))
    return Trajectories(
        task=task or [0] * n,  # type: ignore[arg-type]
        outcome=outcome,  # type: ignore[arg-type]
        turn_offsets=offsets,
        parent=parent or [-1] * n,  # type: ignore[arg-type]
        branch=branch or [0] * n,  # type: ignore[arg-type]
        **values,
    )


def make_forest(seed: int, *, tasks: int = 3, collected: int = 4, forks: int = 6) -> Trajectories:
    """Return a random batch with forks, some of them forks of forks, in the order of their making."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for task in range(tasks):
        own: list[int] = []
        for k in range(collected + forks):
            parent = -1 if k < collected else int(rng.choice(own))
            length = int(rng.integers(1, 6))
            branch = 0
            state = rng.integers(0, 4, length) + 10 * task
            action = rng.integers(0, 3, length)
            if parent >= 0:
                branch = int(rng.integers(0, len(rows[parent]["state"])))
                state = np.concatenate([rows[parent]["state"][: branch + 1], state[1:]])
                action = np.concatenate([rows[parent]["action"][:branch], action])
            own.append(len(rows))
            rows.append(
                {"task": task, "parent": parent, "branch": branch, "state": state, "action": action}
                | {"outcome": float(rng.integers(0, 2))}
            )
    lengths = [row["state"].size for row in rows]
    turns = sum(lengths)
    return make_batch(
        outcome=[row["outcome"] for row in rows],
        lengths=lengths,
        task=[row["task"] for row in rows],
        parent=[row["parent"] for row in rows],
        branch=[row["branch"] for row in rows],
        state=np.concatenate([row["state"] for row in rows]),
        action=np.concatenate([row["action"] for row in rows]),
        logprob=-rng.exponential(size=turns),
        entropy=rng.exponential(size=turns),
    )


@pytest.fixture
def batch() -> Batch:
    return make_batch


@pytest.fixture
def forest() -> Batch:
    return make_forest
