"""GPG: the outcome minus the group's mean, scaled up by the share of the batch that says something."""

import numpy as np

from equipoise_conditions.arrays import BoolArray
from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit
from equipoise_conditions.groups import centred, codes
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import (
    SCORE,
    SINGLETON,
    Scale,
    episode_advantage,
    episode_credit,
    scores_of,
)
from equipoise_conditions.trajectories import Trajectories

__all__ = ["GPG", "gpg"]


def gpg(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    alpha: str = "scored",
    f_norm: float = 1.0,
    singleton: str = "zero",
    score: str = "outcome",
) -> Credit:
    """Return A_i = alpha (R_i - mean R) / f_norm, alpha = B / max(1, B_said).

    B counts the collected trajectories of the batch and B_said those of them that say something.

    Source: Chu et al. 2025 (arXiv 2504.02546); `alpha="scored"` is what verl's
    `compute_gpg_outcome_advantage` computes, whatever alpha it is handed.

    Args:
        trajectories: the batch; forked trajectories are neither counted nor examples.
        context: not read.
        alpha: which trajectories say something: those with a score other than 0 ("scored"), those of groups
            with unequal scores ("unequal"), or all ("none").
        f_norm: a constant divisor.
        singleton: "zero", "raw" (verl) or "undefined" for a group with one trajectory.
        score: "outcome" of the trajectory or sum of the rewards of its "tokens".
    """
    value, alone = episode_advantage(trajectories, Scale(std="none"), singleton=singleton, score=score)
    factor = 1.0
    if alpha != "none":
        said = _says_something(trajectories, alpha, score)
        factor = float(trajectories.collected.sum()) / max(1, int(said.sum()))
    return episode_credit(trajectories, factor * value / f_norm, alone, singleton=singleton)


def _says_something(trajectories: Trajectories, alpha: str, score: str) -> BoolArray:
    known = scores_of(trajectories, score)[trajectories.collected]
    if alpha == "scored":
        said: BoolArray = np.not_equal(known, 0.0)
        return said
    code, n_groups = codes(trajectories.group[trajectories.collected])
    differs = np.bincount(code, centred(known, code, n_groups) != 0.0, n_groups)
    unequal: BoolArray = differs[code] > 0
    return unequal


GPG = Rule(
    name="gpg",
    assign=gpg,
    needs=frozenset(),
    parameters=(
        Parameter(
            "alpha",
            "scored",
            ("scored", "unequal", "none"),
            "scale up by batch size over the number of trajectories with a score other than 0, over the "
            "number of those in groups with unequal scores, or not at all",
        ),
        Parameter("f_norm", 1.0, "float", "constant divisor", minimum=1e-9),
        SINGLETON,
        SCORE,
    ),
    presets={"verl": {"alpha": "scored", "f_norm": 1.0, "singleton": "raw", "score": "tokens"}},
    card=Card(
        name="gpg",
        title="Group policy gradient (GPG)",
        formula="A_i = α (R_i − mean R)/F, α = B / max(1, number of trajectories that say something)",
        source="Chu et al. 2025, arXiv 2504.02546",
        granularity="episode",
        methodology="outcome",
        evidence="code",
        cost="none beyond the collected trajectories",
        drops="nothing; a group with one trajectory only when singleton is undefined",
        zeroes="every trajectory of a group whose scores are all equal",
        reference_code="volcengine/verl b178a3cd verl/trainer/ppo/core_algos.py:657-717",
        edge=(
            "a group of one: 0, its score times α, or no credit; a batch of zeros: α = B, credit 0; masked "
            "tokens: their rewards count when tokens are summed; a fork: neither counted nor given credit"
        ),
        caveats=(
            "The default is verl's: it counts scores other than 0, so a failure scored 0 says nothing though "
            "its group is unequal, and the credit is no longer the same when all scores are shifted. alpha "
            "unequal counts groups that carry a gradient; that reading of the paper comes from secondary "
            "sources. verl ignores the alpha it is handed and computes a deviation that it never uses. α "
            "changes the dose of the whole batch."
        ),
    ),
)
