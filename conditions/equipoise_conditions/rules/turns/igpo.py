"""IGPO: what each turn adds to the probability of the known answer, and the outcome on the last turn."""

from dataclasses import dataclass

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit, Reason, credit_where, on_collected
from equipoise_conditions.groups import codes
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, GAMMA, STD
from equipoise_conditions.rules.turns.information_gain import GAIN, MISSING, gain_needs, turn_gains
from equipoise_conditions.rules.turns.scaling import (
    VARIANCE_EPS,
    final_turns,
    returns_to_go,
    trained_trajectories,
    weighted_zscore,
)
from equipoise_conditions.trajectories import Trajectories

__all__ = ["IGPO", "Returns", "igpo", "merged_returns", "turn_returns"]


@dataclass(frozen=True)
class Returns:
    """How turn rewards become turn advantages.

    Attributes:
        normalise: "joint" (gains and outcomes of a group as one set), "separate" or "none".
        std: "sample", "population" or "none".
        eps: added to the standard deviation.
        variance_eps: added to the variance.
        gamma: discount per turn.
        gain_weight: factor of the gains, before normalisation.
        outcome_weight: factor of the outcomes, before normalisation.
        merge: whether turns whose gain, or whose normalised reward, is exactly 0 join the next turn.
        precision: "double", or "single" for rewards, means and differences rounded as in float32 code.
    """

    normalise: str = "joint"
    std: str = "sample"
    eps: float = 1e-6
    variance_eps: float = 0.0
    gamma: float = 0.95
    gain_weight: float = 1.0
    outcome_weight: float = 1.0
    merge: bool = False
    precision: str = "double"


def igpo(  # noqa: PLR0913 - one keyword for each convention in which published versions differ
    trajectories: Trajectories,
    context: Context,
    *,
    gain: str = "probability",
    normalise: str = "joint",
    gamma: float = 0.95,
    std: str = "sample",
    eps: float = 1e-6,
    variance_eps: float = 0.0,
    gain_weight: float = 1.0,
    outcome_weight: float = 1.0,
    merge: bool = False,
    precision: str = "double",
    missing: str = "undefined",
) -> Credit:
    """Return A_t = z_t + gamma A_{t+1}, z the normalised information gain, or outcome on the last turn.

    Source: arXiv 2510.14967; the presets are what debajoycs98/IGPO 86601963 computes.

    Args:
        trajectories: the batch; forks, and trajectories without a token in the loss, do not vote.
        context: `gold`, the mean log-probability of the known answer around each turn.
        gain: "probability", "log" or "recorded" (the batch's turn rewards; the last turn's is not read).
        normalise: see `Returns`.
        gamma: see `Returns`.
        std: see `Returns`.
        eps: see `Returns`.
        variance_eps: see `Returns`.
        gain_weight: see `Returns`.
        outcome_weight: see `Returns`.
        merge: see `Returns`.
        precision: see `Returns`.
        missing: "undefined" gives NO_GOLD, "outcome" the outcome alone, to a trajectory that lacks a gain.

    Raises:
        MissingNeed: when gains are needed and were not measured.
        RuleError: when they were measured on another batch.
    """
    reward, known = turn_gains(trajectories, context, gain)
    reward[trajectories.turn_offsets[1:] - 1] = trajectories.outcome
    final = final_turns(trajectories)
    owner = trajectories.trajectory_of_turn
    votes = trained_trajectories(trajectories)
    if missing == "undefined":
        votes = votes & known
    if bool(votes.all()) and bool(known.all()):
        counted = np.ones(owner.size, dtype=np.bool_)
    else:
        counted = votes[owner] & (final | known[owner])
    settings = Returns(
        normalise, std, eps, variance_eps, gamma, gain_weight, outcome_weight, merge, precision
    )
    value = turn_returns(reward, final, counted, trajectories.group, trajectories.turn_offsets, settings)
    reason = on_collected(trajectories)
    if missing == "undefined" and not bool(known.all()):
        reason = np.where((reason == Reason.DEFINED) & ~known[owner], int(Reason.NO_GOLD), reason)
    return credit_where(value, reason)


def turn_returns(
    reward: FloatArray,
    outcome: BoolArray,
    counted: BoolArray,
    group: IntArray,
    offsets: IntArray,
    settings: Returns,
) -> FloatArray:
    """Return (T,) advantages: rewards weighted, normalised by group, then summed from the end.

    Args:
        reward: (T,) gains and outcomes.
        outcome: (T,) which of them are outcomes.
        counted: (T,) which rewards exist; others count as 0 and do not enter the statistics.
        group: (N,) prompt group of each trajectory.
        offsets: (N+1,) turns of each trajectory.
        settings: the conventions.
    """
    if settings.merge:
        counted = counted & (outcome | (reward != 0))
    weighted = reward
    if (settings.gain_weight, settings.outcome_weight) != (1.0, 1.0):
        weighted = reward * np.where(outcome, settings.outcome_weight, settings.gain_weight)
    code, n_groups = codes(group)
    code = np.repeat(code, np.diff(offsets))
    if settings.normalise == "separate":
        code, n_groups = 2 * code + outcome, 2 * n_groups
    if bool(counted.all()):
        normal = _normalised(weighted, code, n_groups, settings)
    else:
        normal = np.zeros(reward.size)
        normal[counted] = _normalised(weighted[counted], code[counted], n_groups, settings)
    if settings.merge:
        return merged_returns(normal, offsets, settings.gamma)
    return returns_to_go(normal, offsets, settings.gamma)


def _normalised(reward: FloatArray, code: IntArray, n_groups: int, settings: Returns) -> FloatArray:
    if settings.normalise == "none":
        return reward
    return weighted_zscore(
        reward.astype(np.float32) if settings.precision == "single" else reward,
        code,
        n_groups,
        std=settings.std,
        eps=settings.eps,
        variance_eps=settings.variance_eps,
    )


def merged_returns(reward: FloatArray, offsets: IntArray, gamma: float) -> FloatArray:
    """Return (T,) discounted sums where a turn of reward exactly 0 is one with the next that is not.

    Such a turn has its successor's sum, undiscounted; turns after a trajectory's last reward have 0.

    Args:
        reward: (T,) rewards.
        offsets: (N+1,) turns of each trajectory.
        gamma: discount per merged turn.
    """
    kept = reward != 0
    before = np.concatenate(([0], np.cumsum(kept)))
    bounds = before[offsets]
    if not bounds[-1]:
        return np.zeros(reward.size)
    sums = returns_to_go(reward[kept], bounds, gamma)
    following = before[:-1]
    inside = following < np.repeat(bounds[1:], np.diff(offsets))
    return np.where(inside, sums[np.minimum(following, sums.size - 1)], 0.0)


_ICLR = {
    "gamma": 1.0,
    "std": "population",
    "eps": 1e-6,
    "variance_eps": 1e-8,
    "merge": True,
    "precision": "single",
    "missing": "outcome",
}

IGPO = Rule(
    name="igpo",
    assign=igpo,
    needs=frozenset(),
    needs_of=gain_needs,
    parameters=(
        GAIN,
        Parameter(
            "normalise",
            "joint",
            ("joint", "separate", "none"),
            "z-scores over a group's gains and outcomes together, over each kind apart, or none",
        ),
        GAMMA,
        STD,
        EPS,
        VARIANCE_EPS,
        Parameter("gain_weight", 1.0, "float", "factor of the gains before they are normalised"),
        Parameter("outcome_weight", 1.0, "float", "factor of the outcome before it is normalised"),
        Parameter(
            "merge", default=False, kind="bool", doc="turns of gain or z-score exactly 0 join the next turn"
        ),
        Parameter(
            "precision",
            "double",
            ("double", "single"),
            "of rewards and means while they are normalised; single is felt where a group hardly varies",
        ),
        MISSING,
    ),
    presets={
        "iclr": {"gain": "log", "normalise": "separate", **_ICLR},
        "iclr-joint": {"gain": "probability", "normalise": "joint", **_ICLR},
    },
    card=Card(
        name="igpo",
        title="Information gain about the known answer (IGPO)",
        formula="A_t = z(r_t) + γ A_{t+1}; r_t = exp(L_t) − exp(L_{t−1}), L = mean log-probability of the known "
        "answer after turn t; r = outcome on the last turn; z by group",
        source="IGPO, arXiv 2510.14967",
        granularity="turn",
        methodology="information-theoretic",
        evidence="code",
        extra_forward="T_i per trajectory: one pass over the known answer before the first turn and after each "
        "turn but the last",
        cost="one teacher-forced pass of the known answer a turn; needs a known answer",
        drops="trajectories that lack a gain (NO_GOLD), unless missing is outcome",
        zeroes="gains and outcomes equal throughout their set; with merge also last turns of such outcomes",
        edge="a set of one value: z = 0; a trajectory of one turn has its outcome alone; a trajectory without "
        "a token in the loss does not vote; holes in the mask change nothing; the last turn has no gain",
        caveats="The released codes differ from one another and from the survey, which gives log differences: "
        "the first release takes differences of exp(mean log-probability), an inverse perplexity, and no "
        "z-score (rule igpo_token); the later one takes either, z-scores, and finds turn ends by rewards that "
        "are not 0 after normalisation (merge). A later commit of the authors (49a8c4ec) finds them before. "
        "With holes in the mask their code takes a token other than the last for the outcome's; ours never "
        "does. They drop all gains of a trajectory when one is missing (missing: outcome); above ten turns "
        "they append a gain of 0 instead. Malformed answers score −2 there: outcomes are not in [0, 1]. log "
        "and probability rank turns differently.",
        reference_code="debajoycs98/IGPO 86601963 verl/trainer/ppo/core_algos.py:28-95,182-324; gains: "
        "GuoqingWang1/IGPO bff163b7 scrl/llm_agent/generation.py:413-425",
    ),
)
