"""ITPO: a turn's reward is the log-ratio of its tokens, or its share of the outcome by that log-ratio."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, Reason, credit_where
from equipoise_conditions.groups import codes, discounted
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, EPS_INSIDE, OMEGA, SINGLETON, STD, WHITEN
from equipoise_conditions.rules.implicit.signals import (
    BETA,
    OUTCOME_WEIGHT,
    SCALE,
    implicit_tokens,
    scaled,
    turn_reasons,
    turn_totals,
)
from equipoise_conditions.trajectories import Trajectories
from equipoise_conditions.whitening import Whitening, whitened_units

__all__ = ["ITPO", "itpo"]

_SCALE_EPS = 1e-6


def itpo(  # noqa: PLR0913 - the steps of the authors' estimator, each of which a suite may leave out
    trajectories: Trajectories,
    context: Context,
    *,
    beta: float = 0.1,
    form: str = "sum",
    temperature: float = 0.7,
    scale: str = "none",
    last_token: bool = True,
    baseline: str = "none",
    to_go: bool = False,
    omega: float = 1.0,
    outcome_weight: float = 0.0,
    whiten: str = "none",
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
    singleton: str = "zero",
) -> Credit:
    """Return the implicit reward of each turn, or the advantage that the authors make of it.

    form "sum": r_t = beta times the sum of the turn's log-ratios. form "share" (their Norm-ITPO): the outcome
    times softmax over the trajectory's turns of m_t L / temperature, m_t the turn's mean token reward and L
    the batch's mean number of tokens in a turn. With `baseline: leave_one_out`, r_t becomes
    r_t n/(n-1) - sum_j mean(r of trajectory j)/(n-1) over the n trajectories of the group.

    Source: Wang et al. 2026 (arXiv 2603.23550).

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: `log_ratio` is read: the implicit reward model over its reference.
        beta: multiplies the log-ratio.
        form: "sum" or "share".
        temperature: of the softmax in "share".
        scale: "largest" divides token rewards by the batch's largest absolute reward-to-go plus 1e-6.
        last_token: whether each trajectory's last token counts; the released code leaves it out.
        baseline: "none" or "leave_one_out".
        to_go: add the rewards of all later turns to a turn's own.
        omega: weight of the implicit reward.
        outcome_weight: weight of the outcome, which stands on the last turn.
        whiten: centre and divide by the deviation over tokens in the loss, of the batch or of each group.
        std: of the whitening: "sample", "population" or "none" (centred only).
        eps: of the whitening: added to the standard deviation.
        eps_inside: of the whitening: add `eps` to the variance instead.
        singleton: "zero", "raw" or "undefined" for a group of one trajectory, where there is a baseline; it
            votes in the whitening only when raw.

    Returns:
        (T,) turn-level credit; NOT_MEASURED where a turn that the formula reads has a token in the loss without
        a log-ratio: the turn itself, with `to_go` any later one, in a share any of the trajectory.
    """
    token, missing = implicit_tokens(trajectories, context, beta)
    token, missing = _without_last(trajectories, token, missing, last_token)
    lacking, _ = turn_totals(trajectories, missing.astype(np.float64))
    token = scaled(trajectories, token, scale, _SCALE_EPS)
    reward, count = turn_totals(trajectories, token)
    reason = turn_reasons(trajectories, np.where(lacking > 0, np.nan, reward), count)
    unknown: BoolArray = lacking > 0
    if form == "share":
        unknown = np.bincount(trajectories.trajectory_of_turn, unknown)[trajectories.trajectory_of_turn] > 0
        reason = _unmeasured(reason, unknown)
    use: BoolArray = reason == Reason.DEFINED
    if form == "share":
        reward = _share(trajectories, reward, count, use, temperature)
    outcome = np.zeros(trajectories.n_turns)
    last = trajectories.turn_offsets[1:] - 1
    outcome[last] = trajectories.outcome
    if baseline == "leave_one_out":
        reward = _leave_one_out(trajectories, reward, use, singleton)
        ends = np.zeros(use.size, dtype=np.bool_)
        ends[last] = trajectories.collected
        outcome = _leave_one_out(trajectories, outcome, ends, singleton)
    value = np.where(use, omega * reward, 0.0) + outcome_weight * outcome
    if to_go:
        value = discounted(value, trajectories.turn_offsets, 1.0)
        later = discounted(unknown.astype(np.float64), trajectories.turn_offsets, 1.0)
        reason = _unmeasured(reason, later > 0)
    if baseline != "none" and singleton != "raw":
        alone = (reason == Reason.DEFINED) & _alone(trajectories)
        use = (reason == Reason.DEFINED) & ~alone
        if singleton == "undefined":
            reason = np.where(alone, int(Reason.NO_GROUP), reason)
    else:
        use = reason == Reason.DEFINED
    how = Whitening(whiten, std, eps, eps_inside)
    return credit_where(whitened_units(value, use, trajectories.group_of_turn, how, count), reason)


def _unmeasured(reason: IntArray, unknown: BoolArray) -> IntArray:
    """Return (T,) reasons, NOT_MEASURED for credit that reads something `unknown`."""
    return np.where((reason == Reason.DEFINED) & unknown, int(Reason.NOT_MEASURED), reason)


def _without_last(
    trajectories: Trajectories, token: FloatArray, missing: BoolArray, last_token: bool
) -> tuple[FloatArray, BoolArray]:
    if last_token:
        return token, missing
    counts = np.ones(token.size, dtype=np.bool_)
    counts[trajectories.token_offsets_of_trajectory[1:] - 1] = False
    return token * counts, missing & counts


def _share(
    trajectories: Trajectories, reward: FloatArray, count: FloatArray, use: BoolArray, temperature: float
) -> FloatArray:
    """Return (T,) the outcome's share of each turn in `use`: a softmax of its mean token reward."""
    length = float(count[use].mean()) if use.any() else 1.0
    logit = np.where(use, reward / np.maximum(count, 1), -np.inf) * (length / temperature)
    of = trajectories.trajectory_of_turn
    highest = np.full(trajectories.n, -np.inf)
    np.maximum.at(highest, of[use], logit[use])
    weight = np.zeros(use.size)
    weight[use] = np.exp(logit[use] - highest[of[use]])
    total = np.bincount(of, weight, trajectories.n)[of]
    return np.divide(weight, total, out=weight, where=use) * trajectories.outcome[of]


def _alone(trajectories: Trajectories) -> BoolArray:
    code, n_groups = codes(trajectories.group)
    n = np.bincount(code, trajectories.collected, n_groups)[code]
    alone: BoolArray = np.equal(n, 1)[trajectories.trajectory_of_turn]
    return alone


def _leave_one_out(
    trajectories: Trajectories, reward: FloatArray, use: BoolArray, singleton: str
) -> FloatArray:
    """Return (T,) r n/(n-1) - sum of the trajectories' mean rewards/(n-1), over the turns in `use`; else 0."""
    of = trajectories.trajectory_of_turn
    known = np.where(use, reward, 0.0)
    turns = np.bincount(of, use, trajectories.n)
    mean = np.bincount(of, known, trajectories.n) / np.maximum(turns, 1)
    code, n_groups = codes(trajectories.group)
    n = np.bincount(code, turns > 0, n_groups)[code][of]
    total = np.bincount(code, mean, n_groups)[code][of]
    value = (known * n - total) / np.maximum(n - 1, 1)
    value = np.where(n > 1, value, known if singleton == "raw" else 0.0)
    return np.where(use, value, 0.0)


_RELEASED = {
    "last_token": False,
    "scale": "largest",
    "baseline": "leave_one_out",
    "to_go": True,
    "whiten": "batch",
    "std": "sample",
    "eps": 1e-8,
    "eps_inside": True,
    "omega": 5.0,
    "temperature": 0.4,
}

ITPO = Rule(
    name="itpo",
    assign=itpo,
    needs=frozenset({Need.LOG_RATIO}),
    parameters=(
        BETA,
        Parameter(
            "form", "sum", ("sum", "share"), "sum of log-ratios, or the outcome shared by a softmax of them"
        ),
        Parameter("temperature", 0.7, "float", "of the softmax in share", minimum=1e-6),
        SCALE,
        Parameter("last_token", default=True, kind="bool", doc="count the last token of each trajectory"),
        Parameter(
            "baseline", "none", ("none", "leave_one_out"), "compare with the group's other trajectories"
        ),
        Parameter("to_go", default=False, kind="bool", doc="add the rewards of all later turns"),
        OMEGA,
        OUTCOME_WEIGHT,
        WHITEN,
        STD,
        EPS,
        EPS_INSIDE,
        SINGLETON,
    ),
    presets={
        "itpo": {**_RELEASED, "form": "sum", "beta": 0.05},
        "itpo-norm": {**_RELEASED, "form": "share", "beta": 0.01},
    },
    card=Card(
        name="itpo",
        title="Implicit turn-wise rewards (ITPO, Norm-ITPO)",
        formula=(
            "A_t = r_t, r_t = β Σ_{j in t} (log π_φ(y_j) − log π_ref(y_j)); "
            "share: r_t = R softmax_t(L mean_j(β log-ratio)/τ)"
        ),
        source="Wang et al. 2026, arXiv 2603.23550",
        granularity="turn",
        methodology="implicit",
        evidence="code",
        extra_forward="2N passes (reward model and reference), and the reward model's training on outcomes",
        cost="a reward model of the policy's size, trained on outcomes beside the policy; one pass for each trajectory",
        drops="turns with a token in the loss that was not scored, with to_go the turns before, with share those "
        "beside; turns without a token in the loss",
        zeroes="turns on which reward model and reference agree; with share all turns of a trajectory with outcome 0",
        reference_code="Graph-COM/ITPO da2fe171 recipe/itpo/itpo_core_algos.py, recipe/itpo/prime_dp_rm.py",
        edge=(
            "a group of one has no leave-one-out baseline: zero, raw or undefined by singleton (the code divides by "
            "0); turns without a token in the loss have no reward, but hand later rewards on; whitening gives a lone "
            "turn 0"
        ),
        caveats=(
            "the plain sum is no advantage: only the baseline or whitening centres it. The released code leaves "
            "the last token of every trajectory out of the sum, divides all token rewards by the largest absolute "
            "reward-to-go of the scored batch, and weights them by 5 to 15 by task; its presets here are those of "
            "the mathematics scripts, without the KL and length terms. With share a failed trajectory gets no reward"
        ),
    ),
)
