"""REINFORCE++: returns of tokens, or outcomes against their group's mean, whitened over the whole batch."""

import numpy as np

from equipoise_conditions.arrays import FloatArray
from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit, Reason, credit_where, on_tokens
from equipoise_conditions.rule import Card, Rule
from equipoise_conditions.rules.common import (
    EPS,
    EPS_INSIDE,
    SCORE,
    SINGLETON,
    STD,
    episode_credit,
    scores_of,
)
from equipoise_conditions.rules.outcome.reinforce import against_baseline
from equipoise_conditions.rules.token_returns import TOKEN_GAMMA, return_to_mask
from equipoise_conditions.trajectories import Trajectories
from equipoise_conditions.whitening import COUNT_EPS, Whitening, whitened_units

__all__ = ["REINFORCE_PP", "REINFORCE_PP_BASELINE", "reinforce_pp", "reinforce_pp_baseline"]

_VERL = {"std": "sample", "eps": 1e-8, "eps_inside": True, "count_eps": 1e-8}


def reinforce_pp(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    token_gamma: float = 1.0,
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
    count_eps: float = 0.0,
) -> Credit:
    """Return the discounted return of each token, whitened over all tokens in the loss; there are no groups.

    Returns end at holes in the mask: a turn gives nothing to the turns before the tool output in between.

    Source: Hu 2025 (arXiv 2501.03262); `preset: verl` is volcengine/verl b178a3cd
    verl/trainer/ppo/core_algos.py:582-618.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        token_gamma: discount per token.
        std: "sample", "population" or "none" (centred only).
        eps: added to the standard deviation, or inside the root to the variance.
        eps_inside: where `eps` goes.
        count_eps: added to the number of tokens in mean and variance.

    Returns:
        (K,) token-level credit; 0 for a token that is alone in the loss.
    """
    returns = return_to_mask(
        trajectories.token_reward,
        trajectories.mask,
        trajectories.token_offsets_of_trajectory,
        token_gamma=token_gamma,
    )
    reason = on_tokens(trajectories)
    votes = np.equal(reason, int(Reason.DEFINED))
    how = Whitening("batch", std, eps, eps_inside, count_eps)
    value = whitened_units(returns, votes, trajectories.trajectory_of_token, how)
    return credit_where(value, reason, "token")


def reinforce_pp_baseline(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
    count_eps: float = 0.0,
    singleton: str = "zero",
    score: str = "outcome",
) -> Credit:
    """Return each outcome minus its group's mean, whitened over all tokens in the loss.

    A trajectory votes in the whitening with each of its tokens in the loss, so longer ones count more.

    Source: Hu et al. 2025 (arXiv 2501.03262); `preset: verl` is volcengine/verl b178a3cd
    verl/trainer/ppo/core_algos.py:422-473.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        std: "sample", "population" or "none" (centred only).
        eps: added to the standard deviation, or inside the root to the variance.
        eps_inside: where `eps` goes.
        count_eps: added to the number of tokens in mean and variance.
        singleton: "zero", "raw" or "undefined" for a group of one; only its raw outcome enters the whitening.
        score: "outcome", or "tokens" for the sum of all token rewards, masked ones included.

    Returns:
        (N,) episode-level credit; 0 where a single token is in the loss.
    """
    use = trajectories.collected
    value, alone = np.zeros(trajectories.n), np.zeros(trajectories.n, dtype=np.bool_)
    scored = scores_of(trajectories, score)
    value[use], alone[use] = against_baseline(
        scored[use], trajectories.group[use], baseline="mean", singleton=singleton
    )
    voter = use if singleton == "raw" else use & ~alone
    tokens = np.bincount(trajectories.trajectory_of_token, trajectories.mask, trajectories.n)
    votes: FloatArray = np.where(voter, tokens, 0.0)
    how = Whitening("batch", std, eps, eps_inside, count_eps)
    value = whitened_units(value, voter, trajectories.group, how, votes)
    return episode_credit(trajectories, value, alone, singleton=singleton)


REINFORCE_PP = Rule(
    name="reinforce_pp",
    assign=reinforce_pp,
    needs=frozenset(),
    parameters=(TOKEN_GAMMA, STD, EPS, EPS_INSIDE, COUNT_EPS),
    presets={"verl": {"token_gamma": 1.0, **_VERL}},
    card=Card(
        name="reinforce_pp",
        title="REINFORCE++: token returns whitened over the batch",
        formula="A_k = (G_k − mean G)/(std G + ε) over all tokens in the loss, G_k = r_k + γ m_{k+1} G_{k+1}",
        source="Hu 2025, arXiv 2501.03262",
        granularity="token",
        methodology="outcome",
        evidence="code",
        cost="none beyond the collected trajectories",
        extra_rollouts="0",
        extra_forward="0",
        judge_calls="0",
        drops="nothing",
        zeroes="every token when all returns in the batch are equal; tokens whose return is the mean",
        reference_code="volcengine/verl b178a3cd verl/trainer/ppo/core_algos.py:582-618",
        edge=(
            "a hole in the mask ends the return of the tokens before it; one token in the loss gets 0 (verl "
            "raises); without any token in the loss there is no credit (verl raises); there are no groups, so "
            "a group of one is no exception"
        ),
        caveats=(
            "in a batch of several turns only the last turn sees a reward that comes at the end, unless no "
            "token in between is masked; a reward on a token outside the loss reaches nobody; tokens vote, so "
            "long trajectories weigh more; hard tasks are not told from bad play, as the baseline is the "
            "batch's; the paper also takes a KL penalty into the reward, which is left to the trainer here"
        ),
    ),
)

REINFORCE_PP_BASELINE = Rule(
    name="reinforce_pp_baseline",
    assign=reinforce_pp_baseline,
    needs=frozenset(),
    parameters=(STD, EPS, EPS_INSIDE, COUNT_EPS, SINGLETON, SCORE),
    presets={"verl": {**_VERL, "singleton": "raw", "score": "tokens"}},
    card=Card(
        name="reinforce_pp_baseline",
        title="REINFORCE++-baseline: group mean, then whitened over the batch",
        formula="A_i = (D_i − mean D)/(std D + ε) over all tokens in the loss, D_i = R_i − mean_group R",
        source="Hu et al. 2025, arXiv 2501.03262",
        granularity="episode",
        methodology="outcome",
        evidence="code",
        cost="none beyond the collected trajectories",
        extra_rollouts="0",
        extra_forward="0",
        judge_calls="0",
        drops="nothing; a group of one only when singleton is undefined",
        zeroes="every trajectory when each equals its group's mean; otherwise none but by coincidence",
        reference_code="volcengine/verl b178a3cd verl/trainer/ppo/core_algos.py:422-473",
        edge=(
            "a group of equal outcomes gets minus the batch's mean, which is 0 only if lengths are balanced; a "
            "group of one gets 0 and stays out of the whitening (verl: its raw outcome goes into it); a "
            "trajectory without a token in the loss votes in its group but not in the whitening; one token in "
            "the loss gets 0 (verl raises)"
        ),
        caveats=(
            "the whitening is weighted by tokens: credit of one trajectory depends on the lengths of all "
            "others; a group's credits need not sum to 0"
        ),
    ),
)
