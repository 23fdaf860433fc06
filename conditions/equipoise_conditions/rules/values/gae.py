"""Generalised advantages (GAE) over tokens and over turns."""

import numpy as np

from equipoise_conditions.arrays import FloatArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, on_collected, on_tokens
from equipoise_conditions.rule import Card, Rule
from equipoise_conditions.rules.common import EPS, EPS_INSIDE, GAMMA, STD, WHITEN
from equipoise_conditions.rules.token_returns import TOKEN_GAMMA
from equipoise_conditions.rules.values.backups import (
    LAM,
    MASKED_REWARD,
    Whitening,
    inside,
    lambda_returns,
    measured_credit,
    policy_token_rewards,
    weight_of_next,
)
from equipoise_conditions.trajectories import Trajectories
from equipoise_conditions.whitening import COUNT_EPS

__all__ = ["GAE", "GAE_TURN", "gae", "gae_turn", "token_returns", "turn_returns"]


def token_returns(
    trajectories: Trajectories, values: FloatArray, *, token_gamma: float, lam: float, masked_reward: str
) -> FloatArray:
    """Return (K,) lambda-returns: what the critic regresses on, and GAE's advantage plus the value.

    The recursion runs over the tokens inside the loss only: from the last token before a tool's output it
    looks at the first token after it. NaN outside the loss.

    Args:
        trajectories: the batch.
        values: (K,) value before each token, NaN where not estimated.
        token_gamma: discount per token.
        lam: decay in [0, 1].
        masked_reward: see `policy_token_rewards`.
    """
    chosen = np.flatnonzero(trajectories.mask)
    same = inside(trajectories.trajectory_of_token[chosen])
    reward = policy_token_rewards(trajectories, masked_reward)
    returns = np.full(trajectories.n_tokens, np.nan)
    returns[chosen] = lambda_returns(reward, values[chosen], weight_of_next(same, token_gamma), lam)
    return returns


def turn_returns(trajectories: Trajectories, values: FloatArray, *, gamma: float, lam: float) -> FloatArray:
    """Return (T,) lambda-returns over turns: GAE's advantage plus the value.

    Args:
        trajectories: the batch.
        values: (T,) value before each turn, NaN where not estimated.
        gamma: discount per turn.
        lam: decay in [0, 1].
    """
    same = inside(trajectories.trajectory_of_turn)
    return lambda_returns(trajectories.reward, values, weight_of_next(same, gamma), lam)


def gae(  # noqa: PLR0913 - one keyword for each parameter of the rule
    trajectories: Trajectories,
    context: Context,
    *,
    token_gamma: float = 1.0,
    lam: float = 0.95,
    masked_reward: str = "carry",
    whiten: str = "none",
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
    count_eps: float = 0.0,
) -> Credit:
    """Return A_k = sum_j (gamma lam)^j delta_{k+j} over a trajectory's tokens inside the loss.

    delta_k = r_k + gamma V_{k+1} - V_k, with V = 0 beyond the end. Source: Schulman et al. 2016 (arXiv
    1506.02438); the treatment of masks and the whitening of preset "verl" are verl's.

    Args:
        trajectories: the batch; forked trajectories get no credit and are not whitened with.
        context: holds the token values.
        token_gamma: discount per token.
        lam: 0 is TD(0), 1 the discounted return minus the value.
        masked_reward: "carry" or "drop" a reward that stands outside the loss.
        whiten: "none", "batch" or "group".
        std: divisor when whitening.
        eps: added to it.
        eps_inside: add `eps` to the variance instead.
        count_eps: added to the number of tokens that the batch's mean and variance are divided by.
    """
    values = context.column(Need.TOKEN_VALUES, trajectories.n_tokens)
    returns = token_returns(
        trajectories, values, token_gamma=token_gamma, lam=lam, masked_reward=masked_reward
    )
    return measured_credit(
        trajectories,
        returns - values,
        on_tokens(trajectories),
        "token",
        Whitening(whiten, std, eps, eps_inside, count_eps),
    )


def gae_turn(
    trajectories: Trajectories,
    context: Context,
    *,
    gamma: float = 0.95,
    lam: float = 0.95,
    whiten: str = "none",
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
) -> Credit:
    """Return A_t = sum_j (gamma lam)^j delta_{t+j} over turns, delta_t = r_t + gamma V_{t+1} - V_t.

    Source: Schulman et al. 2016 (arXiv 1506.02438), with a whole turn for an action, as Turn-PPO (arXiv
    2512.17008) has it.

    Args:
        trajectories: the batch; forked trajectories get no credit and are not whitened with.
        context: holds the values of the states before the turns.
        gamma: discount per turn.
        lam: 0 is TD(0), 1 the discounted return minus the value.
        whiten: "none", "batch" or "group".
        std: divisor when whitening.
        eps: added to it.
        eps_inside: add `eps` to the variance instead.
    """
    values = context.column(Need.VALUES, trajectories.n_turns)
    advantage = turn_returns(trajectories, values, gamma=gamma, lam=lam) - values
    return measured_credit(
        trajectories,
        advantage,
        on_collected(trajectories),
        whitening=Whitening(whiten, std, eps, eps_inside),
    )


_DROPS = "nothing collected; undefined where a value that the sum reads was not estimated"
_ZEROES = "units whose lambda-return equals their value; a whitened batch of equal advantages"

GAE = Rule(
    name="gae",
    assign=gae,
    needs=frozenset({Need.TOKEN_VALUES}),
    parameters=(TOKEN_GAMMA, LAM, MASKED_REWARD, WHITEN, STD, EPS, EPS_INSIDE, COUNT_EPS),
    presets={
        "verl": {
            "token_gamma": 1.0,
            "lam": 1.0,
            "masked_reward": "drop",
            "whiten": "batch",
            "std": "sample",
            "eps": 1e-8,
            "eps_inside": True,
            "count_eps": 1e-8,
        }
    },
    card=Card(
        name="gae",
        title="Generalised advantages over tokens (GAE)",
        formula="A_k = Σ_j (γλ)^j δ_{k+j}, δ_k = r_k + γ V_{k+1} − V_k, V = 0 beyond the end",
        source="Schulman et al. 2016, arXiv 1506.02438",
        granularity="token",
        cost="one critic of the model's size: its memory, its passes and its warm-up",
        drops=_DROPS,
        zeroes=_ZEROES,
        reference_code="volcengine/verl b178a3cd verl/trainer/ppo/core_algos.py",
        methodology="temporal-difference",
        evidence="code",
        extra_forward="N critic passes over the collected tokens, and the critic's training",
        edge=(
            "tokens outside the loss are bridged: the sum goes on at the next token inside it. A reward on "
            "such a token is carried to the policy's last token before it (preset verl: lost). One token: "
            "its reward minus its value. Whitening gives a lone token 0 (verl raises)"
        ),
        caveats=(
            "credit is as good as the critic. The published code whitens every batch and leaves numbers on "
            "masked positions; here they are undefined. REINFORCE++ of the same code stops at a hole in the "
            "mask where GAE bridges it, so the two differ on tool use by more than the critic"
        ),
    ),
)

GAE_TURN = Rule(
    name="gae_turn",
    assign=gae_turn,
    needs=frozenset({Need.VALUES}),
    parameters=(GAMMA, LAM, WHITEN, STD, EPS, EPS_INSIDE),
    card=Card(
        name="gae_turn",
        title="Generalised advantages over turns (Turn-PPO)",
        formula="A_t = Σ_j (γλ)^j δ_{t+j}, δ_t = r_t + γ V_{t+1} − V_t, t counts turns",
        source="Schulman et al. 2016, arXiv 1506.02438; Turn-PPO 2026, arXiv 2512.17008",
        granularity="turn",
        cost="one critic of the model's size, read once a turn",
        drops=_DROPS,
        zeroes=_ZEROES,
        reference_code="none released for Turn-PPO; worked numbers from the formula",
        methodology="temporal-difference",
        evidence="reconstructed",
        extra_forward="T critic values, and the critic's training",
        edge="one turn: its reward minus its value. Whitening gives a lone turn 0",
        caveats=(
            "Turn-PPO also takes one probability ratio a turn, the product of its tokens' ratios, which is a "
            "matter of the loss and not of this credit. Its settings were not recovered: the defaults here are ours"
        ),
    ),
)
