"""Bi-level GAE: advantages over turns first, whose returns are then spread over each turn's tokens."""

import numpy as np

from equipoise_conditions.arrays import FloatArray, IntArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, on_tokens
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, EPS_INSIDE, GAMMA, STD, WHITEN
from equipoise_conditions.rules.token_returns import TOKEN_GAMMA
from equipoise_conditions.rules.values.backups import (
    LAM,
    Whitening,
    inside,
    lambda_returns,
    last_of_each,
    measured_credit,
    weight_of_next,
)
from equipoise_conditions.trajectories import Trajectories
from equipoise_conditions.whitening import COUNT_EPS

__all__ = ["BI_LEVEL_GAE", "bi_level_gae"]


def bi_level_gae(  # noqa: PLR0913 - one keyword for each parameter of the rule
    trajectories: Trajectories,
    context: Context,
    *,
    gamma: float = 0.95,
    token_gamma: float = 1.0,
    lam: float = 0.95,
    turn_end: str = "turn",
    whiten: str = "none",
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
    count_eps: float = 0.0,
) -> Credit:
    """Return GAE inside each turn, rewarded at its end with GAE's return over the turn ends.

    Over the turn ends e: G_e = r_e + gamma ((1 - lam) V_{e'} + lam G_{e'}) with e' the next end. Over the
    tokens of a turn: delta_k = gamma_tok V_{k+1} - V_k, and G_e - V_e at its end, where the sum restarts.
    Source: RAGEN's code (arXiv 2504.20073).

    Args:
        trajectories: the batch; forked trajectories get no credit and are not whitened with.
        context: holds the token values.
        gamma: discount per turn.
        token_gamma: discount per token inside a turn.
        lam: decay of both levels.
        turn_end: "turn" takes the batch's own turns, "reward" every token with a reward other than 0 and each
            trajectory's last token.
        whiten: "none", "batch" or "group".
        std: divisor when whitening.
        eps: added to it.
        eps_inside: add `eps` to the variance instead.
        count_eps: added to the number of tokens that the batch's mean and variance are divided by.
    """
    values = context.column(Need.TOKEN_VALUES, trajectories.n_tokens)
    ends, reward = _rewarded_ends(trajectories) if turn_end == "reward" else _turn_ends(trajectories)
    trajectory = trajectories.trajectory_of_token
    between = weight_of_next(inside(trajectory[ends]), gamma)
    high = np.zeros(trajectories.n_tokens)
    high[ends] = lambda_returns(reward, values[ends], between, lam)
    is_end = np.zeros(trajectories.n_tokens, dtype=np.bool_)
    is_end[ends] = True
    chosen = np.flatnonzero(trajectories.mask)
    within = weight_of_next(inside(trajectory[chosen]) & ~is_end[chosen], token_gamma)
    advantage = np.full(trajectories.n_tokens, np.nan)
    advantage[chosen] = lambda_returns(high[chosen], values[chosen], within, lam) - values[chosen]
    return measured_credit(
        trajectories,
        advantage,
        on_tokens(trajectories),
        "token",
        Whitening(whiten, std, eps, eps_inside, count_eps),
    )


def _rewarded_ends(trajectories: Trajectories) -> tuple[IntArray, FloatArray]:
    """Return the tokens with a reward, inside the loss or not, and their rewards.

    Where a trajectory's last token inside the loss has none, it ends a turn all the same, with reward 0.
    """
    chosen = np.flatnonzero(trajectories.mask)
    last = chosen[last_of_each(trajectories.trajectory_of_token[chosen])]
    ends = np.union1d(np.flatnonzero(trajectories.token_reward), last).astype(np.int64)
    return ends, trajectories.token_reward[ends]


def _turn_ends(trajectories: Trajectories) -> tuple[IntArray, FloatArray]:
    """Return the last token inside the loss of each turn that has any, and the reward of the turn.

    A turn wholly outside the loss is no decision: its reward goes to the decision before it, if there is one.
    """
    chosen = np.flatnonzero(trajectories.mask)
    turn = trajectories.turn_of_token[chosen]
    ends = chosen[last_of_each(turn)].astype(np.int64)
    reward = np.bincount(trajectories.turn_of_token, trajectories.token_reward, trajectories.n_turns)
    acts = np.zeros(trajectories.n_turns, dtype=np.bool_)
    acts[turn] = True
    before = np.cumsum(acts) - 1
    acting = np.flatnonzero(acts)
    if not acting.size:
        return ends, np.empty(0)
    owner = acting[np.maximum(before, 0)]
    earned = (before >= 0) & (trajectories.trajectory_of_turn[owner] == trajectories.trajectory_of_turn)
    return ends, np.bincount(before[earned], reward[earned], acting.size).astype(np.float64)


BI_LEVEL_GAE = Rule(
    name="bi_level_gae",
    assign=bi_level_gae,
    needs=frozenset({Need.TOKEN_VALUES}),
    parameters=(
        GAMMA,
        TOKEN_GAMMA,
        LAM,
        Parameter(
            "turn_end", "turn", ("turn", "reward"), "a turn ends where it ends, or at a reward other than 0"
        ),
        WHITEN,
        STD,
        EPS,
        EPS_INSIDE,
        COUNT_EPS,
    ),
    presets={
        "ragen": {
            "gamma": 0.95,
            "token_gamma": 1.0,
            "lam": 1.0,
            "turn_end": "reward",
            "whiten": "batch",
            "std": "sample",
            "eps": 1e-8,
            "eps_inside": True,
            "count_eps": 1e-8,
        }
    },
    card=Card(
        name="bi_level_gae",
        title="Bi-level GAE (RAGEN)",
        formula=(
            "turn ends: G_e = r_e + γ((1 − λ)V_{e'} + λG_{e'}); tokens of the turn: A_k = Σ_j (γ_tok λ)^j δ_{k+j}, "
            "δ = γ_tok V_{k+1} − V_k, at its end G_e − V_e"
        ),
        source="RAGEN 2025, arXiv 2504.20073",
        granularity="token",
        cost="one critic of the model's size: its memory, its passes and its warm-up",
        drops="nothing collected; undefined where a value that the sum reads was not estimated",
        zeroes="tokens whose return equals their value; a whitened batch of equal advantages",
        reference_code="RAGEN-AI/RAGEN 5eb79b82 ragen/trainer/core_algos.py",
        methodology="temporal-difference",
        evidence="code",
        extra_forward="N critic passes over the collected tokens, and the critic's training",
        edge=(
            "a turn's end is its last token inside the loss; a turn wholly outside it gives its reward to the "
            "turn before. One token: its reward minus its value. Whitening gives a lone token 0"
        ),
        caveats=(
            "the published code takes every token with a reward for a turn's end: a turn that earned 0 melts "
            "into the next one, and a failed episode that ends with reward 0 breaks it. Preset ragen does the "
            "first; in place of the second it ends the last turn with reward 0. The default does neither"
        ),
    ),
)
