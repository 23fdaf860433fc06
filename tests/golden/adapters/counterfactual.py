"""Hindsight credit in tables (HCA, COCOA) and values of cooperative games."""

from fractions import Fraction
from typing import Any

import numpy as np
from tests.golden.adapter import Adapter

from equipoise_conditions import RULES, Coalitions, Context, Trajectories
from equipoise_conditions.rules.counterfactual.cocoa_tables import (
    TabularProcess,
    action_values,
    expected_contribution,
    trajectory_contribution,
)
from equipoise_conditions.rules.counterfactual.hca import return_hca_update, state_hca_update
from equipoise_conditions.shapley import shapley_fractions

__all__ = ["ADAPTERS"]


def array(values: Any) -> Any:
    return np.array(values, dtype=float)


def indices(values: Any) -> Any:
    return np.array(values, dtype=np.int64)


def hca_updates(inputs: dict[str, Any]) -> dict[str, Any]:
    steps = {
        "states": indices(inputs["states"]),
        "actions": indices(inputs["actions"]),
        "rewards": array(inputs["rewards"]),
        "gamma": inputs["gamma"],
    }
    pi, h = array(inputs["pi"]), array(inputs["h"])
    if inputs["kind"] == "state":
        update = state_hca_update(pi, h, **steps)
    else:
        update = return_hca_update(pi, h, array(inputs["return_bins"]), **steps)
    return {
        "dlogits": update.dlogits.tolist(),
        "dV": update.dV.tolist(),
        "dlogits_h": update.dlogits_h.tolist(),
    }


def cocoa_contribution(inputs: dict[str, Any]) -> dict[str, Any]:
    process = TabularProcess(
        transition=array(inputs["transition"]),
        reward_probs=array(inputs["reward_probs"]),
        reward_values=array(inputs["reward_values"]),
        horizon=int(inputs["horizon"]),
    )
    policy, walk = array(inputs["policy"]), inputs["trajectory"]
    hindsight, return_type = inputs["hindsight"], inputs["return_type"]
    one = trajectory_contribution(
        process,
        policy,
        hindsight=hindsight,
        return_type=return_type,
        states=indices(walk["states"]),
        actions=indices(walk["actions"]),
        rewards=array(walk["rewards"]),
        dones=indices(walk["dones"]) if "dones" in walk else None,
    )
    return {
        "q_values": action_values(process, policy).tolist(),
        "expected_advantage": expected_contribution(process, policy, hindsight, return_type).tolist(),
        "trajectory_contribution": one.tolist(),
    }


def game(value: Any, players: int) -> tuple[Trajectories, Context]:
    """Return one trajectory in which each player acts once, and the values of its coalitions."""
    turns = np.arange(players)
    t = Trajectories(
        task=indices([0]),
        outcome=value[-1:],
        turn_offsets=indices([0, players]),
        parent=indices([-1]),
        branch=indices([0]),
        state=turns,
        action=np.zeros_like(turns),
        n_actions=np.ones_like(turns),
        reward=np.zeros(players),
        token_offsets=np.arange(players + 1),
        logprob=np.zeros(players),
        entropy=np.zeros(players),
        agent=turns,
    )
    return t, Context(coalitions=Coalitions(indices([players]), indices([0, 2**players]), value))


def shapley(inputs: dict[str, Any]) -> dict[str, Any]:
    value = array(inputs["coalition_value_by_bitmask"])
    t, context = game(value, int(inputs["players"]))
    found = {
        name: RULES["shapley"].apply(t, context, {"index": name}).value
        for name in ("shapley", "banzhaf", "leave_one_out")
    }
    # Values are rational numbers; as doubles they are the nearest ones, so the simplest rational is meant.
    rational = [Fraction(v).limit_denominator(10**6) for v in value.tolist()]
    return {name: column.tolist() for name, column in found.items()} | {
        "shapley_exact_fractions": [str(phi) for phi in shapley_fractions(rational)],
        "shapley_sum": float(found["shapley"].sum()),
        "grand_minus_empty": float(value[-1] - value[0]),
    }


ADAPTERS: dict[str, Adapter] = {
    "hca_updates": Adapter(hca_updates),
    "cocoa_contribution": Adapter(cocoa_contribution),
    "shapley": Adapter(shapley),
}
