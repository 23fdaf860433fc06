"""Judges of several agents: the credit is the judge's own number, for each action or each agent."""

import numpy as np

from equipoise_conditions.arrays import FloatArray
from equipoise_conditions.context import Context, Need, Verdicts
from equipoise_conditions.credit import Credit, Reason, credit_where, on_collected, on_episodes
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, EPS_INSIDE, JUDGED, STD, WHITEN, check_length
from equipoise_conditions.trajectories import Trajectories
from equipoise_conditions.whitening import Whitening, whitened_units

__all__ = ["LLM_MCA", "MAPPA", "llm_mca", "mappa"]


def mappa(
    trajectories: Trajectories,
    context: Context,
    *,
    whiten: str = "none",
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
) -> Credit:
    """Return (T,) the mean of the verdicts on each action, as the judge gave them or standardised.

    Source: MAPPA (arXiv 2601.23228).

    Args:
        trajectories: the batch; forks are not examples.
        context: `judge` is read; a turn that was not asked about is NOT_MEASURED, one without a verdict that
            could be read UNPARSABLE.
        whiten: "none", or subtract the mean and divide by the deviation over the "batch" or each "group".
        std: that deviation: "sample", "population", or "none" to subtract the mean only.
        eps: added to it.
        eps_inside: add `eps` to the variance instead.

    Raises:
        RuleError: when the verdicts are of another batch.
    """
    verdicts = _verdicts(trajectories, context)
    score = _mean_verdict(verdicts)
    reason = on_collected(trajectories)
    read = np.isfinite(score)
    missing = np.where(verdicts.asked, int(Reason.UNPARSABLE), int(Reason.NOT_MEASURED))
    reason = np.where((reason == Reason.DEFINED) & ~read, missing, reason)
    use = reason == Reason.DEFINED
    score = whitened_units(score, use, trajectories.group_of_turn, Whitening(whiten, std, eps, eps_inside))
    return credit_where(score, reason)


def llm_mca(trajectories: Trajectories, context: Context, *, combine: str = "mean") -> Credit:
    """Return (A,) the judge's number for each agent, from its verdicts on the agent's turns.

    A judge that gives one number an agent has it written on each of the agent's turns, and the mean gives it
    back. Source: LLM-MCA (arXiv 2502.16863).

    Args:
        trajectories: the batch; forks are not examples.
        context: `judge` is read; an agent none of whose turns was asked about is NOT_MEASURED, one without any
            verdict that could be read UNPARSABLE.
        combine: "mean" or "sum" over the agent's turns with a verdict.

    Raises:
        RuleError: when the verdicts are of another batch.
    """
    verdicts = _verdicts(trajectories, context)
    score = _mean_verdict(verdicts)
    owner, _, unit = trajectories.agent_units
    read = np.isfinite(score)
    count = np.bincount(unit, read, owner.size)
    value = np.zeros(owner.size)
    np.add.at(value, unit, np.where(read, score, 0.0))
    if combine == "mean":
        value = value / np.maximum(count, 1.0)
    asked = np.bincount(unit, verdicts.asked, owner.size) > 0
    missing = np.where(asked, int(Reason.UNPARSABLE), int(Reason.NOT_MEASURED))
    reason = on_episodes(trajectories)[owner]
    reason = np.where((reason == Reason.DEFINED) & (count == 0), missing, reason)
    return credit_where(value, reason, "agent")


def _verdicts(trajectories: Trajectories, context: Context) -> Verdicts:
    verdicts = context.need(Need.JUDGE, Verdicts)
    check_length("judge", verdicts.asked.size, trajectories)
    return verdicts


def _mean_verdict(verdicts: Verdicts) -> FloatArray:
    """Return (T,) the mean of the verdicts that could be read, NaN where there is none or none was asked for."""
    read = np.isfinite(verdicts.score) & verdicts.asked[:, None]
    count = read.sum(axis=1)
    total = np.where(read, verdicts.score, 0.0).sum(axis=1)
    mean: FloatArray = np.divide(total, count, out=np.full(count.size, np.nan), where=count > 0)
    return mean


_CAVEAT = (
    "No formula stands behind the number: it is as good as the judge, and a judge that knows the outcome may only "
    "repeat it. A mean over several verdicts is our choice; scales are the judge's own and are not centred, so that "
    "a scale without negative numbers only ever rewards."
)

MAPPA = Rule(
    name="mappa",
    assign=mappa,
    needs=frozenset({Need.JUDGE}),
    supply=JUDGED,
    parameters=(WHITEN, STD, EPS, EPS_INSIDE),
    card=Card(
        name="mappa",
        title="Judge's score for each action of each agent (MAPPA)",
        formula="A_t = mean of the judge's scores of action t; standardised over batch or group if asked",
        source="MAPPA 2026, arXiv 2601.23228",
        granularity="turn",
        methodology="llm-as-critic",
        evidence="notes",
        cost="one judge call for each turn and verdict, each reading the action and what its tools said",
        judge_calls="T·V",
        drops="turns that were not judged or whose verdicts could not be read; forks",
        zeroes="turns that the judge scored 0; with whiten, scores equal to the mean",
        edge="verdicts of one turn are averaged over those that could be read; equal scores whiten to 0",
        caveats=_CAVEAT
        + " The authors' optimiser standardises over the whole batch: whiten batch comes near it.",
        reference_code="none compared; the credit is the judge's output",
    ),
)

LLM_MCA = Rule(
    name="llm_mca",
    assign=llm_mca,
    needs=frozenset({Need.JUDGE}),
    supply=JUDGED,
    parameters=(
        Parameter("combine", "mean", ("mean", "sum"), "verdicts of an agent's turns into one number"),
    ),
    card=Card(
        name="llm_mca",
        title="Central judge splits credit among agents (LLM-MCA)",
        formula="A_m = the judge's number for agent m (mean or sum of its verdicts on m's turns)",
        source="LLM-MCA 2025, arXiv 2502.16863",
        granularity="agent",
        methodology="llm-as-critic",
        evidence="notes",
        cost="judge calls that read the whole trajectory",
        judge_calls="T·V",
        drops="agents that were not judged or whose verdicts could not be read; forks",
        zeroes="agents to whom the judge gave 0",
        edge="turns without a verdict do not enter their agent's mean; an agent keeps credit while one turn has one",
        caveats=_CAVEAT + " Nothing makes the parts add up to the outcome.",
        reference_code="none compared; the credit is the judge's output",
    ),
)
