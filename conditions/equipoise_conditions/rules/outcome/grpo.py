"""GRPO: a trajectory's outcome against its siblings, the same for every turn."""

import numpy as np

from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, SINGLETON, STD, episode_credit, group_advantage
from equipoise_conditions.trajectories import Trajectories

__all__ = ["GRPO", "grpo"]


def grpo(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
    singleton: str = "zero",
) -> Credit:
    """Return A_i = (R_i - mean R) / (std R + eps) over the collected trajectories of a task.

    Source: Shao et al. 2024 (arXiv 2402.03300); `std="none"` is the Dr.GRPO form (arXiv 2503.20783).
    Defaults are those of verl's `compute_grpo_outcome_advantage`, but for a group of one.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        std: "sample", "population" or "none".
        eps: added to the standard deviation, or inside the root to the variance.
        eps_inside: where `eps` goes.
        singleton: "zero", "raw" (verl) or "undefined" for a task with one trajectory.
    """
    use = trajectories.collected
    score, alone = np.zeros(trajectories.n), np.zeros(trajectories.n, dtype=np.bool_)
    score[use], alone[use] = group_advantage(
        trajectories.outcome[use],
        trajectories.group[use],
        std=std,
        eps=eps,
        eps_inside=eps_inside,
        singleton=singleton,
    )
    return episode_credit(trajectories, score, alone, singleton=singleton)


GRPO = Rule(
    name="grpo",
    assign=grpo,
    needs=frozenset(),
    parameters=(
        STD,
        EPS,
        Parameter("eps_inside", default=False, kind="bool", doc="add eps to the variance, inside the root"),
        SINGLETON,
    ),
    card=Card(
        name="grpo",
        title="Group-relative outcome (GRPO, Dr.GRPO)",
        formula="A_i = (R_i − mean R) / (std R + ε), equal for all turns of trajectory i",
        source="Shao et al. 2024, arXiv 2402.03300; std none: Liu et al. 2025, arXiv 2503.20783",
        granularity="episode",
        cost="none beyond the collected trajectories",
        drops="nothing; a task with one trajectory only when singleton is undefined",
        zeroes="every trajectory of a task whose outcomes are all equal",
        reference_code="volcengine/verl b178a3cd verl/trainer/ppo/core_algos.py:266-330",
    ),
)
