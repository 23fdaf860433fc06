"""Group-relative outcome rules: GRPO in its published forms, pass@k, OPO and GPG."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from tests.golden.adapter import Adapter

from equipoise_conditions import Context, Trajectories, find_rule
from equipoise_conditions.projection import to_tokens
from equipoise_conditions.rules.outcome.objectives import combined_rewards

__all__ = ["ADAPTERS"]


def trajectories(rows: Any, mask: Any, group: Any) -> Trajectories:
    """Return one trajectory of one turn for each row; its score is in its token rewards only."""
    rows = np.asarray(rows, dtype=np.float64)
    n, width = rows.shape
    return Trajectories(
        task=np.asarray(group, dtype=np.int64),
        outcome=np.zeros(n),
        turn_offsets=np.arange(n + 1),
        parent=np.full(n, -1),
        branch=np.zeros(n, dtype=np.int64),
        state=np.arange(n),
        action=np.zeros(n, dtype=np.int64),
        n_actions=np.ones(n, dtype=np.int64),
        reward=np.zeros(n),
        token_offsets=np.arange(0, n * width + 1, width),
        logprob=np.zeros(n * width),
        entropy=np.zeros(n * width),
        mask=np.asarray(mask, dtype=np.bool_).ravel(),
        token_reward=rows.ravel(),
    )


def episodes(score: Any, group: Any) -> Trajectories:
    """Return one trajectory of one token for each score, which is both its outcome and its reward."""
    score = np.asarray(score, dtype=np.float64)
    made = trajectories(score[:, None], np.ones((score.size, 1)), group)
    return replace(made, outcome=score, reward=score)


def labels(index: Any) -> Any:
    return np.unique(np.array([str(label) for label in index]), return_inverse=True)[1]


def unscored(inputs: dict[str, Any]) -> Any:
    """Return which rows share a group with a reward that is no number: such a batch is refused here."""
    group = labels(inputs["index"])
    holes = ~np.isfinite(np.array(inputs["token_level_rewards"], dtype=float)).all(axis=1)
    return np.isin(group, group[holes])


def verl(inputs: dict[str, Any], rule: str, preset: Callable[[dict[str, Any]], str]) -> dict[str, Any]:
    rewards = np.array(inputs["token_level_rewards"], dtype=float)
    mask, group = np.array(inputs["response_mask"]), labels(inputs["index"])
    use = ~unscored(inputs)
    value = np.full(rewards.shape, np.nan)
    if use.any():
        t = trajectories(rewards[use], mask[use], group[use])
        credit = to_tokens(find_rule(rule).apply(t, Context(), {"preset": preset(inputs)}), t)
        value[use] = np.where(credit.defined, credit.value, 0.0).reshape(-1, rewards.shape[1])
    return {"advantages": value.tolist(), "returns": value.tolist()}


def named(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda inputs: name


def verl_grpo(inputs: dict[str, Any], *, form: str) -> dict[str, Any]:
    scaled = inputs.get("norm_adv_by_std_in_grpo", True)
    return verl(inputs, "grpo", named(form if scaled else f"{form}-without-std"))


def verl_passk(inputs: dict[str, Any]) -> dict[str, Any]:
    scaled = (inputs.get("config") or {}).get("norm_adv_by_std_in_grpo", True)
    return verl(inputs, "passk", named("verl" if scaled else "verl-without-std"))


def wide(rows: Any, inputs: dict[str, Any]) -> list[list[bool]]:
    shape = np.array(inputs["response_mask"]).shape
    return np.broadcast_to(np.asarray(rows)[:, None], shape).tolist()  # type: ignore[no-any-return]


def scored_groups(inputs: dict[str, Any]) -> list[list[bool]]:
    return wide(~unscored(inputs), inputs)


def scored_batch(inputs: dict[str, Any]) -> list[list[bool]]:
    """One reward that is no number spoils the factor of the whole batch."""
    used = ~unscored(inputs)
    return wide(used & used.all(), inputs)


def weighted_groups(inputs: dict[str, Any]) -> list[list[bool]]:
    """The reference divides by 0 in a group without a valid token; ours leaves its credit undefined."""
    group, valid = labels(inputs["index"]), np.array(inputs["response_mask"]).sum(axis=1)
    return wide(~unscored(inputs) & (np.bincount(group, valid)[group] > 0), inputs)


def resolved_groups(inputs: dict[str, Any]) -> list[list[bool]]:
    """Leave out groups whose scores lie so close together that single precision loses their deviation.

    The reference takes sums and sums of squares in single precision: scores that differ by a tenth of their
    size or less lose two digits or more of the seven, and what it divides in a group of equal decimal
    fractions is rounding. Ours is exact.
    """
    rewards = np.array(inputs["token_level_rewards"], dtype=float)
    score, group = rewards.sum(axis=1), labels(inputs["index"])
    largest, low, high = (np.full(group.max() + 1, start) for start in (0.0, np.inf, -np.inf))
    np.fmax.at(largest, group, np.abs(score))
    np.fmin.at(low, group, score)
    np.fmax.at(high, group, score)
    rounded = np.bincount(group, score != score.astype(np.float32)) > 0
    close = (high - low < 0.1 * largest) & (rounded | (high != low))
    lost = close[group] & bool(inputs.get("norm_adv_by_std_in_grpo", True))
    return wide(~unscored(inputs) & ~lost, inputs)


def values(t: Trajectories, preset: str, rule: str = "grpo") -> Any:
    return find_rule(rule).apply(t, Context(), {"preset": preset}).value


def blocks(n: int, size: int) -> Any:
    return np.arange(n) // size


def dr_grpo(inputs: dict[str, Any]) -> list[float]:
    rows = np.array(inputs["rewards"], dtype=float)
    t = trajectories(rows, np.ones_like(rows), blocks(len(rows), inputs["num_samples"]))
    preset = {"drgrpo": "dr-grpo", "grpo": "dr-grpo-with-std"}[inputs["critic_type"]]
    return values(t, preset).tolist()  # type: ignore[no-any-return]


def trl(inputs: dict[str, Any]) -> list[float]:
    rewards = np.array(inputs["rewards_per_func"], dtype=float)
    weights = np.array(inputs["reward_weights"], dtype=float)
    group = blocks(len(rewards), inputs["num_generations"])
    preset = {"group": "trl", "batch": "trl-batch", "none": "trl-without-std"}[inputs["scale_rewards"]]
    if inputs["multi_objective_aggregation"] == "normalize_then_sum":
        score = combined_rewards(rewards, weights, within=group)
        group, preset = np.zeros_like(group), "trl"
    else:
        score = combined_rewards(rewards, weights)
    # A trajectory that no function scored is no part of the batch; the reference keeps it, with 0.
    use = ~np.isnan(score)
    value = np.zeros(score.size)
    if use.any():
        value[use] = values(episodes(score[use], group[use]), preset)
    return value.tolist()


def cts(inputs: dict[str, Any]) -> list[list[float]]:
    rows = inputs["rewards"]
    group = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    value = values(episodes(np.concatenate([np.asarray(row, dtype=float) for row in rows]), group), "cts")
    return [value[group == row].tolist() for row in range(len(rows))]


def spo(inputs: dict[str, Any]) -> list[float]:
    rule = {"grpo": "grpo", "rloo": "reinforce"}[inputs["method"]]
    return values(episodes(inputs["score"], inputs["group"]), "spo", rule).tolist()  # type: ignore[no-any-return]


def mt_grpo(inputs: dict[str, Any]) -> list[float]:
    score = np.array(inputs["rewards"], dtype=float)
    return values(episodes(score, blocks(score.size, inputs["num_generations"])), "mt-grpo").tolist()  # type: ignore[no-any-return]


# Tolerances above 1e-9: verl holds 1 + 1e-6 and GPG's factor, TRL holds n / (n - 1), in single precision even
# when all else is double, a relative error of 5e-8; its vectorised form takes all statistics in single
# precision. Where scores are equal but no binary fractions, Dr.GRPO and SPO divide an ulp by 1e-8 and put out up
# to 1.1e-8 in place of our 0.
ADAPTERS: dict[str, Adapter] = {
    "verl_grpo": Adapter(partial(verl_grpo, form="verl"), tolerance=1e-7, mask=scored_groups),
    "verl_grpo_vectorized": Adapter(
        partial(verl_grpo, form="verl-vectorised"),
        tolerance=1e-5,
        mask=resolved_groups,
        better="groups may be numbered in any way, below 0 too",
    ),
    "verl_grpo_passk": Adapter(
        verl_passk, mask=scored_groups, better="a group of one has no second best: no credit, and no crash"
    ),
    "verl_opo": Adapter(partial(verl, rule="opo", preset=named("verl")), mask=weighted_groups),
    "verl_gpg": Adapter(partial(verl, rule="gpg", preset=named("verl")), tolerance=1e-7, mask=scored_batch),
    "drgrpo_advantage": Adapter(dr_grpo, tolerance=2e-8),
    "trl_grpo_advantage": Adapter(trl, tolerance=1e-7),
    "cts_group_advantage": Adapter(cts),
    "spo_group_advantages": Adapter(spo, tolerance=2e-8),
    "mt_grpo_group_norm": Adapter(mt_grpo),
}
