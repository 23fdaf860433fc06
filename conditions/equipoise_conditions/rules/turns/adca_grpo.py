"""ADCA-GRPO: a judge's good and bad steps and the outcome, each standardised, summed from the end."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Context, Need, Verdicts
from equipoise_conditions.credit import Credit, Reason, credit_where, on_collected
from equipoise_conditions.errors import RuleError
from equipoise_conditions.groups import codes
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, JUDGED, SINGLETON, STD, VOTE, check_length, group_advantage
from equipoise_conditions.rules.turns.scaling import (
    VARIANCE_EPS,
    returns_to_go,
    trained_turns,
    weighted_zscore,
)
from equipoise_conditions.trajectories import Trajectories

__all__ = ["ADCA_GRPO", "Flags", "adca_grpo", "step_flags"]

_NO_WEIGHT = 1e-8  # below this the allocation scheme has nothing to divide by and gives 0


@dataclass(frozen=True)
class Flags:
    """What is known of the steps of a batch.

    Attributes:
        good: (T,) whether a step is good.
        known: (T,) whether that was judged.
        step: (T,) turns that are steps: collected, with a token in the loss.
    """

    good: BoolArray
    known: BoolArray
    step: BoolArray


def adca_grpo(  # noqa: PLR0913 - one keyword for each convention of the published code
    trajectories: Trajectories,
    context: Context,
    *,
    scheme: str = "decouple",
    outcome_on: str = "last",
    alpha: float = 1.0,
    base: float = 0.2,
    consistent: float = 1.0,
    bad_in_success: float = 0.2,
    good_in_failure: float = 0.2,
    success_above: float = 0.5,
    good_above: float = 0.0,
    missing: str = "undefined",
    normalise: bool = True,
    vote: str = "trajectory",
    std: str = "sample",
    eps: float = 1e-6,
    variance_eps: float = 0.0,
    std_floor: float = 0.0,
    length_norm: bool = False,
    singleton: str = "zero",
) -> Credit:
    """Return A_t = sum over later steps and t itself of alpha z(s) + [last step] z(R).

    Source: modelscope/AgentEvolver a5a8db86 agentevolver/module/adv_processor/adca_grpo.py.

    Args:
        trajectories: the batch; forks do not vote, and turns without a token in the loss are no steps.
        context: `judge`, verdicts on the turns.
        scheme: "decouple" scores a good step +base and a bad one -base; "allocation" spreads +1 over the
            steps of a success and -1 over those of a failure, in proportion to their weights.
        outcome_on: "last" step, "all" steps, or "none" (only decouple; alpha is then not used).
        alpha: weight of the steps' z-scores.
        base: magnitude of a step's score; only decouple.
        consistent: weight of good steps in successes and of bad ones in failures; only allocation.
        bad_in_success: weight of bad steps in successes; only allocation.
        good_in_failure: weight of good steps in failures; only allocation.
        success_above: a trajectory succeeds when its outcome is above this.
        good_above: a verdict is good when its score is above this; several are put to the vote.
        missing: steps without a verdict: "undefined", "good", or as the "outcome" has it.
        normalise: whether steps are standardised by group.
        vote: "trajectory" (each has one vote, spread over its steps) or "turn".
        std: divisor of both z-scores; "none" only centres.
        eps: added to both standard deviations.
        variance_eps: added to the variance of the steps.
        std_floor: least standard deviation of the steps.
        length_norm: divide by the root of the number of steps; only decouple.
        singleton: outcome term of a group with one trajectory.

    Raises:
        MissingNeed: without verdicts.
        RuleError: when they are of another batch, or on allocation without an outcome.
    """
    faults = _scheme_faults({"scheme": scheme, "outcome_on": outcome_on})
    if faults:
        raise RuleError(faults[0])
    judge = context.need(Need.JUDGE, Verdicts)
    flags = step_flags(trajectories, judge, good_above)
    owner = trajectories.trajectory_of_turn
    success = (trajectories.outcome > success_above)[owner]
    good = np.where(flags.known, flags.good, success if missing == "outcome" else True)
    counted = flags.step & (flags.known | (missing != "undefined"))
    if scheme == "allocation":
        weight = np.where(good == success, consistent, np.where(success, bad_in_success, good_in_failure))
        score = _allocated(trajectories, weight * counted, success)
    else:
        score = np.where(good, base, -base)
    steps = np.where(counted, score, 0.0)
    if normalise:
        deviation = {"std": std, "eps": eps, "variance_eps": variance_eps, "std_floor": std_floor}
        steps[counted] = _step_term(trajectories, score, counted, vote, deviation)
    outcome, alone = _outcome_term(trajectories, std=std, eps=eps, singleton=singleton)
    total = _combined(trajectories, steps, outcome, flags.step, outcome_on=outcome_on, alpha=alpha)
    if length_norm and scheme == "decouple":
        total = total / np.sqrt(np.maximum(np.bincount(owner, flags.step, trajectories.n), 1))[owner]
    reason = on_collected(trajectories)
    if missing == "undefined":
        reason = _lacking(trajectories, reason, flags.step & ~flags.known, judge.asked)
    if singleton == "undefined":
        reason = np.where((reason == Reason.DEFINED) & alone[owner], int(Reason.NO_GROUP), reason)
    return credit_where(returns_to_go(total, trajectories.turn_offsets, 1.0), reason)


def _scheme_faults(params: Mapping[str, object]) -> list[str]:
    if params["scheme"] == "allocation" and params["outcome_on"] == "none":
        return ["outcome_on: expected last or all with the scheme allocation, got none; use decouple"]
    return []


def step_flags(trajectories: Trajectories, judge: Verdicts, good_above: float) -> Flags:
    """Return what the judge says of each step: good where more than half of its readable verdicts are.

    Raises:
        RuleError: when the verdicts are of another batch.
    """
    check_length("judge", judge.asked.size, trajectories)
    readable = np.isfinite(judge.score) & judge.asked[:, None]
    votes = readable.sum(axis=1)
    with np.errstate(invalid="ignore"):
        favourable = ((judge.score > good_above) & readable).sum(axis=1)
    return Flags(2 * favourable > votes, votes > 0, trained_turns(trajectories))


def _allocated(trajectories: Trajectories, weight: FloatArray, success: BoolArray) -> FloatArray:
    """Return (T,) shares of +1 in a success, of -1 in a failure; 0 where a trajectory has no weight."""
    owner = trajectories.trajectory_of_turn
    total = np.bincount(owner, weight, trajectories.n)[owner]
    share = np.divide(weight, total, out=np.zeros_like(weight), where=total > _NO_WEIGHT)
    return np.where(success, share, -share)


def _step_term(
    trajectories: Trajectories, score: FloatArray, counted: BoolArray, vote: str, deviation: dict[str, Any]
) -> FloatArray:
    """Return the counted steps' scores, standardised by group."""
    owner = trajectories.trajectory_of_turn
    code, n_groups = codes(trajectories.group)
    size = np.bincount(owner, counted, trajectories.n)
    share = 1.0 / size[owner][counted] if vote == "trajectory" else None
    return weighted_zscore(score[counted], code[owner][counted], n_groups, weight=share, **deviation)


def _outcome_term(
    trajectories: Trajectories, *, std: str, eps: float, singleton: str
) -> tuple[FloatArray, BoolArray]:
    use = trajectories.collected
    score, alone = np.zeros(trajectories.n), np.zeros(trajectories.n, dtype=np.bool_)
    score[use], alone[use] = group_advantage(
        trajectories.outcome[use], trajectories.group[use], std=std, eps=eps, singleton=singleton
    )
    return score, alone


def _combined(
    trajectories: Trajectories,
    steps: FloatArray,
    outcome: FloatArray,
    step: BoolArray,
    *,
    outcome_on: str,
    alpha: float,
) -> FloatArray:
    if outcome_on == "none":
        return steps
    if outcome_on == "all":
        return alpha * steps + np.where(step, outcome[trajectories.trajectory_of_turn], 0.0)
    place = np.where(step, np.arange(step.size), -1)
    last = np.maximum.reduceat(place, trajectories.turn_offsets[:-1])
    total = alpha * steps
    total[last[last >= 0]] += outcome[last >= 0]
    return total


def _lacking(trajectories: Trajectories, reason: IntArray, lacking: BoolArray, asked: BoolArray) -> IntArray:
    """Return reasons where a step without a verdict undoes the sums of all steps up to it."""
    where = np.flatnonzero(lacking)
    if not where.size:
        return reason
    before = np.concatenate(([0], np.cumsum(lacking)))
    following = before[:-1]
    reaches = following < before[trajectories.turn_offsets[1:]][trajectories.trajectory_of_turn]
    why = np.where(asked[where], int(Reason.UNPARSABLE), int(Reason.NOT_MEASURED))
    own = why[np.minimum(following, where.size - 1)]
    result: IntArray = np.where((reason == Reason.DEFINED) & reaches, own, reason)
    return result


_PUBLISHED = {"std": "population", "eps": 1e-12, "variance_eps": 1e-8}

ADCA_GRPO = Rule(
    name="adca_grpo",
    assign=adca_grpo,
    faults_of=_scheme_faults,
    needs=frozenset({Need.JUDGE}),
    supply=JUDGED,
    parameters=(
        Parameter(
            "scheme",
            "decouple",
            ("decouple", "allocation"),
            "steps score ±base by verdict, or share ±1 of the outcome by weights",
        ),
        Parameter(
            "outcome_on", "last", ("last", "all", "none"), "steps that the outcome's z-score is added to"
        ),
        Parameter("alpha", 1.0, "float", "weight of the steps beside the outcome"),
        Parameter("base", 0.2, "float", "magnitude of a step's score (decouple)", minimum=0.0),
        Parameter("consistent", 1.0, "float", "weight of steps that agree with the outcome", minimum=0.0),
        Parameter("bad_in_success", 0.2, "float", "weight of bad steps in successes", minimum=0.0),
        Parameter("good_in_failure", 0.2, "float", "weight of good steps in failures", minimum=0.0),
        Parameter("success_above", 0.5, "float", "outcomes above this are successes"),
        Parameter("good_above", 0.0, "float", "verdicts above this are good"),
        Parameter(
            "missing",
            "undefined",
            ("undefined", "good", "outcome"),
            "steps without a verdict: undefined, good, or good in a success and bad in a failure",
        ),
        Parameter("normalise", default=True, kind="bool", doc="standardise steps by group"),
        replace(
            VOTE,
            kind=("trajectory", "turn"),
            doc="in the steps' mean and deviation: one vote for each trajectory, or for each step",
        ),
        STD,
        EPS,
        VARIANCE_EPS,
        Parameter("std_floor", 0.0, "float", "least standard deviation of the steps", minimum=0.0),
        Parameter(
            "length_norm", default=False, kind="bool", doc="divide by the root of the steps (decouple)"
        ),
        SINGLETON,
    ),
    presets={
        "agentevolver": {"scheme": "decouple", "missing": "good", **_PUBLISHED},
        "agentevolver-allocation": {"scheme": "allocation", "missing": "outcome", **_PUBLISHED},
        "agentevolver-flat": {
            "scheme": "decouple",
            "missing": "good",
            "vote": "turn",
            **_PUBLISHED,
            "variance_eps": 0.0,
            "std_floor": 1e-8,
        },
    },
    card=Card(
        name="adca_grpo",
        title="Judged steps beside the outcome, summed from the end (ADCA-GRPO)",
        formula="A_t = Σ_{k≥t} (α z(s_k) + [k last] z(R)); s = ±base by verdict, or shares of ±1; z by group, "
        "every trajectory with one vote",
        source="AgentEvolver's ADCA-GRPO, as released in its repository",
        granularity="turn",
        methodology="llm-as-critic",
        evidence="code",
        judge_calls="N·V: one call for all steps of a trajectory, for each of V votes",
        cost="judge calls on every collected trajectory",
        drops="steps up to one without a verdict, unless missing says otherwise; groups of one only when "
        "singleton is undefined",
        zeroes="z of groups whose steps, or outcomes, are all equal; suffix sums that cancel",
        edge="one trajectory of one step alone: 0; alone with several steps: z-scores within it; a turn without "
        "a token in the loss is no step; a trajectory without steps still votes with its outcome; a tie of "
        "verdicts is bad",
        caveats="Sums run over steps that are z-scores already: early steps carry all later ones, so that "
        "credit grows with the number of steps left. The published code adds one epsilon inside the root, one "
        "outside; with flat votes it floors the deviation instead (preset -flat). It takes missing verdicts for "
        "good (decouple) or as the outcome has it (allocation) and cuts surplus ones; by default they are "
        "undefined here. With outcome_on all, z(R) too grows with the number of steps left.",
        reference_code="modelscope/AgentEvolver a5a8db86 agentevolver/module/adv_processor/adca_grpo.py",
    ),
)
