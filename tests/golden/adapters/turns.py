"""Rules on turns: GiGPO of two generations, IGPO of two releases, MT-GRPO and ADCA-GRPO."""

import re
from typing import Any

import numpy as np
import pytest
from tests.golden.adapter import Adapter

from equipoise_conditions import RULES, Boundary, Context, RuleError, Trajectories, Verdicts, to_tokens
from equipoise_conditions.groups import codes_within
from equipoise_conditions.rules.turns import shared_returns, similar_groups, state_keys
from equipoise_conditions.rules.turns.igpo import Returns, turn_returns
from equipoise_conditions.rules.turns.igpo_token import reward_to_go
from equipoise_conditions.rules.turns.information_gain import information_gain, place_rewards
from equipoise_conditions.rules.turns.mt_grpo import Scores, assign_advantages, before_segment

__all__ = ["ADAPTERS"]

BREAK = "\n<|im_start|>assistant\n"
Inputs = dict[str, Any]


def renumbered(keys: Any) -> Any:
    """Return whole numbers for keys of any kind, by first appearance."""
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)


def batch(lengths: Any, sizes: Any, **columns: Any) -> Trajectories:
    """Return a batch of trajectories with so many turns each, and so many tokens in each turn."""
    turns, tokens = int(np.sum(lengths)), int(np.sum(sizes))
    values = {
        "task": np.zeros(len(lengths), dtype=int),
        "outcome": np.zeros(len(lengths)),
        "state": np.arange(turns),
        "reward": np.zeros(turns),
    }
    return Trajectories(
        turn_offsets=np.concatenate(([0], np.cumsum(lengths))),
        parent=np.full(len(lengths), -1),
        branch=np.zeros(len(lengths), dtype=int),
        action=np.zeros(turns, dtype=int),
        n_actions=np.ones(turns, dtype=int),
        token_offsets=np.concatenate(([0], np.cumsum(sizes))),
        logprob=np.full(tokens, -1.0),
        entropy=np.ones(tokens),
        **(values | columns),
    )


def rows_of(credit: Any, t: Trajectories, shape: tuple[int, int]) -> Any:
    """Return token credit as the reference's rows, which hold 0 outside the loss."""
    tokens = to_tokens(credit, t)
    return np.where(tokens.defined, tokens.value, 0.0).reshape(shape)


# GiGPO: a row is a turn.


def gigpo_rows(inputs: Inputs, preset: str, **params: Any) -> Any:
    mask = np.array(inputs["response_mask"], dtype=bool)
    group = renumbered(inputs.get("index", [0] * len(mask)))
    walk = renumbered(inputs.get("traj_index", range(len(mask))))
    order = np.lexsort((walk, group))
    starts = np.flatnonzero(np.diff(group[order], prepend=-1) | np.diff(walk[order], prepend=-1))
    score = np.array(inputs.get("token_level_rewards", np.zeros(mask.shape)), dtype=float).sum(axis=1)[order]
    lengths = np.diff(starts, append=len(mask))
    assert np.array_equal(score, np.repeat(score[starts], lengths)), "each row carries its episode's score"
    t = batch(
        lengths,
        np.full(len(mask), mask.shape[1]),
        task=group[order][starts],
        outcome=score[starts],
        state=state_keys(inputs.get("anchor_obs", list(range(len(mask)))))[order],
        reward=np.array(inputs.get("step_rewards", np.zeros(len(mask))), dtype=float)[order],
        mask=mask[order].ravel(),
    )
    # The reference is handed returns: with gamma 0 a reward is its own return.
    credit = RULES["gigpo"].apply(t, Context(), {"preset": preset, "gamma": 0.0, **params})
    result = np.empty(mask.shape)
    result[order] = rows_of(credit, t, mask.shape)
    return result.tolist()


def suffix(inputs: Inputs) -> str:
    return {"mean_norm": "", "mean_std_norm": "-std"}[inputs["mode"]]


def gigpo_verl_agent(inputs: Inputs) -> Any:
    return gigpo_rows(inputs, "verl-agent" + suffix(inputs), omega=inputs["step_advantage_w"])


def gigpo_drmas(inputs: Inputs) -> Any:
    agents = "-agents" if inputs["group_by_agent_id"] else ""
    return gigpo_rows(inputs, "drmas" + agents + suffix(inputs), omega=inputs["step_advantage_w"])


def gigpo_episode_norm_reward(inputs: Inputs) -> Any:
    preset = "verl-agent" if inputs["rows_vote"] else "drmas"
    return gigpo_rows(inputs, preset + ("" if inputs["remove_std"] else "-std"), omega=0.0)


def gigpo_step_norm_reward(inputs: Inputs) -> Any:
    states = {"anchor_obs": inputs["step_group"]}
    return gigpo_rows(inputs | states, "drmas" if inputs["remove_std"] else "drmas-std")


def gigpo_build_step_group(inputs: Inputs) -> Any:
    group = renumbered(inputs["index"])
    if inputs["enable_similarity"]:
        return renumbered(similar_groups(inputs["anchor_obs"], inputs["similarity_thresh"], group)).tolist()
    seen = [np.array(item) if isinstance(item, list) else item for item in inputs["anchor_obs"]]
    return renumbered(codes_within(state_keys(seen), group)[0]).tolist()


def gigpo_step_returns(inputs: Inputs) -> Any:
    walk = renumbered(inputs["traj_uid"])
    order = np.argsort(walk, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(walk))))
    reward = np.array(inputs["rewards"], dtype=float)
    step = np.array(inputs.get("env_step", range(reward.size)))
    result = np.empty(reward.size)
    result[order] = shared_returns(reward[order], offsets, step[order], inputs["gamma"])
    return result.tolist()


# IGPO: a row is a trajectory.


def without_nan(inputs: Inputs, run: Any) -> dict[str, Any]:
    """Run the groups whose rewards are numbers; a batch with NaN is refused, and its group undefined."""
    reward = np.array(inputs["token_level_rewards"], dtype=float)
    group = renumbered(inputs["index"])
    bad = np.isin(group, group[np.isnan(reward).any(axis=1)])
    if not bad.any():
        return dict(run(inputs))
    with pytest.raises(RuleError, match="finite"):
        run(inputs)
    result = {"advantages": np.where(bad[:, None], np.nan, np.zeros(reward.shape))}
    if not bad.all():
        keys = ("token_level_rewards", "response_mask", "index")
        kept = {key: [row for row, out in zip(inputs[key], bad, strict=True) if not out] for key in keys}
        result["advantages"][~bad] = run(inputs | kept)["advantages"]
    return {key: value.tolist() for key, value in result.items()}


def igpo_advantage(inputs: Inputs) -> Any:
    mask = np.array(inputs["response_mask"], dtype=bool)
    t = batch(
        np.ones(len(mask), dtype=int),
        np.full(len(mask), mask.shape[1]),
        task=renumbered(inputs["index"]),
        token_reward=np.array(inputs["token_level_rewards"], dtype=float).ravel(),
        mask=mask.ravel(),
    )
    params: Inputs = {"preset": "first-release", "gain": "recorded"}
    if inputs["function"] == "compute_grpo_discounted_advantage":
        std = "sample" if inputs.get("norm_adv_by_std_in_grpo", True) else "none"
        params |= {"preset": "first-release-discounted", "gamma": inputs["gamma"], "std": std}
    credit = RULES["igpo_token"].apply(t, Context(), params)
    returns = reward_to_go(t, t.token_reward, gamma=params.get("gamma", 1.0), bridge=False)
    return {
        "advantages": rows_of(credit, t, mask.shape).tolist(),
        "returns": (returns * t.mask).reshape(mask.shape).tolist(),
    }


def igpo_iclr_advantage(inputs: Inputs) -> Any:
    """Cut each row behind its rewards, as the reference does; the outcome ends the last turn."""
    mask = np.array(inputs["response_mask"], dtype=bool)
    reward = np.array(inputs["token_level_rewards"], dtype=float)
    column = np.arange(mask.shape[1])
    last = mask.sum(axis=1, keepdims=True) - 1
    outcome = (column == last) & mask
    rewarded = outcome | (mask & (reward != 0)) | np.isnan(reward)
    holes = bool((mask != (column <= last)).any())
    ends = rewarded & (holes | ~outcome)
    ends[:, -1] = True  # padding stands in the last turn; behind holes there is a turn without a reward
    lengths = ends.sum(axis=1)
    scores = np.where(outcome, reward, 0.0).sum(axis=1)
    t = batch(
        lengths,
        np.diff(np.flatnonzero(ends.ravel()), prepend=-1),
        task=renumbered(inputs["index"]),
        reward=np.where(rewarded, reward, 0.0)[ends],
        outcome=scores,
        mask=mask.ravel(),
    )
    params = {
        "preset": {"separate": "iclr", "joint": "iclr-joint"}[inputs["info_gain_norm_mode"]],
        "gain": "recorded",
        "gamma": inputs["gamma"],
        "gain_weight": inputs["curriculum_ig_weight"],
        "outcome_weight": inputs["curriculum_f1_weight"],
        **({} if inputs["norm_adv_by_std_in_grpo"] else {"std": "none"}),
    }
    if not holes:
        credit = RULES["igpo"].apply(t, Context(), params)
        return {"advantages": rows_of(credit, t, mask.shape).tolist()}
    # With holes the reference takes another token than the last for the outcome's. The rule never does.
    values = RULES["igpo"].validate(params)
    settings = Returns(**{name: values[name] for name in Returns.__dataclass_fields__})  # type: ignore[arg-type]
    value = turn_returns(t.reward, outcome[ends], rewarded[ends], t.group, t.turn_offsets, settings)
    return {"advantages": (value[t.turn_of_token] * t.mask).reshape(mask.shape).tolist()}


def gains(inputs: Inputs) -> Any:
    """Return each row's gains; turn k ends where measurement k is taken, and the last turn has none."""
    spans = slice(*inputs["answer_span"])
    active = inputs["active_rows_per_turn"]
    rows = sorted({row for step in active for row in step})
    with np.errstate(invalid="ignore"):
        measured = {
            row: [
                float(np.mean(np.array(scores[row][spans], dtype=float)))
                for scores, step in zip(inputs["answer_logprobs_per_turn"], active, strict=True)
                if row in step
            ]
            for row in rows
        }
    kind = {"prob_diff": "probability", "log_prob_diff": "log"}[inputs.get("info_gain_type", "prob_diff")]
    lengths = [max(len(measured[row]), 1) for row in rows]
    t = batch(lengths, np.ones(sum(lengths), dtype=int))
    after = [value for row in rows for value in [*measured[row][1:], np.nan]]
    gold = Boundary([measured[row][0] for row in rows], after)  # type: ignore[arg-type]
    found = information_gain(t, gold, kind)
    return [
        [float(gain) for gain in found[start : stop - 1]]
        for start, stop in zip(t.turn_offsets[:-1], t.turn_offsets[1:], strict=True)
    ]


def pieces(text: str) -> int:
    return len(re.findall(r"\S+|\n", text))


def igpo_reward_placement(inputs: Inputs) -> Any:
    chats = inputs["solution"].split(BREAK)
    found = list(inputs["info_gain_reward"])
    if len(chats) > 10 and len(found) != len(chats) - 1:
        found.append(0.0)  # the reference takes the gain of one turn too few for 0 in long trajectories
    if len(found) != len(chats) - 1:
        found = [0.0] * (len(chats) - 1)  # and otherwise drops them all
    sizes = np.array([pieces(chat) + (pieces(BREAK) if k else 0) for k, chat in enumerate(chats)])
    t = batch([len(chats)], sizes)
    placed = place_rewards(t, np.array([*found, inputs["outcome"]]))
    for k in range(1, len(chats) - 1):  # it looks a turn's text up, and may find it earlier
        start = pieces(inputs["solution"].split(chats[k])[0])
        end, own = start + pieces(chats[k]), int(t.token_offsets[k + 1])
        if end != own:
            placed[own - 1] = 0.0
            placed[start:end] = 0.0
            placed[end - 1] = found[k]
    return placed.tolist()


# MT-GRPO and ADCA-GRPO: a row is a trajectory.


def mt_grpo_assign(inputs: Inputs) -> Any:
    mask = np.array(inputs["completion_mask"], dtype=bool)
    rows, width = mask.shape
    segment = np.array(inputs["result_segment_index"])
    before = before_segment(mask.ravel(), np.arange(rows + 1) * width, segment)
    names = ("turn_advantages", "outcome_advantages", "combined_advantages")
    scores = Scores(*(np.array(inputs[name], dtype=float) for name in names))
    owner = np.repeat(np.arange(rows), width)
    value = assign_advantages(
        scores, before & mask.ravel(), segment > 0, owner, inputs["turn_advantage_coef"]
    )
    return value.reshape(mask.shape).tolist()


def agentevolver_adca_grpo(inputs: Inputs) -> Any:
    ids = np.array(inputs["step_ids"])
    hyper = inputs["hyper"]
    steps = ids.max(axis=1) + 1
    lengths = np.maximum(steps, 1)
    turn = np.maximum.accumulate(np.maximum(ids, 0), axis=1)  # what is in no step stands in the one before
    flags = [list(row)[:k] for row, k in zip(inputs["step_flags"], steps, strict=True)]
    padded = [[*row, *[None] * (k - len(row))] for row, k in zip(flags, lengths, strict=True)]
    known = [flag is not None for row in padded for flag in row]
    score = [[np.nan if flag is None else float(flag)] for row in padded for flag in row]
    t = batch(
        lengths,
        np.concatenate([np.bincount(row, minlength=k) for row, k in zip(turn, lengths, strict=True)]),
        task=renumbered(inputs["group_ids"]),
        outcome=np.array(inputs["outcome"], dtype=float),
        mask=(ids >= 0).ravel(),
    )
    flat = not hyper["equal_trajectory_weight"]
    params = {
        "preset": {"decouple": "agentevolver", "allocation": "agentevolver-allocation"}[inputs["scheme"]],
        "outcome_on": {"last_step": "last", "all_steps": "all", "only_prm": "none"}[
            hyper["orm_distribution"]
        ],
        "alpha": hyper["alpha"],
        "base": hyper["fix_base"],
        "consistent": hyper["consistent_scale"],
        "bad_in_success": hyper["pos_unconsistent_scale"],
        "good_in_failure": hyper["neg_unconsistent_scale"],
        "normalise": hyper["do_batch_norm"],
        "length_norm": hyper["enable_length_normalization"],
        "vote": "turn" if flat else "trajectory",
        "variance_eps": 0.0 if flat else hyper["eps"],
        "std_floor": hyper["eps"] if flat else 0.0,
    }
    judge = Verdicts(np.array(score), np.array(known))
    credit = RULES["adca_grpo"].apply(t, Context(judge=judge), params)
    return {"advantages": rows_of(credit, t, ids.shape).tolist(), "orm_scores": inputs["outcome"]}


def response_mask(inputs: Inputs) -> Any:
    return inputs["response_mask"]


# The references of IGPO and AgentEvolver, and GiGPO's returns, are computed in single precision.
SINGLE = 1e-5

ADAPTERS: dict[str, Adapter] = {
    "gigpo_verl_agent": Adapter(gigpo_verl_agent, SINGLE),
    "gigpo_drmas": Adapter(gigpo_drmas, SINGLE),
    "gigpo_episode_norm_reward": Adapter(gigpo_episode_norm_reward, SINGLE),
    "gigpo_step_norm_reward": Adapter(gigpo_step_norm_reward),
    "gigpo_build_step_group": Adapter(gigpo_build_step_group),
    "gigpo_step_returns": Adapter(gigpo_step_returns, 1e-6),
    "igpo_advantage": Adapter(lambda inputs: without_nan(inputs, igpo_advantage), SINGLE, mask=response_mask),
    "igpo_iclr_advantage": Adapter(
        lambda inputs: without_nan(inputs, igpo_iclr_advantage), SINGLE, mask=response_mask
    ),
    "igpo_information_gain": Adapter(gains, SINGLE),
    "igpo_iclr_information_gain": Adapter(gains, SINGLE),
    "igpo_reward_placement": Adapter(igpo_reward_placement),
    "mt_grpo_assign": Adapter(mt_grpo_assign),
    "agentevolver_adca_grpo": Adapter(agentevolver_adca_grpo, SINGLE),
}
