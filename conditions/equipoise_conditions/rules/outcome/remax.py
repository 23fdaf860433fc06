"""ReMax: what a token and those after it earn, minus what greedy decoding earned on the same task."""

import numpy as np

from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, Reason, credit_where, on_tokens
from equipoise_conditions.rule import Card, Rule
from equipoise_conditions.rules.token_returns import reward_to_go
from equipoise_conditions.trajectories import Trajectories

__all__ = ["REMAX", "remax"]


def remax(trajectories: Trajectories, context: Context) -> Credit:
    """Return A_k = (sum of the rewards in the loss from token k on) - greedy outcome of the task.

    With its only reward at the end, a trajectory has one credit: its outcome minus the greedy one.

    Source: Li et al. 2023 (arXiv 2310.10505); volcengine/verl b178a3cd
    verl/trainer/ppo/core_algos.py:621-654.

    Args:
        trajectories: the batch; forked trajectories are no examples.
        context: `greedy`, (N,) outcome of greedy decoding on each trajectory's task; NaN where it was not
            played, which leaves the trajectory without credit.

    Returns:
        (K,) token-level credit.

    Raises:
        MissingNeed: when greedy outcomes were not measured.
        RuleError: when there is not one for each trajectory.
    """
    greedy = context.column(Need.GREEDY, trajectories.n)[trajectories.trajectory_of_token]
    reason = on_tokens(trajectories)
    unplayed = (reason == Reason.DEFINED) & np.isnan(greedy)
    reason = np.where(unplayed, int(Reason.NOT_MEASURED), reason)
    return credit_where(reward_to_go(trajectories) - greedy, reason, "token")


REMAX = Rule(
    name="remax",
    assign=remax,
    needs=frozenset({Need.GREEDY}),
    presets={"verl": {}},
    card=Card(
        name="remax",
        title="ReMax: greedy decoding as the baseline",
        formula="A_k = Σ_{j≥k} m_j r_j − R(greedy rollout of the task), m the loss mask",
        source="Li et al. 2023, arXiv 2310.10505",
        granularity="token",
        methodology="outcome",
        evidence="code",
        cost="one greedy rollout for each task of each batch",
        extra_rollouts="G, one for each of the G tasks",
        extra_forward="0",
        judge_calls="0",
        drops="trajectories whose task was not played greedily",
        zeroes="tokens whose remaining reward is what the greedy rollout earned",
        reference_code="volcengine/verl b178a3cd verl/trainer/ppo/core_algos.py:621-654",
        edge=(
            "needs no siblings, so a group of one is no exception; equal outcomes are zero only where greedy "
            "decoding earns the same; tokens outside the loss have no credit"
        ),
        caveats=(
            "a reward on a token outside the loss is not counted, and rewards before a token are not either, so "
            "with rewards on the way later tokens are compared with the greedy rollout's whole outcome; verl "
            "leaves the return visible inside holes of the mask, where here there is no credit; nothing is "
            "scaled, so the size of credit is the size of rewards"
        ),
    ),
)
