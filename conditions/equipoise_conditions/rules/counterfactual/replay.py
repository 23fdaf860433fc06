"""Executed replay: what the action taken brought, against what its alternatives would have brought."""

import numpy as np

from equipoise_conditions.context import Context, Need, Replays
from equipoise_conditions.credit import Credit, Reason, credit_where, on_collected
from equipoise_conditions.errors import RuleError
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.agents.statistics import tidy
from equipoise_conditions.rules.common import check_length
from equipoise_conditions.trajectories import Trajectories

__all__ = ["REPLAY", "measured_replays", "replay"]


def measured_replays(
    trajectories: Trajectories, context: Context, *, alternatives: int, rollouts: int
) -> Replays:
    """Return the replays of the context, known to be of this batch and of these sizes.

    Args:
        trajectories: the batch.
        context: `replays` is read.
        alternatives: K distinct alternatives a turn.
        rollouts: M rollouts of each arm.

    Raises:
        RuleError: when the replays are of another batch or were measured with another K or M.
    """
    measured = context.the_replays()
    check_length("replays", measured.reason.size, trajectories)
    if measured.alternative.shape[1:] != (alternatives, rollouts):
        message = (
            f"replays: expected {alternatives} alternatives of {rollouts} rollouts, got "
            f"{measured.alternative.shape[1]} of {measured.alternative.shape[2]}; "
            "execute them with the rule's own parameters"
        )
        raise RuleError(message)
    return measured


def replay(
    trajectories: Trajectories,
    context: Context,
    *,
    alternatives: int = 4,
    rollouts: int = 3,
    trajectories_per_task: int = 2,  # noqa: ARG001 - spent by whoever executes the replays
    zeros: str = "keep",
) -> Credit:
    """Return A_t = mean(factual) - mean(alternatives), undefined where replay is.

    Each of the distinct alternatives weighs the same, whatever its probability. Source: the
    executed-replay audit (arXiv 2608.19760), used here as a training signal and charged as such.

    Args:
        trajectories: the batch; forks are not examples.
        context: `replays` is read, measured with the same `alternatives` and `rollouts`.
        alternatives: K distinct alternatives a turn.
        rollouts: M rollouts of each arm.
        trajectories_per_task: allowance of trajectories whose turns are replayed; the rest arrive as
            NOT_SELECTED.
        zeros: "keep" contrasts of exactly 0 as examples, or "drop" them.

    Raises:
        RuleError: when the replays are of another batch or were measured with another K or M.
    """
    measured = measured_replays(trajectories, context, alternatives=alternatives, rollouts=rollouts)
    reason = on_collected(trajectories)
    reason = np.where(reason == Reason.DEFINED, measured.reason, reason)
    value = measured.factual.mean(axis=1) - measured.alternative.mean(axis=(1, 2))
    # Thirds do not add up exactly: two means that agree on paper may differ by an ulp.
    largest = np.abs(measured.alternative).max(axis=(1, 2))
    value = tidy(value, measured.factual.mean(axis=1), largest)
    if zeros == "drop":
        reason = np.where((reason == Reason.DEFINED) & (value == 0.0), int(Reason.DROPPED), reason)
    return credit_where(value, reason)


REPLAY = Rule(
    name="replay",
    assign=replay,
    needs=frozenset({Need.REPLAYS}),
    parameters=(
        Parameter("alternatives", 4, "int", "distinct alternatives a turn", minimum=1),
        Parameter("rollouts", 3, "int", "rollouts of each arm", minimum=1),
        Parameter("trajectories_per_task", 2, "int", "trajectories replayed for each task", minimum=1),
        Parameter("zeros", "keep", ("keep", "drop"), "whether contrasts of 0 stay examples"),
    ),
    card=Card(
        name="replay",
        title="Executed replay",
        formula="A_t = mean outcome of the action taken − mean outcome of K distinct alternatives",
        source="executed-replay audit 2026, arXiv 2608.19760",
        granularity="turn",
        cost="(K + 1)·M continuations for each replayed turn, plus resampling the alternatives",
        drops="turns outside the allowance or without K alternatives; zero contrasts if asked",
        zeroes="turns whose alternatives do as well",
        methodology="counterfactual",
        evidence="notes",
        extra_rollouts="(K + 1)·M for each replayed turn",
        edge="a turn with fewer than K distinct alternatives is NO_ALTERNATIVE; every turn with as good alternatives "
        "is an example of credit 0 unless zeros is drop",
        caveats="Published as the truth other signals are audited against, used here as a signal. With few rollouts a "
        "contrast other than 0 need not be an effect: a turn without any effect shows one often. Distinct "
        "alternatives weigh the same however unlikely they are.",
        reference_code="none released; worked numbers from the formula",
    ),
)
