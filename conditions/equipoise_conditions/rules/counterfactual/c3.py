"""C3: the action taken and its sampled alternatives, each against the mean of the others."""

import numpy as np

from equipoise_conditions.arrays import FloatArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, Reason, credit_where, on_collected
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.agents.statistics import tidy
from equipoise_conditions.rules.counterfactual.replay import measured_replays
from equipoise_conditions.trajectories import Trajectories

__all__ = ["C3", "against_the_others", "c3"]


def against_the_others(reward: FloatArray) -> FloatArray:
    """Return (..., n) A_i = R_i - mean over j other than i of R_j, exactly 0 where all are equal.

    Args:
        reward: (..., n) rewards of n continuations from one context, n at least 2.
    """
    n = reward.shape[-1]
    mean = reward.mean(axis=-1, keepdims=True)
    # R_i - (n mean - R_i)/(n - 1), subtracting only once.
    value = (reward - mean) * (n / (n - 1))
    return tidy(value, np.abs(reward).max(axis=-1, keepdims=True))


def c3(
    trajectories: Trajectories,
    context: Context,
    *,
    alternatives: int = 4,
    rollouts: int = 3,
    trajectories_per_task: int = 2,  # noqa: ARG001 - spent by whoever executes the replays
) -> Credit:
    """Return (T,) A_i = R_i - mean of the R_j of the alternatives, i being the action that was taken.

    Source: C3 (arXiv 2603.06859): n sampled actions of a frozen context, one continuation each. Here n is the action
    taken and its alternatives, and R the mean of the rollouts of each.

    Args:
        trajectories: the batch; forks are not examples.
        context: `replays` is read, measured with the same `alternatives` and `rollouts`.
        alternatives: distinct alternatives a turn; the paper's n is one more.
        rollouts: continuations of each action; the paper runs one.
        trajectories_per_task: allowance of trajectories whose turns are replayed; the rest arrive as
            NOT_SELECTED.

    Raises:
        RuleError: when the replays are of another batch or of another size.
    """
    measured = measured_replays(trajectories, context, alternatives=alternatives, rollouts=rollouts)
    taken = measured.factual.mean(axis=1)[:, None]
    reward = np.concatenate([taken, measured.alternative.mean(axis=2)], axis=1)
    reason = on_collected(trajectories)
    reason = np.where(reason == Reason.DEFINED, measured.reason, reason)
    return credit_where(against_the_others(reward)[:, 0], reason)


C3 = Rule(
    name="c3",
    assign=c3,
    needs=frozenset({Need.REPLAYS}),
    parameters=(
        Parameter("alternatives", 4, "int", "distinct alternatives a turn", minimum=1),
        Parameter("rollouts", 3, "int", "continuations of each action", minimum=1),
        Parameter("trajectories_per_task", 2, "int", "trajectories replayed for each task", minimum=1),
    ),
    card=Card(
        name="c3",
        title="Frozen-context leave-one-out (C3)",
        formula="A_i = R_i − mean_{j≠i} R_j over the action taken and its alternatives",
        source="C3 2026, arXiv 2603.06859",
        granularity="turn",
        methodology="counterfactual",
        evidence="notes",
        cost="n continuations for each decision, each from a restored state",
        extra_rollouts="(K + 1)·M for each replayed turn",
        drops="turns outside the allowance (NOT_SELECTED) or with too few alternatives (NO_ALTERNATIVE); forks",
        zeroes="turns at which every action brought the same",
        edge="two actions are enough; equal rewards give exactly 0",
        caveats="On the same replays this is the credit of the rule replay: comparing the two compares nothing. "
        "The paper takes n = 4 with one continuation each, samples its alternatives from the policy and trains on "
        "them too; here they are distinct and only the action of the collected trajectory is an example.",
        reference_code="none compared; worked numbers from the formula",
    ),
)
