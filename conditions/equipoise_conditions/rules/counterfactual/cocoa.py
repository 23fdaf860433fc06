"""COCOA: later rewards, weighted by how much the action contributed to reaching them."""

import numpy as np

from equipoise_conditions.arrays import FloatArray, IntArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, Reason, credit_where, on_collected
from equipoise_conditions.groups import discounted
from equipoise_conditions.rule import Card, Rule
from equipoise_conditions.rules.common import GAMMA
from equipoise_conditions.rules.counterfactual.hindsight_ratio import LIMIT, PROBABILITY, log_ratio
from equipoise_conditions.trajectories import Trajectories

__all__ = ["COCOA", "cocoa", "contribution"]


def contribution(
    coefficient: FloatArray, reward: FloatArray, offsets: IntArray, gamma: float = 1.0
) -> FloatArray:
    """Return (T,) r_t + (w_t - 1) sum over k > t in the trajectory of gamma^(k-t) r_k.

    Args:
        coefficient: (T,) w_t of the action taken, one for all that follows.
        reward: (T,) rewards.
        offsets: (N+1,) turns of each trajectory.
        gamma: discount per turn.
    """
    later = discounted(reward, offsets, gamma)
    later = np.append(gamma * later[1:], 0.0)
    later[offsets[1:] - 1] = 0.0
    return reward + (coefficient - 1.0) * later


def cocoa(
    trajectories: Trajectories,
    context: Context,
    *,
    gamma: float = 0.95,
    probability: str = "action",
    limit: float = 0.0,
) -> Credit:
    """Return (T,) A_t = r_t + (h/pi - 1) sum over k > t of gamma^(k-t) r_k.

    h/pi is the contribution coefficient with the outcome as the rewarding event.

    Source: Meulemans et al. 2023 (arXiv 2306.16803), with h(a | s, outcome) of a language model that is told the
    outcome in words.

    Args:
        trajectories: the batch; forks are not examples.
        context: `outcome_scores` are read; where one is NaN or -inf the turn is NOT_MEASURED.
        gamma: discount per turn.
        probability: whether pi and h are of the whole "action" or a "token"'s geometric mean.
        limit: greatest h/pi; 0 for none.

    Raises:
        RuleError: when the scores are of another batch.
    """
    scores = context.column(Need.OUTCOME_SCORES, trajectories.n_turns)
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = np.exp(log_ratio(trajectories, scores, probability=probability))
        if limit > 0.0:
            ratio = np.minimum(ratio, limit)
        value = contribution(ratio, trajectories.reward, trajectories.turn_offsets, gamma)
    reason = on_collected(trajectories)
    missing = (reason == Reason.DEFINED) & ~np.isfinite(value)
    return credit_where(value, np.where(missing, int(Reason.NOT_MEASURED), reason))


COCOA = Rule(
    name="cocoa",
    assign=cocoa,
    needs=frozenset({Need.OUTCOME_SCORES}),
    parameters=(GAMMA, PROBABILITY, LIMIT),
    card=Card(
        name="cocoa",
        title="Counterfactual contribution (COCOA)",
        formula="A_t = r_t + (w_t − 1) Σ_{k>t} γ^{k−t} r_k, w_t = h(a_t | outcome)/π(a_t)",
        source="Meulemans et al. 2023, arXiv 2306.16803",
        granularity="turn",
        methodology="counterfactual",
        evidence="code",
        cost="one scoring pass for each turn, its prompt enlarged by the outcome told in words",
        extra_forward="T",
        drops="turns without a score, or to whose action hindsight gives no probability",
        zeroes="turns before which no reward stands and after which none follows; actions as likely in hindsight as "
        "before, when they bring no reward themselves",
        edge="the last turn of a trajectory gets its own reward; in the exact tables a rewarding event that is "
        "never met has coefficient 1 and contributes nothing",
        caveats="The immediate reward has no baseline, so that single trajectories are noisy even with exact "
        "coefficients. The paper credits every action, with coefficients that are learned or exact; here only the "
        "action taken, with one coefficient for all later rewards from a policy that is told the outcome: since "
        "the trajectory already speaks for that action, the expectation is not the advantage. Tabular functions "
        "with exact coefficients stand beside the rule and reproduce the authors' numbers.",
        reference_code="seijin-kobayashi/cocoa 55a19014 ccoa/contribution/causal.py, "
        "ccoa/contribution/modules/contribution_coefficient.py (tabular, exact coefficients)",
    ),
)
