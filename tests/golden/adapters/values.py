"""GAE of verl, bi-level GAE of RAGEN, VinePPO's values and advantages, and the targets of AgentPRM."""

from typing import Any

import numpy as np
from tests.golden.adapter import Adapter

from equipoise_conditions import RULES, Context, RuleError, Trajectories, to_tokens
from equipoise_conditions.groups import standardised
from equipoise_conditions.rules.values.backups import inside, lambda_returns, weight_of_next
from equipoise_conditions.rules.values.gae import token_returns
from equipoise_conditions.rules.values.mc_prm import visit_counts
from equipoise_conditions.rules.values.vineppo import monte_carlo_value, step_advantages, token_advantages

__all__ = ["ADAPTERS"]


def array(values: Any) -> Any:
    return np.array(values, dtype=np.float64)


def rows(rewards: Any, mask: Any) -> Trajectories:
    """Return rows of tokens as trajectories of one turn each."""
    n, width = rewards.shape
    return Trajectories(
        task=np.zeros(n, dtype=int),
        outcome=rewards.sum(axis=1),
        turn_offsets=np.arange(n + 1),
        parent=np.full(n, -1),
        branch=np.zeros(n, dtype=int),
        state=np.arange(n),
        action=np.zeros(n, dtype=int),
        n_actions=np.ones(n, dtype=int),
        reward=rewards.sum(axis=1),
        token_offsets=np.arange(n + 1) * width,
        logprob=np.full(n * width, -1.0),
        entropy=np.ones(n * width),
        mask=mask.ravel() != 0,
        token_reward=rewards.ravel(),
    )


def verl_gae(inputs: dict[str, Any]) -> dict[str, Any]:
    rewards, values, mask = (array(inputs[k]) for k in ("token_level_rewards", "values", "response_mask"))
    rule, gamma, lam = RULES["gae"], inputs["gamma"], inputs["lam"]
    params = {"preset": "verl", "token_gamma": gamma, "lam": lam}
    if not np.isfinite(rewards).all():
        return unreadable(rewards, values, mask, rule.validate(params))
    t = rows(rewards, mask)
    credit = rule.apply(t, Context(token_values=values.ravel()), params)
    returns = token_returns(t, values.ravel(), token_gamma=gamma, lam=lam, masked_reward="drop")
    return {
        "advantages": to_tokens(credit, t).value.reshape(rewards.shape).tolist(),
        "returns": returns.reshape(rewards.shape).tolist(),
    }


def unreadable(rewards: Any, values: Any, mask: Any, params: dict[str, Any]) -> dict[str, Any]:
    """A batch refuses a reward that is no number, so only the steps of the rule are compared."""
    try:
        rows(rewards, mask)
    except RuleError:
        chosen = np.flatnonzero(mask)
        same = inside(chosen // rewards.shape[1])
        discount = weight_of_next(same, params["token_gamma"])
        returns, advantage = np.full(rewards.size, np.nan), np.full(rewards.size, np.nan)
        returns[chosen] = lambda_returns(
            rewards.ravel()[chosen], values.ravel()[chosen], discount, params["lam"]
        )
        # One entry that is no number leaves none in the whole batch, whatever is added to its deviation.
        convention = {key: params[key] for key in ("std", "eps", "eps_inside")}
        one = np.zeros(chosen.size, dtype=np.int64)
        advantage[chosen] = standardised((returns - values.ravel())[chosen], one, 1, **convention)
        return {
            "advantages": advantage.reshape(rewards.shape).tolist(),
            "returns": returns.reshape(rewards.shape).tolist(),
        }
    message = "a batch with a reward that is no number was accepted"
    raise AssertionError(message)


def readable(inputs: dict[str, Any]) -> Any:
    """Return which tokens are compared: in the loss, and not before a reward that is no number.

    At lam 0 the reference multiplies that reward by 0 and keeps it; ours does not read it.
    """
    broken = np.isnan(array(inputs["token_level_rewards"]))
    before = broken[:, ::-1].cumsum(axis=1)[:, ::-1] > broken
    return (array(inputs["response_mask"]) * ~before).tolist()


def ragen_bi_level_gae(inputs: dict[str, Any]) -> dict[str, Any]:
    rewards, values, mask = (array(inputs[k]) for k in ("token_level_rewards", "values", "loss_mask"))
    t, context = rows(rewards, mask), Context(token_values=values.ravel())
    params = {
        "preset": "ragen",
        "gamma": inputs["high_level_gamma"],
        "token_gamma": inputs["gamma"],
        "lam": inputs["lam"],
    }
    rule = RULES["bi_level_gae"]
    plain = to_tokens(rule.apply(t, context, params | {"whiten": "none"}), t).value
    white = to_tokens(rule.apply(t, context, params), t).value
    return {
        "advantages": white.reshape(rewards.shape).tolist(),
        "returns": (plain.reshape(rewards.shape) + values).tolist(),
    }


def agent_prm_targets(inputs: dict[str, Any]) -> list[dict[str, Any]]:
    """Give each history with its action once, shortest histories first."""
    episodes = inputs["trajectories(observation,reason,action,score)"]
    steps = [step for episode in episodes for step in episode]
    lengths = [len(episode) for episode in episodes]
    _, state = np.unique([step[0] for step in steps], return_inverse=True)
    _, action = np.unique([step[2] for step in steps], return_inverse=True)
    n, turns = len(episodes), len(steps)
    t = Trajectories(
        task=np.zeros(n, dtype=int),
        outcome=array([episode[-1][3] for episode in episodes]),
        turn_offsets=np.concatenate(([0], np.cumsum(lengths))),
        parent=np.full(n, -1),
        branch=np.zeros(n, dtype=int),
        state=state,
        action=action,
        n_actions=np.full(turns, int(action.max()) + 1),
        reward=array([step[3] for step in steps]),
        token_offsets=np.arange(turns + 1),
        logprob=np.full(turns, -1.0),
        entropy=np.ones(turns),
    )
    params = {"preset": "agent_prm", "gamma": inputs["gamma"]}
    target = RULES["mc_prm"].apply(t, Context(), params).value.tolist()
    count = visit_counts(t).tolist()
    moves = [[[step[0], step[2]] for step in episode] for episode in episodes]
    found: dict[str, dict[str, Any]] = {}
    for index, (i, k) in enumerate((i, k) for i, episode in enumerate(episodes) for k in range(len(episode))):
        observation, chosen = moves[i][k]
        entry = {"history": moves[i][:k], "observation": observation, "action": chosen}
        found[repr(entry)] = entry | {"q": target[index], "count": count[index]}
    return sorted(
        found.values(), key=lambda e: (len(e["history"]), e["history"], e["observation"], e["action"])
    )


def vineppo_mc_value(inputs: dict[str, Any]) -> float:
    rollouts = inputs["rollouts"]
    finished = [end != "length" for _, end in rollouts]
    outcome = [inputs["reward_of"].get(answer, 0.0) for answer, _ in rollouts]
    return monte_carlo_value(outcome, finished, penalty=inputs["unfinished_penalty"], none=0.0)


def vineppo_steps(inputs: dict[str, Any]) -> Any:
    reward = array(inputs["step_rewards"])
    boundary = array([np.nan if value is None else value for value in inputs["values"]])
    return step_advantages(reward, boundary, np.array([0, reward.size]), fill=True)


def vineppo_token_advantages(inputs: dict[str, Any]) -> list[float]:
    asked, answered = inputs["query_token_ids"], inputs["response_token_ids"]
    begin = len(asked) - (asked[0] == inputs["bos"] if asked else 0)
    worded = len(answered) - (answered[-1] == inputs["eos"])
    first = np.array(inputs["token_offsets"])[begin : begin + worded, 0] - len(inputs["query_text"])
    boundary = np.array(inputs["step_char_indices"])
    result: list[float] = token_advantages(vineppo_steps(inputs), boundary, first, len(answered)).tolist()
    return result


ADAPTERS: dict[str, Adapter] = {
    "verl_gae": Adapter(
        verl_gae,
        mask=readable,
        better="one token in the loss gets 0, as a group of one does; none in the loss leaves no credit at all",
    ),
    "ragen_bi_level_gae": Adapter(
        ragen_bi_level_gae,
        tolerance=2e-5,  # the reference sums in single precision
        mask=lambda inputs: inputs["loss_mask"],
        better="an episode that ends with reward 0 ends its last turn there; the reference finds no end and breaks",
    ),
    "agent_prm_targets": Adapter(agent_prm_targets),
    "vineppo_mc_value": Adapter(vineppo_mc_value),
    "vineppo_step_advantages": Adapter(lambda inputs: vineppo_steps(inputs).tolist()),
    "vineppo_token_advantages": Adapter(vineppo_token_advantages),
}
