"""GRPO: a trajectory's outcome against its siblings, the same for every turn."""

from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import (
    EPS,
    EPS_INSIDE,
    SCORE,
    SINGLETON,
    STD,
    VOTE,
    WHITEN,
    Scale,
    episode_advantage,
    episode_credit,
    votes_of,
)
from equipoise_conditions.trajectories import Trajectories
from equipoise_conditions.whitening import Whitening, whitened_units

__all__ = ["GRPO", "grpo"]


def grpo(  # noqa: PLR0913 - the conventions in which published implementations differ
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
    std_over: str = "group",
    variance_floor: float = 0.0,
    singleton: str = "zero",
    vote: str = "trajectory",
    score: str = "outcome",
    whiten: str = "none",
) -> Credit:
    """Return A_i = (R_i - mean R) / (std R + eps) over the collected trajectories of a group.

    Source: Shao et al. 2024 (arXiv 2402.03300); `std="none"` is the Dr.GRPO form (arXiv 2503.20783).
    Defaults are those of verl's `compute_grpo_outcome_advantage`, but for a group of one and for the score.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        std: "sample", "population" or "none".
        eps: added to the standard deviation, or inside the root to the variance.
        eps_inside: where `eps` goes.
        std_over: "group", or "batch" for the deviation of all scores from the mean of all.
        variance_floor: least variance to divide by the root of; 0 for none.
        singleton: "zero", "raw" (verl) or "undefined" for a group with one trajectory.
        vote: "trajectory", "turn" or "token": what has one vote in mean and deviation.
        score: "outcome" of the trajectory or sum of the rewards of its "tokens".
        whiten: "none", "batch" or "group": whether the credit is standardised once more, by the same `std`; a
            group of one votes there only when raw.

    Returns:
        (N,) episode-level credit; MASKED where tokens vote and the group has none in the loss.
    """
    scale = Scale(std, eps, eps_inside, std_over, variance_floor)
    value, alone = episode_advantage(trajectories, scale, singleton=singleton, vote=vote, score=score)
    credit = episode_credit(trajectories, value, alone, singleton=singleton)
    if whiten == "none":
        return credit
    use = credit.defined if singleton == "raw" else credit.defined & ~alone
    how = Whitening(whiten, std, eps, eps_inside)
    value = whitened_units(value, use, trajectories.group, how, votes_of(trajectories, vote))
    return episode_credit(trajectories, value, alone, singleton=singleton)


_PRESETS: dict[str, dict[str, object]] = {
    "verl": {"std": "sample", "eps": 1e-6, "singleton": "raw", "score": "tokens"},
    "verl-vectorised": {
        "std": "sample",
        "eps": 1e-6,
        "variance_floor": 1e-6,
        "singleton": "raw",
        "score": "tokens",
    },
    "trl": {"std": "sample", "eps": 1e-4, "std_over": "group", "singleton": "zero"},
    "trl-batch": {"std": "sample", "eps": 1e-4, "std_over": "batch", "singleton": "zero"},
    "dr-grpo": {"std": "none", "singleton": "zero", "score": "tokens"},
    "dr-grpo-with-std": {"std": "sample", "eps": 1e-8, "singleton": "undefined", "score": "tokens"},
    "spo": {"std": "population", "eps": 1e-8, "singleton": "zero"},
    "cts": {"std": "population", "eps": 1e-6, "singleton": "zero"},
    "mt-grpo": {"std": "sample", "eps": 1e-4, "singleton": "undefined"},
    "survey": {"std": "none", "singleton": "zero"},
}
_CAN_DO_WITHOUT = ("verl", "verl-vectorised", "trl")  # their own switch leaves the deviation out

GRPO = Rule(
    name="grpo",
    assign=grpo,
    needs=frozenset(),
    parameters=(
        STD,
        EPS,
        EPS_INSIDE,
        Parameter(
            "std_over",
            "group",
            ("group", "batch"),
            "whose standard deviation divides: the group's own, or that of all scores of the batch",
        ),
        Parameter("variance_floor", 0.0, "float", "least variance to divide by the root of", minimum=0.0),
        SINGLETON,
        VOTE,
        SCORE,
        WHITEN,
    ),
    presets={
        **_PRESETS,
        **{f"{name}-without-std": {**_PRESETS[name], "std": "none"} for name in _CAN_DO_WITHOUT},
    },
    card=Card(
        name="grpo",
        title="Group-relative outcome (GRPO, Dr.GRPO)",
        formula="A_i = (R_i − mean R) / (std R + ε), equal for all turns of trajectory i",
        source="Shao et al. 2024, arXiv 2402.03300; std none: Liu et al. 2025, arXiv 2503.20783",
        granularity="episode",
        methodology="outcome",
        evidence="code",
        cost="none beyond the collected trajectories",
        drops="nothing; a group with one trajectory only when singleton is undefined",
        zeroes="every trajectory of a group whose scores are all equal",
        reference_code=(
            "volcengine/verl b178a3cd verl/trainer/ppo/core_algos.py:266-357; PyPI trl 1.16.0 "
            "trl/trainer/grpo_trainer.py:2759-2810; sail-sg/understand-r1-zero dfca49dd "
            "train_zero_math.py:294-308; AIFrameResearch/SPO b9fc6a26 "
            "math_episode_generator_with_group_advantages.py:266-293; jadenfix/CreditAssignment-LongHorizon "
            "8762bd92 src/cts/rl/grpo.py; SiliangZeng/Multi-Turn-RL-Agent 7dbdd08b "
            "grpo_env_trainer.py:261-275"
        ),
        edge=(
            "a group of one: 0, its score over 1 + ε, or no credit; equal scores: exactly 0, where references "
            "may divide rounding by ε; masked tokens: their rewards count when tokens are summed; a "
            "trajectory without a token in the loss still votes unless tokens vote; a fork: neither votes "
            "nor has credit"
        ),
        caveats=(
            "Implementations differ in the deviation's divisor, in ε (1e-8 to 1e-4) and in groups of one: for "
            "four trajectories the two divisors differ by 15 %. verl's vectorised form floors the variance at "
            "1e-6 before the root, adds ε again, and computes in single precision. The survey writes the "
            "form without a deviation. Dr.GRPO's other half, a constant length in the loss, is a setting of "
            "the loss. Dropping groups of equal outcomes, as dynamic sampling does, is another dose: here "
            "they stay with 0."
        ),
    ),
)
