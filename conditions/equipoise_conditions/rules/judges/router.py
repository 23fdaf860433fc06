"""A confidence router: a rule's credit for the turns that the policy was unsure of, and a choice for the others."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np

from equipoise_conditions.arrays import BoolArray
from equipoise_conditions.context import Context, Need, Verdicts
from equipoise_conditions.credit import Credit, Reason, credit_where, on_collected
from equipoise_conditions.errors import CrossedParameters, RuleError
from equipoise_conditions.projection import to_turns
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, SINGLETON, STD, turn_advantage
from equipoise_conditions.rules.implicit.confidence import MEASURES, turn_confidence
from equipoise_conditions.rules.judges.verdicts import FALLBACKS
from equipoise_conditions.trajectories import Trajectories

__all__ = ["judged_share", "judged_turns", "router", "router_over"]

_NO_PARAMETERS: Mapping[str, object] = {}

Find: TypeAlias = Callable[[str], Rule]
"""Looks a rule up by its name; handed in, since the registry lists this rule among its own."""


def router(  # noqa: PLR0913 - what is routed, by what, and what the others get
    find: Find,
    trajectories: Trajectories,
    context: Context,
    *,
    over: str = "turn_judge",
    over_parameters: Mapping[str, object] = _NO_PARAMETERS,
    measure: str = "mean",
    by: str = "quantile",
    threshold: float = -1.0,
    quantile: float = 0.25,
    unjudged: str = "undefined",
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
) -> Credit:
    """Return the credit of the rule `over` on turns with low confidence, and what was chosen on the others.

    A judge's verdicts on turns that are not routed are hidden from the rule: they would not have been asked
    for. Credit of another granularity comes as turn credit.

    Source: Zhang 2026 (arXiv 2608.19760), which routes a turn judge by a frozen threshold.

    Args:
        find: looks `over` up.
        trajectories: the batch.
        context: what `over` needs is read.
        over: the name of a rule.
        over_parameters: its parameters.
        measure: the confidence, see `turn_confidence`.
        by: a turn is routed below "threshold", or below the batch's "quantile" of confidence.
        threshold: in the measure's own unit.
        quantile: share of collected turns, about, that is routed.
        unjudged: the other turns: "undefined" (NOT_SELECTED), "zero", or "outcome" (group-relative).
        std: divisor of that outcome's advantage.
        eps: added to it.
        singleton: that advantage in a group of one: "zero", "raw" or "undefined".
    """
    inner = find(over)
    judged = judged_turns(trajectories, measure=measure, by=by, threshold=threshold, quantile=quantile)
    seen = _context(context, inner.needed(over_parameters), judged)
    credit = to_turns(inner.apply(trajectories, seen, over_parameters), trajectories)
    reason = on_collected(trajectories)
    value = np.zeros(trajectories.n_turns)
    if unjudged == "undefined":
        reason = np.where(reason == Reason.DEFINED, int(Reason.NOT_SELECTED), reason)
    elif unjudged == "outcome":
        value, alone = turn_advantage(trajectories, std=std, eps=eps, singleton=singleton, vote="trajectory")
        if singleton == "undefined":
            reason = np.where((reason == Reason.DEFINED) & alone, int(Reason.NO_GROUP), reason)
    return credit_where(
        np.where(judged, credit.value, value),
        np.where(judged, credit.reason, reason),
        loss_mask=credit.loss_mask,
    )


def judged_turns(
    trajectories: Trajectories, *, measure: str, by: str, threshold: float, quantile: float
) -> BoolArray:
    """Return (T,) the own turns whose confidence is below the threshold, or below the quantile of collected ones.

    Args:
        trajectories: the batch.
        measure: see `turn_confidence`.
        by: "threshold" or "quantile".
        threshold: in the measure's own unit.
        quantile: in [0, 1].
    """
    value = turn_confidence(trajectories, measure)
    known = np.isfinite(value)
    if by == "quantile":
        pool = value[known & trajectories.collected[trajectories.trajectory_of_turn]]
        threshold = float(np.quantile(pool, quantile)) if pool.size else -np.inf
    return trajectories.own & known & (np.where(known, value, 0.0) < threshold)


def judged_share(trajectories: Trajectories, parameters: Mapping[str, object] | None = None) -> float:
    """Return the share of collected turns that a router under these parameters hands to its rule.

    Raises:
        RuleError: when the parameters are wrong.
    """
    values = _ROUTER.validate(parameters)
    names = ("measure", "by", "threshold", "quantile")
    judged = judged_turns(trajectories, **{name: values[name] for name in names})  # type: ignore[arg-type]
    use = trajectories.collected[trajectories.trajectory_of_turn]
    return float(judged[use].mean()) if use.any() else 0.0


def _needs_of(find: Find, parameters: Mapping[str, object]) -> frozenset[Need]:
    inner = parameters["over_parameters"]
    assert isinstance(inner, Mapping), "the parameter was read as a mapping"
    return find(str(parameters["over"])).needed(inner)


def _faults_of(find: Find, parameters: Mapping[str, object]) -> list[str]:
    """Return what is wrong with the rule that is routed to: that there is none, or its parameters."""
    inner = parameters["over_parameters"]
    assert isinstance(inner, Mapping), "the parameter was read as a mapping"
    try:
        rule = find(str(parameters["over"]))
    except RuleError as error:
        return [f"over: {error}"]
    try:
        rule.validate(inner)
    except CrossedParameters as error:
        return [f"over_parameters: rule '{rule.name}': {fault}" for fault in error.faults]
    except RuleError as error:
        return [f"over_parameters: {error}"]
    return []


def _context(context: Context, needs: frozenset[Need], judged: BoolArray) -> Context:
    """Return what the inner rule may see: its needs, and a judge who was asked about routed turns only."""
    seen = Context(**{str(need): getattr(context, need.value) for need in needs - {Need.FORKS}})
    if seen.judge is None or seen.judge.asked.size != judged.size:
        return seen
    score = np.where(judged[:, None], seen.judge.score, np.nan)
    return replace(seen, judge=Verdicts(score, seen.judge.asked & judged))


_ROUTER = Rule(
    name="router",
    assign=router,
    needs=frozenset(),
    parameters=(
        Parameter("over", "turn_judge", "text", "name of the rule whose credit is kept on routed turns"),
        Parameter("over_parameters", _NO_PARAMETERS, "mapping", "parameters of that rule"),
        Parameter("measure", "mean", MEASURES, "the confidence of a turn, as in the rule confidence"),
        Parameter("by", "quantile", ("quantile", "threshold"), "what the confidence must be below"),
        Parameter("threshold", -1.0, "float", "a confidence, in its measure's unit, chosen on other data"),
        Parameter("quantile", 0.25, "float", "share of the batch's turns that is routed", 0.0, 1.0),
        Parameter(
            "unjudged",
            "undefined",
            FALLBACKS,
            "turns that are not routed: no credit (NOT_SELECTED), 0, or the outcome's credit",
        ),
        STD,
        EPS,
        SINGLETON,
    ),
    card=Card(
        name="router",
        title="Confidence router over any rule",
        formula="A_t = A_t of the rule `over` where c_t < θ; elsewhere none, 0 or the outcome's advantage",
        source="Zhang 2026, arXiv 2608.19760",
        granularity="turn",
        methodology="reweighting",
        evidence="notes",
        extra_rollouts="q × those of the rule routed, where they are made turn by turn",
        extra_forward="q × those of the rule routed, where they are made turn by turn",
        judge_calls="q × those of the rule routed, q the share of turns routed",
        cost="that of the rule it routes to, for the share of turns routed; confidence is kept while acting",
        drops="by default turns that are not routed (NOT_SELECTED); what the inner rule drops among the rest",
        zeroes="turns that are not routed when unjudged is zero; what the inner rule zeroes among the rest",
        reference_code="none released; worked numbers from the formula",
        edge=(
            "equal confidences route no turn, since none is below their quantile; turns without a token in the loss "
            "are not routed; forks keep the inner rule's credit where routed and are dropped elsewhere"
        ),
        caveats=(
            "undefined, 0 and the outcome's credit for the other turns are three different doses. The paper freezes "
            "its threshold on other data; a quantile of the batch moves with it. Confident mistakes are never "
            "routed: there recall of pivotal turns (11.9 %) did not exceed the share routed or saved (13.1 %; the "
            "sources disagree which). Rules that compare turns see only verdicts on routed ones; other measurements "
            "are not hidden, so that a rule may centre by turns that are not routed"
        ),
    ),
)


def router_over(find: Find) -> Rule:
    """Return the rule, routing to the rules that `find` knows."""
    return replace(
        _ROUTER,
        assign=partial(router, find),
        needs_of=partial(_needs_of, find),
        faults_of=partial(_faults_of, find),
    )
