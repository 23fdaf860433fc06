"""SWEET-RL: a turn's advantage as the mean log-ratio of its tokens under a critic that knew the answer."""

import numpy as np

from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, credit_where
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.implicit.signals import BETA, implicit_tokens, turn_reasons, turn_totals
from equipoise_conditions.trajectories import Trajectories

__all__ = ["SWEET_RL", "sweet_rl"]


def sweet_rl(
    trajectories: Trajectories, context: Context, *, beta: float = 0.1, reduce: str = "mean"
) -> Credit:
    """Return A_t = beta / n_t times the sum over the turn's tokens of log pi_critic - log pi_reference.

    Source: Zhou et al. 2025 (arXiv 2503.15478); the division by the turn's length is theirs.

    Args:
        trajectories: the batch; forked trajectories are not examples.
        context: `log_ratio` is read: the critic, shown the reference answer, over the reference policy.
        beta: multiplies the log-ratio; it changes the scale of all credit alike.
        reduce: "mean" over the turn's tokens in the loss, or "sum".
    """
    token, missing = implicit_tokens(trajectories, context, beta)
    total, count = turn_totals(trajectories, token)
    lacking, _ = turn_totals(trajectories, missing.astype(np.float64))
    value = total / np.maximum(count, 1) if reduce == "mean" else total
    reason = turn_reasons(trajectories, np.where(lacking > 0, np.nan, value), count)
    return credit_where(value, reason)


SWEET_RL = Rule(
    name="sweet_rl",
    assign=sweet_rl,
    needs=frozenset({Need.LOG_RATIO}),
    parameters=(
        BETA,
        Parameter("reduce", "mean", ("mean", "sum"), "mean or sum over the turn's tokens in the loss"),
    ),
    presets={"sweet-rl": {"beta": 1.0, "reduce": "mean"}},
    card=Card(
        name="sweet_rl",
        title="Step-wise evaluation with training-time information (SWEET-RL)",
        formula="A_t = (β/n_t) Σ_j (log π_critic(y_j | s, answer) − log π_ref(y_j | s))",
        source="Zhou et al. 2025, arXiv 2503.15478",
        granularity="turn",
        methodology="implicit",
        evidence="code",
        extra_forward="2T passes (critic and reference), and the critic's own training",
        cost="a critic of the policy's size, trained on preferences of trajectories; two scoring passes for each turn",
        drops="turns with a token in the loss that was not scored; turns without a token in the loss",
        zeroes="turns on which critic and reference agree",
        reference_code="facebookresearch/sweet_rl 38daf2a5 scripts/rank_best_of_n.py:103-130",
        edge="no group enters: a group of one and equal outcomes change nothing; tokens outside the loss are not read",
        caveats=(
            "the paper ranks sampled candidates of a turn by this number and trains on pairs of them by preference; "
            "as the weight of a policy gradient it is our use. It is not centred: a critic that has moved away from "
            "the reference gives every turn the same sign. The critic sees the answer, the policy does not"
        ),
    ),
)
