"""iStar's advantages: rows of environment steps, each with the reward of its episode and of itself."""

from typing import Any

import numpy as np
from tests.golden.adapter import Adapter

from equipoise_conditions import RULES, Context, Trajectories

__all__ = ["ADAPTERS"]


def batch_of(inputs: dict[str, Any]) -> tuple[Trajectories, Any]:
    """Return rows of steps as a batch with one token a turn, and the row that each turn comes from."""
    names = [f"{uid} {walk}" for uid, walk in zip(inputs["uid"], inputs["traj_uid"], strict=True)]
    _, first, trajectory = np.unique(names, return_index=True, return_inverse=True)
    order = np.argsort(trajectory, kind="stable")
    turns = len(order)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(trajectory))])
    group = np.unique(inputs["uid"], return_inverse=True)[1][first]
    score = np.array(inputs["token_level_rewards"], dtype=float).sum(axis=1)
    t = Trajectories(
        task=group,
        outcome=score[first],
        turn_offsets=offsets,
        parent=np.full(first.size, -1),
        branch=np.zeros(first.size, dtype=int),
        state=np.arange(turns),
        action=np.zeros(turns, dtype=int),
        n_actions=np.ones(turns, dtype=int),
        reward=np.zeros(turns),
        token_offsets=np.arange(turns + 1),
        logprob=np.full(turns, -1.0),
        entropy=np.ones(turns),
    )
    return t, order


def istar_advantage(inputs: dict[str, Any]) -> Any:
    t, order = batch_of(inputs)
    mask = np.array(inputs["response_mask"], dtype=float)
    # The reference is handed step rewards: beta 1 and no scaling make them of log-ratios.
    step = np.array(inputs["rm_scores"], dtype=float).sum(axis=1)[order]
    preset = {"mean_norm": "istar-grpo", "mean_std_norm": "istar-grpo-std"}.get(inputs["mode"], "istar-rloo")
    params = {"preset": preset, "beta": 1.0, "scale": "none", "omega": inputs["step_advantage_w"]}
    if inputs["use_process_only"]:
        params["omega"] = 1.0
    value = RULES["istar"].apply(t, Context(log_ratio=step), params).value
    if inputs["use_process_only"]:
        value = value - RULES["istar"].apply(t, Context(log_ratio=step), params | {"omega": 0.0}).value
    rows = np.empty(value.size)
    rows[order] = value
    return (rows[:, None] * mask).tolist()


ADAPTERS = {"istar_advantage": Adapter(istar_advantage)}
