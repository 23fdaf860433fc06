"""OPO: the outcome minus the group's mean weighted by length."""

from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit
from equipoise_conditions.rule import Card, Rule
from equipoise_conditions.rules.common import SCORE, SINGLETON, Scale, episode_advantage, episode_credit
from equipoise_conditions.trajectories import Trajectories

__all__ = ["OPO", "opo"]


def opo(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    singleton: str = "zero",
    score: str = "outcome",
) -> Credit:
    """Return A_i = R_i - (sum_j l_j R_j) / (sum_j l_j), l being tokens in the loss.

    The baseline that minimises the variance of the gradient weighs each reward by the squared norm of its
    score function; were that norm proportional to the length, the baseline would be this.

    Source: Hao et al. 2025 (arXiv 2505.23585), as verl's `compute_opo_outcome_advantage` has it.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        singleton: "zero", "raw" (verl) or "undefined" for a group with one trajectory.
        score: "outcome" of the trajectory or sum of the rewards of its "tokens".

    Returns:
        (N,) episode-level credit; MASKED for a group without a token in the loss.
    """
    # One vote a token is a mean weighted by length.
    value, alone = episode_advantage(
        trajectories, Scale(std="none"), singleton=singleton, vote="token", score=score
    )
    return episode_credit(trajectories, value, alone, singleton=singleton)


OPO = Rule(
    name="opo",
    assign=opo,
    needs=frozenset(),
    parameters=(SINGLETON, SCORE),
    presets={"verl": {"singleton": "raw", "score": "tokens"}},
    card=Card(
        name="opo",
        title="Outcome against the length-weighted mean (OPO)",
        formula="A_i = R_i − (Σ_j l_j R_j)/(Σ_j l_j), l = tokens in the loss, equal for all turns",
        source="Hao et al. 2025, arXiv 2505.23585",
        granularity="episode",
        methodology="outcome",
        evidence="code",
        cost="none beyond the collected trajectories",
        drops="groups without a token in the loss; a group with one trajectory when singleton is undefined",
        zeroes="every trajectory of a group whose scores are all equal",
        reference_code="volcengine/verl b178a3cd verl/trainer/ppo/core_algos.py:528-579",
        edge=(
            "a group of one: 0, its score, or no credit; a trajectory without a token in the loss does not "
            "vote; a group without any: no credit, where verl divides by 0; a fork: neither votes nor has "
            "credit"
        ),
        caveats=(
            "Credit does not sum to 0 over a group of trajectories of unequal length, only over its tokens. "
            "The length counts tokens in the loss, not tool output. Equal to GRPO with std none where tokens "
            "vote."
        ),
    ),
)
