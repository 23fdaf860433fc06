"""REINFORCE, REINFORCE++, ReMax and the optimal token baseline of verl, TRL and SPO; SPO's whitening."""

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.golden.adapter import Adapter

from equipoise_conditions import RULES, Context, Trajectories, to_tokens
from equipoise_conditions.rules.token_returns import return_to_mask, reward_to_go
from equipoise_conditions.whitening import rescaled, uncertain, whitened

__all__ = ["ADAPTERS"]

# Both references divide two whole numbers, n / (n - 1), in single precision before they take a root.
SINGLE = 4e-8


def rows(inputs: dict[str, Any]) -> Trajectories:
    """Return each row of the reference as a trajectory of one turn; the sum of its rewards is its outcome."""
    reward = np.array(inputs["token_level_rewards"], dtype=float)
    n, width = reward.shape
    index = inputs.get("index", list(range(n)))
    optional = {
        "logprob": inputs.get("old_log_probs", np.full((n, width), -1.0)),
        "sum_pi_squared": inputs.get("sum_pi_squared"),
    }
    group = np.unique(np.array(index).astype(str), return_inverse=True)[1]
    return Trajectories(
        task=group,
        outcome=reward.sum(axis=1),
        turn_offsets=np.arange(n + 1),
        parent=np.full(n, -1),
        branch=np.zeros(n, dtype=int),
        state=np.arange(n),
        action=np.zeros(n, dtype=int),
        n_actions=np.ones(n, dtype=int),
        reward=reward.sum(axis=1),
        token_offsets=np.arange(n + 1) * width,
        entropy=np.zeros(n * width),
        mask=np.array(inputs["response_mask"]).ravel() != 0,
        token_reward=reward.ravel(),
        **{name: np.ravel(value) for name, value in optional.items() if value is not None},
    )


def advantages(inputs: dict[str, Any], rule: str, params: dict[str, Any], **measured: Any) -> Any:
    """Return the rule's credit of every token as a matrix of the reference's shape, 0 where there is none."""
    t = rows(inputs)
    credit = to_tokens(RULES[rule].apply(t, Context(**measured), params), t)
    value: Any = np.where(credit.defined, credit.value, 0.0)
    return value.reshape(t.n, -1)


def scorable(inputs: dict[str, Any]) -> Any:
    """Return (N,) which rows have a score that is a number: a batch of ours refuses the others."""
    return np.isfinite(np.array(inputs["token_level_rewards"], dtype=float)).all(axis=1)


def only(inputs: dict[str, Any], kept: Any) -> dict[str, Any]:
    """Return the inputs with the kept rows of every column."""
    size = kept.size
    return {
        name: [row for row, use in zip(value, kept, strict=True) if use]
        if isinstance(value, list) and len(value) == size
        else value
        for name, value in inputs.items()
    }


def unreached(inputs: dict[str, Any], reach: str) -> Any:
    """Return (N,) which rows a score that is no number does not reach by the row, its group or the batch."""
    good = scorable(inputs)
    if reach == "batch":
        return np.full(good.size, bool(good.all()))
    if reach == "group":
        index = np.array(inputs["index"]).astype(str)
        return ~np.isin(index, index[~good])
    return good


def without_unscored(inputs: dict[str, Any], reach: str, run: Callable[[dict[str, Any]], Any]) -> Any:
    """Run on what a score that is no number does not reach; the reference spreads NaN over the rest.

    A batch of ours refuses such a score, so whatever the reference makes NaN has no credit here.
    """
    good = unreached(inputs, reach)
    result: Any = np.full(np.shape(inputs["response_mask"]), np.nan)
    if good.any():
        result[good] = run(only(inputs, good))
    return result.tolist()


def both(value: Any) -> dict[str, Any]:
    """Return what the reference calls advantages and returns where it makes no difference between them."""
    return {"advantages": value, "returns": value}


def outcome_rule(rule: str, preset: str, reach: str) -> Callable[[dict[str, Any]], Any]:
    """Return how a rule runs that reads nothing but scores, groups and the mask."""

    def run(inputs: dict[str, Any]) -> dict[str, Any]:
        return both(without_unscored(inputs, reach, lambda kept: advantages(kept, rule, {"preset": preset})))

    return run


def trl_rloo(inputs: dict[str, Any]) -> list[float]:
    """Rows that no reward function scored are no trajectories; the reference gives them 0."""
    per_function = np.array(inputs["rewards_per_func"], dtype=float)
    scored = ~np.isnan(per_function).all(axis=1)
    score = np.nansum(per_function * np.array(inputs["reward_weights"], dtype=float), axis=1)
    result = np.zeros(scored.size)
    if scored.any():
        block = np.arange(scored.size) // inputs["num_generations"]
        given = {
            "token_level_rewards": score[scored, None],
            "response_mask": np.ones((int(scored.sum()), 1)),
            "index": block[scored],
        }
        whiten = "batch" if inputs["normalize_advantages"] else "none"
        result[scored] = advantages(given, "reinforce", {"preset": "trl", "whiten": whiten})[:, 0]
    return result.tolist()  # type: ignore[no-any-return]


def verl_reinforce_pp(inputs: dict[str, Any]) -> dict[str, Any]:
    gamma = inputs["config"]["gamma"]
    reward = np.array(inputs["token_level_rewards"], dtype=float)
    returns = return_to_mask(
        reward.ravel(),
        np.array(inputs["response_mask"]).ravel() != 0,
        np.arange(reward.shape[0] + 1) * reward.shape[1],
        token_gamma=gamma,
    )
    params = {"preset": "verl", "token_gamma": gamma}
    return {
        "advantages": without_unscored(
            inputs, "batch", lambda kept: advantages(kept, "reinforce_pp", params)
        ),
        "returns": returns.reshape(reward.shape).tolist(),
    }


def to_go(inputs: dict[str, Any]) -> Any:
    reward = np.array(inputs["token_level_rewards"], dtype=float)
    return reward_to_go(rows(inputs)).reshape(reward.shape)


def verl_remax(inputs: dict[str, Any]) -> dict[str, Any]:
    def run(kept: dict[str, Any]) -> Any:
        greedy = np.array(kept["reward_baselines"], dtype=float)
        return advantages(kept, "remax", {"preset": "verl"}, greedy=greedy)

    return {
        "advantages": without_unscored(inputs, "row", run),
        "returns": without_unscored(inputs, "row", to_go),
    }


def otb(preset: str) -> Callable[[dict[str, Any]], Any]:
    def run(inputs: dict[str, Any]) -> dict[str, Any]:
        params = {"preset": preset, "zero_tail": inputs["handle_zero_tail"]}
        return {
            "advantages": without_unscored(inputs, "group", lambda kept: advantages(kept, "otb", params)),
            "returns": without_unscored(inputs, "row", to_go),
        }

    return run


def spo_masked_whiten(inputs: dict[str, Any]) -> Any:
    """Two functions share this file, and only the name of a case, where it is given, tells which was run."""
    value = np.array(inputs["values"], dtype=float)
    use = np.array(inputs["mask"]).ravel() != 0
    if "logprobs" in inputs:
        use = uncertain(use, np.array(inputs["logprobs"], dtype=float).ravel())
    std = "sample" if inputs.get("unbiased_variance") else "population"
    function = rescaled if inputs.get("case", "").startswith("rescale") else whitened
    return function(value.ravel(), use, std=std, eps=1e-8, eps_inside=True).reshape(value.shape).tolist()


def response_mask(inputs: dict[str, Any]) -> Any:
    return inputs["response_mask"]


def reached(reach: str) -> Callable[[dict[str, Any]], Any]:
    """Return what is compared where the reference spreads NaN no further than some tokens of a row or group."""

    def rows_compared(inputs: dict[str, Any]) -> Any:
        return unreached(inputs, reach).tolist()

    return rows_compared


ADAPTERS: dict[str, Adapter] = {
    "verl_rloo": Adapter(outcome_rule("reinforce", "verl", "group")),
    "verl_rloo_vectorized": Adapter(outcome_rule("reinforce", "verl-vectorised", "group")),
    "trl_rloo_advantage": Adapter(trl_rloo, tolerance=SINGLE),
    "verl_reinforce_pp": Adapter(
        verl_reinforce_pp,
        mask=reached("row"),
        better="one token in the loss gets 0, as a group of one does; none in the loss leaves no credit at all",
    ),
    "verl_reinforce_pp_baseline": Adapter(
        outcome_rule("reinforce_pp_baseline", "verl", "batch"),
        better="one token in the loss gets 0, as a group of one does; none in the loss leaves no credit at all",
    ),
    # The reference leaves returns visible inside holes of the mask; ours have no credit there.
    "verl_remax": Adapter(verl_remax, mask=response_mask),
    "verl_optimal_token_baseline": Adapter(otb("verl"), mask=reached("group")),
    "verl_tir_optimal_token_baseline": Adapter(otb("verl-tir"), mask=reached("group")),
    "spo_masked_whiten": Adapter(spo_masked_whiten, tolerance=SINGLE, named=True),
}
