"""POAD: Bellman backups token by token inside an action without discount, and discounted between actions."""

import numpy as np

from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, on_tokens
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

__all__ = ["POAD", "poad"]


def poad(  # noqa: PLR0913 - one keyword for each parameter of the rule
    trajectories: Trajectories,
    context: Context,
    *,
    gamma: float = 0.95,
    token_gamma: float = 1.0,
    lam: float = 0.95,
    masked_reward: str = "carry",
    whiten: str = "none",
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
) -> Credit:
    """Return A_k = delta_k + c_k lam A_{k+1}, delta_k = r_k + c_k V_{k+1} - V_k.

    c_k is 1 between two tokens of one turn and gamma from a turn's last token to the next turn's first.
    Source: Wen et al. 2024 (arXiv 2405.15821) and the authors' code; its baseline NTPO discounts every
    token, which is `token_gamma` equal to `gamma`.

    Args:
        trajectories: the batch; forked trajectories get no credit and are not whitened with.
        context: holds the token values.
        gamma: discount per turn.
        token_gamma: discount per token inside a turn; other than 1 it is no longer POAD.
        lam: decay of later differences, inside and between turns.
        masked_reward: "carry" or "drop" a reward that stands outside the loss.
        whiten: "none", "batch" or "group".
        std: divisor when whitening.
        eps: added to it.
        eps_inside: add `eps` to the variance instead.
    """
    values = context.column(Need.TOKEN_VALUES, trajectories.n_tokens)
    chosen = np.flatnonzero(trajectories.mask)
    turn = trajectories.turn_of_token[chosen]
    same = inside(trajectories.trajectory_of_turn[turn])
    discount = weight_of_next(same, np.where(inside(turn), token_gamma, gamma))
    reward = policy_token_rewards(trajectories, masked_reward)
    advantage = np.full(trajectories.n_tokens, np.nan)
    advantage[chosen] = lambda_returns(reward, values[chosen], discount, lam) - values[chosen]
    return measured_credit(
        trajectories,
        advantage,
        on_tokens(trajectories),
        "token",
        Whitening(whiten, std, eps, eps_inside),
    )


POAD = Rule(
    name="poad",
    assign=poad,
    needs=frozenset({Need.TOKEN_VALUES}),
    parameters=(GAMMA, TOKEN_GAMMA, LAM, MASKED_REWARD, WHITEN, STD, EPS, EPS_INSIDE),
    card=Card(
        name="poad",
        title="Action decomposition (POAD)",
        formula="A_k = δ_k + c_k λ A_{k+1}, δ_k = r_k + c_k V_{k+1} − V_k, c = 1 inside a turn, γ between turns",
        source="Wen et al. 2024, arXiv 2405.15821",
        granularity="token",
        cost="one critic of the model's size, read at every token",
        drops="nothing collected; undefined where a value that the sum reads was not estimated",
        zeroes="tokens whose return equals their value; a whitened batch of equal advantages",
        reference_code="morning9393/ADRL 1a56809c mappo/utils/language_buffer.py (read, not run)",
        methodology="temporal-difference",
        evidence="code",
        extra_forward="N critic passes over the collected tokens, and the critic's training",
        edge=(
            "at gamma 1 it is token-level GAE. Tokens outside the loss are bridged; a turn wholly outside it "
            "is passed over with one discount. One token: its reward minus its value"
        ),
        caveats=(
            "the two levels are two discounts, not two recursions: lam decays across turns and inside them "
            "alike, so a long action still dilutes what comes after it unless lam is 1"
        ),
    ),
)
