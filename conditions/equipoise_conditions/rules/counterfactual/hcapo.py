"""HCAPO: the return of a turn, reweighted by how likely its action looks once the end is known."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, Reason, credit_where
from equipoise_conditions.errors import RuleError
from equipoise_conditions.groups import codes, standardised
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import (
    EPS,
    GAMMA,
    OMEGA,
    SINGLETON,
    STD,
    check_length,
    clip_faults,
    turn_advantage,
    with_reasons,
)
from equipoise_conditions.trajectories import Trajectories

__all__ = ["HCAPO", "hcapo", "hindsight_return"]


def hindsight_return(
    trajectories: Trajectories,
    hindsight: FloatArray,
    *,
    temperature: float = 5.0,
    clip_low: float = 0.8,
    clip_high: float = 1.2,
    gamma: float = 0.95,
    alpha: float = 1.0,
) -> FloatArray:
    """Return (T,) Q_t = rho_t gamma^(T-t) R, 0 where hindsight is NaN.

    rho_t = clip(p_t / mean of p over the trajectory, clip_low, clip_high) with p_t = exp(h_t/temperature);
    the last turn is not discounted. The normaliser is the trajectory's mean, not the probability without
    hindsight: without that division rho ranks fluency as much as it ranks credit.

    Args:
        trajectories: the batch.
        hindsight: (T,) mean token log-probabilities with the final state revealed.
        temperature: divides the log-probabilities.
        clip_low: least ratio.
        clip_high: greatest ratio.
        gamma: discount per turn to the end.
        alpha: Q_t <- alpha Q_t + (1 - alpha) Q_{t+1}, with the unsmoothed right-hand side; 1 is off and
            the last turn keeps its own.

    Raises:
        RuleError: when the clip is empty, or a log-probability is above 0.
    """
    _check_log_probabilities(hindsight)
    if clip_low > clip_high:
        message = f"hindsight ratio: expected clip_low <= clip_high, got {clip_low:g} > {clip_high:g}"
        raise RuleError(message)
    of = trajectories.trajectory_of_turn
    measured = np.isfinite(hindsight)
    likelihood = np.exp(np.where(measured, hindsight, 0.0) / temperature) * measured
    count = np.bincount(of, measured, trajectories.n)
    total = np.bincount(of, likelihood, trajectories.n)
    mean = np.divide(total, count, out=np.ones(trajectories.n), where=count > 0)
    ratio = np.clip(likelihood / mean[of], clip_low, clip_high)
    left = trajectories.lengths[of] - 1 - trajectories.turn_index
    value: FloatArray = ratio * gamma**left * trajectories.outcome[of] * measured
    if alpha < 1.0:
        follows = (left[:-1] > 0) & measured[:-1] & measured[1:]
        smooth = alpha * value[:-1] + (1.0 - alpha) * value[1:]
        value = np.append(np.where(follows, smooth, value[:-1]), value[-1])
    return value


def _check_log_probabilities(hindsight: FloatArray) -> None:
    above = np.flatnonzero(hindsight > 0.0)
    if above.size:
        turn = int(above[0])
        message = (
            f"hindsight: expected log-probabilities, at most 0, got {hindsight[turn]:g} at turn {turn}; pass the "
            "mean log-probability of the turn's tokens, or NaN where it was not measured"
        )
        raise RuleError(message)


def hcapo(  # noqa: PLR0913 - the paper's own parameters, each of which a suite may set
    trajectories: Trajectories,
    context: Context,
    *,
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
    omega: float = 1.0,
    pool: str = "group",
    micro_std: str = "population",
    do_no_harm: bool = True,
    success: float = 0.5,
    **returns: float,
) -> Credit:
    """Return A_t = A_GRPO + omega (Q_t - mu)/(sigma + eps), Q from `hindsight_return`.

    Source: HCAPO (arXiv 2603.08754). The paper leaves open over which turns mu and sigma are taken: that
    is `pool`. In a trajectory that succeeded a negative turn term becomes 0 ("do no harm").

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: `hindsight` is read; turns where it is NaN are NOT_MEASURED.
        std: divisor of the episode term.
        eps: added to both standard deviations.
        singleton: "zero", "raw" or "undefined" for a task with one trajectory.
        omega: weight of the turn term.
        pool: "group" (turns of the task) or "batch" (all turns).
        micro_std: divisor of the turn term.
        do_no_harm: whether negative turn terms of successes become 0.
        success: least outcome of a success.
        **returns: temperature, clip_low, clip_high, gamma and alpha of `hindsight_return`.
    """
    hindsight = context.the_hindsight()
    check_length("hindsight", hindsight.size, trajectories)
    of = trajectories.trajectory_of_turn
    use: BoolArray = trajectories.collected[of] & np.isfinite(hindsight)
    episode, alone = turn_advantage(trajectories, std=std, eps=eps, singleton=singleton, vote="trajectory")
    value = hindsight_return(trajectories, hindsight, **returns)[use]
    task = trajectories.group_of_turn[use]
    group, n_groups = codes(task if pool == "group" else np.zeros_like(task))
    micro = np.zeros(trajectories.n_turns)
    micro[use] = standardised(value, group, n_groups, std=micro_std, eps=eps)
    if do_no_harm:
        micro = np.where(trajectories.outcome[of] >= success, np.maximum(micro, 0.0), micro)
    credit = with_reasons(trajectories, episode + omega * micro, alone, singleton=singleton)
    reason = np.where(credit.defined & ~use, int(Reason.NOT_MEASURED), credit.reason)
    return credit_where(credit.value, reason)


HCAPO = Rule(
    name="hcapo",
    assign=hcapo,
    needs=frozenset({Need.HINDSIGHT}),
    faults_of=clip_faults,
    parameters=(
        STD,
        EPS,
        SINGLETON,
        OMEGA,
        Parameter("temperature", 5.0, "float", "divides the hindsight log-probabilities", minimum=1e-6),
        Parameter("clip_low", 0.8, "float", "least hindsight ratio", minimum=0.0),
        Parameter("clip_high", 1.2, "float", "greatest hindsight ratio", minimum=0.0),
        GAMMA,
        Parameter("alpha", 1.0, "float", "smoothing towards the next turn; 1 is off", 0.0, 1.0),
        Parameter("pool", "group", ("group", "batch"), "turns that the turn term is standardised over"),
        Parameter("micro_std", "population", ("sample", "population", "none"), "divisor of the turn term"),
        Parameter("do_no_harm", default=True, kind="bool", doc="negative turn terms of successes become 0"),
        Parameter("success", 0.5, "float", "least outcome of a success", minimum=0.0, maximum=1.0),
    ),
    card=Card(
        name="hcapo",
        title="Hindsight credit (HCAPO)",
        formula="A_t = A_GRPO + ω (ρ_t γ^{T−t} R − μ)/σ, ρ_t = clip(p_t / mean p, 0.8, 1.2), p = exp(h/5)",
        source="HCAPO 2026, arXiv 2603.08754",
        granularity="turn",
        cost="one scoring pass for each turn, its prompt enlarged by the final state",
        drops="turns without a hindsight score",
        zeroes="the turn term inside failures is one constant; negative turn terms of successes are 0",
        methodology="counterfactual",
        evidence="notes",
        extra_forward="T",
        edge="turns without a score do not enter the trajectory's mean; all turns equally likely in hindsight differ "
        "only by their distance from the end; a task with one trajectory has no episode term (singleton)",
        caveats="The ratio is to the mean of the same trajectory, not to the policy's own probability as in classical "
        "hindsight credit, so that it ranks fluency as well. The paper does not say over which turns the turn term "
        "is standardised: that is pool. Outcomes that are not 0 or 1 need another success threshold.",
        reference_code="none released; worked numbers from the formula",
    ),
)
