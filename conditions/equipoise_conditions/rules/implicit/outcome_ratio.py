"""How much more likely an action looks once the outcome has been told in words."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, Reason, credit_where
from equipoise_conditions.errors import RuleError
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import check_length, clip_faults
from equipoise_conditions.rules.implicit.confidence import turn_confidence
from equipoise_conditions.rules.implicit.signals import CENTRE, centred_signal, turn_reasons, turn_totals
from equipoise_conditions.trajectories import Trajectories

__all__ = ["OUTCOME_RATIO", "outcome_ratio"]


def outcome_ratio(
    trajectories: Trajectories,
    context: Context,
    *,
    form: str = "increment",
    temperature: float = 5.0,
    clip_low: float = 0.8,
    clip_high: float = 1.2,
    centre: str = "group",
) -> Credit:
    """Return what telling the outcome adds to an action's log-probability, or its hindsight ratio, centred.

    With h_t the mean token log-probability of the action given the outcome and f_t that without it:
    form "increment" is h_t - f_t; form "rho" is clip(p_t / mean of p over the trajectory, clip_low,
    clip_high) with p_t = exp(h_t / temperature), which the audit scored as its implicit signal.

    Source: Zhang 2026 (arXiv 2608.19760), after HCAPO (arXiv 2603.08754).

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: `outcome_scores` is read; turns where it is NaN are NOT_MEASURED.
        form: "increment" or "rho".
        temperature: divides h_t in "rho".
        clip_low: least ratio in "rho".
        clip_high: greatest ratio in "rho".
        centre: "group", "trajectory", "batch" or "none".

    Raises:
        RuleError: when the clip is empty or the scores are of another batch.
    """
    if clip_low > clip_high:
        message = f"outcome ratio: expected clip_low <= clip_high, got {clip_low:g} > {clip_high:g}"
        raise RuleError(message)
    told = context.need(Need.OUTCOME_SCORES, np.ndarray)
    check_length("outcome_scores", told.size, trajectories)
    _, count = turn_totals(trajectories, trajectories.logprob)
    reason = turn_reasons(trajectories, told, count)
    use: BoolArray = reason == Reason.DEFINED
    if form == "rho":
        value = _ratio(trajectories, told, use, temperature)
        value = np.clip(value, clip_low, clip_high)
    else:
        value = np.where(use, told - turn_confidence(trajectories, "mean"), 0.0)
    return credit_where(centred_signal(trajectories, value, use, centre), reason)


def _ratio(trajectories: Trajectories, told: FloatArray, use: BoolArray, temperature: float) -> FloatArray:
    """Return (T,) p_t over its trajectory's mean, 1 outside `use`."""
    of = trajectories.trajectory_of_turn
    scaled = np.where(use, told, -np.inf) / temperature
    highest = np.full(trajectories.n, -np.inf)
    np.maximum.at(highest, of[use], scaled[use])
    likelihood = np.zeros(trajectories.n_turns)
    # Relative to the trajectory's likeliest turn, so that very unlikely actions do not all vanish.
    likelihood[use] = np.exp(scaled[use] - highest[of[use]])
    mean = np.bincount(of, likelihood, trajectories.n) / np.maximum(np.bincount(of, use, trajectories.n), 1)
    return np.divide(likelihood, mean[of], out=np.ones(likelihood.size), where=use)


OUTCOME_RATIO = Rule(
    name="outcome_ratio",
    assign=outcome_ratio,
    needs=frozenset({Need.OUTCOME_SCORES}),
    faults_of=clip_faults,
    parameters=(
        Parameter(
            "form", "increment", ("increment", "rho"), "what telling the outcome adds, or the hindsight ratio"
        ),
        Parameter("temperature", 5.0, "float", "divides the log-probabilities in rho", minimum=1e-6),
        Parameter("clip_low", 0.8, "float", "least ratio in rho", minimum=0.0),
        Parameter("clip_high", 1.2, "float", "greatest ratio in rho", minimum=0.0),
        CENTRE,
    ),
    card=Card(
        name="outcome_ratio",
        title="Outcome-conditioned log-probability (implicit signal of the replay audit)",
        formula=(
            "increment: A_t = (1/n)(log π(a|s,outcome) − log π(a|s)) − mean; "
            "rho: A_t = clip(p_t / mean p, 0.8, 1.2) − mean, p = exp(log π(a|s,outcome)/(5n))"
        ),
        source="Zhang 2026, arXiv 2608.19760; ratio after HCAPO 2026, arXiv 2603.08754",
        granularity="turn",
        methodology="implicit",
        evidence="notes",
        extra_forward="T passes with the outcome in the prompt (the acting pass gives the other term)",
        cost="one scoring pass for each turn, its prompt enlarged by the outcome in words",
        drops="turns without a score; turns none of whose tokens is in the loss",
        zeroes="turns at the mean they are compared with",
        reference_code="none released; worked numbers from the formula",
        edge="a trajectory of one scored turn has rho 1; scores must be means over the same tokens as the acting pass",
        caveats=(
            "the audit scored rho and found it to rank turns by fluency (rank correlation +0.75): its normaliser is "
            "the trajectory's mean, not the action's probability without the outcome. increment divides that out, "
            "and is therefore the default here. Both log-probabilities must be under one normalisation and temperature"
        ),
    ),
)
