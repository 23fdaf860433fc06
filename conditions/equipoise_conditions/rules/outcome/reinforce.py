"""REINFORCE with a baseline from the siblings, the same for every turn."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit
from equipoise_conditions.groups import centred, codes
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import SINGLETON, episode_credit
from equipoise_conditions.trajectories import Trajectories

__all__ = ["REINFORCE", "against_baseline", "reinforce"]


def against_baseline(
    score: FloatArray, group: IntArray, *, baseline: str, singleton: str
) -> tuple[FloatArray, BoolArray]:
    """Return (M,) scores minus their baseline, and which of them are alone in their group.

    The leave-one-out mean leaves R_i - (sum of the others)/(n - 1) = n/(n - 1) (R_i - mean R).
    """
    code, n_groups = codes(group)
    size = np.bincount(code, minlength=n_groups)[code]
    if baseline == "none":
        return score.copy(), size == 1
    value = centred(score, code, n_groups)
    if baseline == "leave-one-out":
        value = value * (size / np.maximum(size - 1, 1))
    if singleton == "raw":
        value = np.where(size == 1, score, value)
    return value, size == 1


def reinforce(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    subtract: str = "leave-one-out",
    singleton: str = "zero",
) -> Credit:
    """Return A_i = R_i - b_i over the collected trajectories of a task.

    Source: Williams 1992 (doi 10.1007/BF00992696); leave-one-out: Kool et al. 2019, Ahmadian et al. 2024
    (arXiv 2402.14740).

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        subtract: "leave-one-out" mean of the siblings, "mean" of the group, or "none".
        singleton: "zero", "raw" or "undefined" for a task with one trajectory; without a baseline a
            single trajectory needs no siblings and keeps its outcome.
    """
    use = trajectories.collected
    score, alone = np.zeros(trajectories.n), np.zeros(trajectories.n, dtype=np.bool_)
    score[use], alone[use] = against_baseline(
        trajectories.outcome[use], trajectories.group[use], baseline=subtract, singleton=singleton
    )
    return episode_credit(trajectories, score, alone & (subtract != "none"), singleton=singleton)


REINFORCE = Rule(
    name="reinforce",
    assign=reinforce,
    needs=frozenset(),
    parameters=(
        Parameter(
            "subtract",
            "leave-one-out",
            ("leave-one-out", "mean", "none"),
            "what is subtracted: the mean of the siblings, the mean of the group, or nothing",
        ),
        SINGLETON,
    ),
    card=Card(
        name="reinforce",
        title="REINFORCE with leave-one-out baseline (RLOO)",
        formula="A_i = R_i − (Σ_{j≠i} R_j)/(G−1), equal for all turns of trajectory i",
        source="Williams 1992, doi 10.1007/BF00992696; Ahmadian et al. 2024, arXiv 2402.14740",
        granularity="episode",
        cost="none beyond the collected trajectories",
        drops="nothing; a task with one trajectory only when singleton is undefined",
        zeroes="every trajectory whose outcome equals its baseline",
        reference_code="volcengine/verl b178a3cd verl/trainer/ppo/core_algos.py:476-525, trl 1.16.0",
    ),
)
