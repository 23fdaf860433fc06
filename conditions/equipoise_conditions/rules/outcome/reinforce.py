"""REINFORCE with a baseline from the siblings or from the past, the same for every turn."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit
from equipoise_conditions.groups import centred, codes, discounted
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import (
    EPS,
    EPS_INSIDE,
    SCORE,
    SINGLETON,
    STD,
    WHITEN,
    episode_credit,
    scores_of,
)
from equipoise_conditions.trajectories import Trajectories
from equipoise_conditions.whitening import Whitening, whitened_units

__all__ = ["REINFORCE", "against_baseline", "against_past", "reinforce"]


def against_baseline(
    score: FloatArray, group: IntArray, *, baseline: str, singleton: str
) -> tuple[FloatArray, BoolArray]:
    """Return (M,) scores minus their baseline, and which of them are alone in their group.

    The leave-one-out mean leaves R_i - (sum of the others)/(n - 1) = n/(n - 1) (R_i - mean R).

    Args:
        score: (M,) outcomes.
        group: (M,) group keys.
        baseline: "leave-one-out", "mean" or "none".
        singleton: "raw" leaves a score that is alone as it is; any other word makes it 0.
    """
    code, n_groups = codes(group)
    size = np.bincount(code, minlength=n_groups)
    alone = (size == 1)[code]
    if baseline == "none":
        return score.copy(), alone
    value = centred(score, code, n_groups)
    if baseline == "leave-one-out":
        value *= (size / np.maximum(size - 1, 1))[code]
    if singleton == "raw":
        value = np.where(alone, score, value)
    return value, alone


def against_past(score: FloatArray, *, decay: float, singleton: str) -> tuple[FloatArray, BoolArray]:
    """Return (M,) scores minus the weighted mean of those before them, and which has none before it.

    Weights are decay to the power of the age: 1 for the one just before, decay for the one before that.
    With decay 1 that is the plain mean of all earlier scores, with 0 the one just before. Weights sum to 1
    from the start on, so early baselines are not drawn to 0.

    Args:
        score: (M,) outcomes in the order in which they came.
        decay: weight of a score relative to the next one, in [0, 1].
        singleton: "raw" leaves the first score as it is; any other word makes it 0.
    """
    first = np.arange(score.size) == 0
    value = np.where(first & (singleton == "raw"), score, 0.0)
    if score.size > 1:
        origin = score[0]  # differences from it are exactly 0 when all scores are equal
        offsets = np.array([0, score.size - 1])
        total = discounted((score[:-1] - origin)[::-1], offsets, decay)[::-1]
        weight = discounted(np.ones(score.size - 1), offsets, decay)[::-1]
        value[1:] = (score[1:] - origin) - total / weight
    return value, first


def reinforce(  # noqa: PLR0913 - every convention is a parameter
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    subtract: str = "leave-one-out",
    decay: float = 1.0,
    whiten: str = "none",
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
    singleton: str = "zero",
    score: str = "outcome",
) -> Credit:
    """Return A_i = R_i - b_i over the collected trajectories, whitened if asked for.

    Source: Williams 1992 (doi 10.1007/BF00992696); leave-one-out: Kool et al. 2019, Ahmadian et al. 2024
    (arXiv 2402.14740). Presets: verl and verl-vectorised (volcengine/verl b178a3cd), trl (1.16.0; its
    normalised advantages with `whiten: batch` beside it), spo (AIFrameResearch/SPO b9fc6a26).

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        subtract: "leave-one-out" mean of the siblings, "mean" of the group, "running" mean of the
            trajectories that stand before it in the batch whatever their group, or "none".
        decay: weight of an earlier trajectory in the running mean, relative to the next one.
        whiten: "batch" or "group" centres and divides by the deviation of all credit there.
        std: of the whitening: "sample" or "population"; "none" only centres.
        eps: of the whitening: added to the standard deviation.
        eps_inside: of the whitening: add `eps` to the variance instead.
        singleton: "zero", "raw" or "undefined" for a trajectory without a baseline: alone in its group, or
            the first of a running mean. It votes in the whitening only when raw. With subtract "none"
            nobody lacks a baseline.
        score: "outcome", or "tokens" for the sum of all token rewards, masked ones included.
    """
    use = trajectories.collected
    value, alone = np.zeros(trajectories.n), np.zeros(trajectories.n, dtype=np.bool_)
    chosen = slice(None) if bool(use.all()) else use  # a view is cheaper than a choice of everything
    scored = scores_of(trajectories, score)[chosen]
    if subtract == "running":
        value[chosen], alone[chosen] = against_past(scored, decay=decay, singleton=singleton)
    else:
        group = trajectories.group[chosen]
        value[chosen], alone[chosen] = against_baseline(scored, group, baseline=subtract, singleton=singleton)
        alone &= subtract != "none"
    if whiten != "none":
        vote = use if singleton == "raw" else use & ~alone
        value = whitened_units(value, vote, trajectories.group, Whitening(whiten, std, eps, eps_inside))
    return episode_credit(trajectories, value, alone, singleton=singleton)


_SUBTRACT = Parameter(
    "subtract",
    "leave-one-out",
    ("leave-one-out", "mean", "running", "none"),
    "what is subtracted: the mean of the siblings, of the group, of the trajectories before it, or nothing",
)
_DECAY = Parameter(
    "decay",
    1.0,
    "float",
    "running mean: weight of a trajectory relative to the next one; 1 is the plain mean of all before",
    minimum=0.0,
    maximum=1.0,
)

REINFORCE = Rule(
    name="reinforce",
    assign=reinforce,
    needs=frozenset(),
    parameters=(_SUBTRACT, _DECAY, WHITEN, STD, EPS, EPS_INSIDE, SINGLETON, SCORE),
    presets={
        "verl": {"subtract": "leave-one-out", "singleton": "raw", "score": "tokens"},
        "verl-vectorised": {"subtract": "leave-one-out", "singleton": "zero", "score": "tokens"},
        "trl": {"subtract": "leave-one-out", "singleton": "zero", "std": "sample", "eps": 1e-4},
        "spo": {"subtract": "leave-one-out", "singleton": "raw"},
    },
    card=Card(
        name="reinforce",
        title="REINFORCE with a baseline; leave-one-out (RLOO) by default",
        formula="A_i = R_i − b_i; leave-one-out b_i = (Σ_{j≠i} R_j)/(G−1); equal for all turns of trajectory i",
        source="Williams 1992, doi 10.1007/BF00992696; Ahmadian et al. 2024, arXiv 2402.14740",
        granularity="episode",
        methodology="outcome",
        evidence="code",
        cost="none beyond the collected trajectories",
        extra_rollouts="0",
        extra_forward="0",
        judge_calls="0",
        drops="nothing; trajectories without a baseline only when singleton is undefined",
        zeroes="every trajectory whose outcome equals its baseline, so all of a group with equal outcomes",
        reference_code=(
            "volcengine/verl b178a3cd verl/trainer/ppo/core_algos.py:476-525 and 720-755; trl 1.16.0 "
            "trl/trainer/rloo_trainer.py; AIFrameResearch/SPO b9fc6a26 "
            "src/treetune/episode_generators/math_episode_generator_with_group_advantages.py"
        ),
        edge=(
            "a group of one gets 0; its raw outcome in verl's loop and in SPO; outcomes are those of whole "
            "trajectories, so a trajectory without a token in the loss still votes; equal outcomes give exactly 0"
        ),
        caveats=(
            "verl's two functions of this name disagree on groups of one, and its score counts rewards on tokens "
            "outside the loss; the running mean is ours after the textbook: it depends on the order of the batch, "
            "starts anew in each batch and mixes tasks; a trajectory that could not be scored is no member here, "
            "which is what TRL makes of it; TRL also takes a KL penalty into the reward, which is left to the "
            "trainer here"
        ),
    ),
)
