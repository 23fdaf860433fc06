"""pass@k: only the best trajectory of a group has credit, for what it adds over the second best."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit
from equipoise_conditions.groups import centred, codes, divided, variances
from equipoise_conditions.rule import Card, Rule
from equipoise_conditions.rules.common import (
    EPS,
    EPS_INSIDE,
    SCORE,
    SINGLETON,
    STD,
    Scale,
    episode_credit,
    scores_of,
)
from equipoise_conditions.trajectories import Trajectories

__all__ = ["PASSK", "passk"]


def passk(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
    singleton: str = "zero",
    score: str = "outcome",
) -> Credit:
    """Return A_i = (max R - max of the others' R) / (std R + eps), which only the best has above 0.

    What the best of k attempts scores is lowered by taking attempt i away only if i alone is the best: the
    leave-one-out baseline of the maximum, k being the size of the group.

    Source: Tang et al. 2025 (arXiv 2503.19595), as verl's `compute_grpo_passk_outcome_advantage` has it.

    Args:
        trajectories: the batch; forked trajectories are neither rivals nor examples.
        context: not read.
        std: "sample", "population" or "none".
        eps: added to the standard deviation, or inside the root to the variance.
        eps_inside: where `eps` goes.
        singleton: "zero", "raw" (its score, as if the others had 0) or "undefined" for a group with one
            trajectory.
        score: "outcome" of the trajectory or sum of the rewards of its "tokens".
    """
    use = trajectories.collected
    value, alone = np.zeros(trajectories.n), np.zeros(trajectories.n, dtype=np.bool_)
    value[use], alone[use] = _beyond_second(
        scores_of(trajectories, score)[use],
        trajectories.group[use],
        Scale(std, eps, eps_inside),
        singleton=singleton,
    )
    return episode_credit(trajectories, value, alone, singleton=singleton)


def _beyond_second(
    score: FloatArray, group: IntArray, scale: Scale, *, singleton: str
) -> tuple[FloatArray, BoolArray]:
    code, n_groups = codes(group)
    size = np.bincount(code, minlength=n_groups)
    alone = size[code] == 1
    order = np.lexsort((score, code))
    best = order[np.cumsum(size) - 1]
    second = order[np.maximum(np.cumsum(size) - 2, 0)]
    lead = np.zeros_like(score)
    lead[best] = np.where(size > 1, score[best] - score[second], 0.0)
    raw = alone & (singleton == "raw")
    lead = np.where(raw, score, lead)
    if scale.std == "none":
        return lead, alone
    variance = variances(centred(score, code, n_groups), code, n_groups, std=scale.std)[code]
    known = np.where(raw, 1.0, variance)
    return divided(lead, known, eps=scale.eps, eps_inside=scale.eps_inside), alone


PASSK = Rule(
    name="passk",
    assign=passk,
    needs=frozenset(),
    parameters=(STD, EPS, EPS_INSIDE, SINGLETON, SCORE),
    presets={
        "verl": {"std": "sample", "eps": 1e-6, "singleton": "undefined", "score": "tokens"},
        "verl-without-std": {"std": "none", "singleton": "undefined", "score": "tokens"},
    },
    card=Card(
        name="passk",
        title="Best of the group against the second best (pass@k)",
        formula="A_i = (max_j R_j − max_{j≠i} R_j) / (std R + ε), equal for all turns of trajectory i",
        source="Tang et al. 2025, arXiv 2503.19595",
        granularity="episode",
        methodology="outcome",
        evidence="code",
        cost="none beyond the collected trajectories",
        drops="nothing; a group with one trajectory only when singleton is undefined",
        zeroes="all but the best trajectory of a group, and that too when another one equals it",
        reference_code="volcengine/verl b178a3cd verl/trainer/ppo/core_algos.py:360-419",
        edge=(
            "a group of one: 0, its score over 1 + ε, or no credit (verl refuses it); a tie at the top: 0 for "
            "everyone; masked tokens: their rewards count when tokens are summed; a fork: no rival"
        ),
        caveats=(
            "With outcomes 0 and 1 only a success that stands alone has credit, so most groups train nothing "
            "and nothing is ever pushed down. k is the size of the group; a smaller k is not offered. verl "
            "reads whether to divide by the deviation from its configuration, whatever the argument says."
        ),
    ),
)
