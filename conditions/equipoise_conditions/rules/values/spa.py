"""Redistribution by predicted outcome: SPA-RL over turns, RED over tokens."""

from equipoise_conditions.context import Boundary, Context, Need
from equipoise_conditions.credit import Credit, on_collected, on_tokens
from equipoise_conditions.errors import RuleError
from equipoise_conditions.rule import Card, Rule
from equipoise_conditions.rules.values.backups import BASE, differences, inside, measured_credit
from equipoise_conditions.trajectories import Trajectories

__all__ = ["RED", "SPA", "red", "spa"]


def spa(trajectories: Trajectories, context: Context) -> Credit:
    """Return c_t = p_t - p_{t-1}, what the predicted outcome gained over the turn.

    Source: SPA-RL (Wang et al. 2025, arXiv 2505.20732), in the form of the survey (arXiv 2604.09459).

    Args:
        trajectories: the batch; forked trajectories get no credit.
        context: holds the predicted outcome before the first turn and after each.

    Raises:
        RuleError: when the predictions are of another batch.
    """
    progress = context.need(Need.PROGRESS, Boundary)
    if progress.before.size != trajectories.n or progress.after.size != trajectories.n_turns:
        message = (
            f"progress: expected {trajectories.n} entries before and {trajectories.n_turns} after, got "
            f"{progress.before.size} and {progress.after.size}; measure it on this batch"
        )
        raise RuleError(message)
    value = differences(progress.after, progress.before, inside(trajectories.trajectory_of_turn))
    return measured_credit(trajectories, value, on_collected(trajectories))


def red(trajectories: Trajectories, context: Context, *, base: float = 0.0) -> Credit:
    """Return c_k = p_k - p_{k-1}, what the predicted outcome gained over the token.

    Source: RED (arXiv 2411.08302) by its description, after RUDDER (arXiv 1806.07857).

    Args:
        trajectories: the batch; forked trajectories get no credit.
        context: holds the predicted outcome after every token.
        base: the prediction before the first token, which is not measured.
    """
    progress = context.column(Need.TOKEN_PROGRESS, trajectories.n_tokens)
    value = differences(progress, base, inside(trajectories.trajectory_of_token))
    return measured_credit(trajectories, value, on_tokens(trajectories), "token")


SPA = Rule(
    name="spa",
    assign=spa,
    needs=frozenset({Need.PROGRESS}),
    card=Card(
        name="spa",
        title="Stepwise progress attribution (SPA-RL)",
        formula="c_t = p_t − p_{t−1}, p a predicted outcome; Σ_t c_t = p_T − p_0 ≈ R",
        source="Wang et al. 2025, arXiv 2505.20732",
        granularity="turn",
        cost="training a small progress estimator, then one pass a trajectory",
        drops="nothing collected; undefined where a prediction at either end of a turn is missing",
        zeroes="turns over which the prediction did not move",
        reference_code=(
            "none reproduced; WangHanLinHenry/SPA-RL-Agent 323964f6 prm/inference_prm.py was read for the estimator"
        ),
        methodology="temporal-difference",
        evidence="notes",
        extra_forward="N estimator passes, and its training",
        edge="the credit of a trajectory sums to its last prediction minus its first, not to its outcome",
        caveats=(
            "the authors' estimator gives contributions whose sum is fitted to the outcome: their running sum, "
            "from 0, is the progress meant here. They add a bonus for executable actions, which is left out. In "
            "their published data script for WebShop the contributions are replaced by the outcome minus the mean "
            "of the siblings', the same for every turn: reproducing that script does not test this rule"
        ),
    ),
)

RED = Rule(
    name="red",
    assign=red,
    needs=frozenset({Need.TOKEN_PROGRESS}),
    parameters=(BASE,),
    card=Card(
        name="red",
        title="Reward redistribution over tokens (RED)",
        formula="c_k = p_k − p_{k−1}, p a reward model's score of the text so far, p before the first token = base",
        source="RED 2024, arXiv 2411.08302; Arjona-Medina et al. 2018 (RUDDER), arXiv 1806.07857",
        granularity="token",
        cost="one pass of a reward model a trajectory, read at every token",
        drops="nothing collected; undefined where the prediction after the token or before it is missing",
        zeroes="tokens that moved no prediction",
        reference_code="none reproduced; worked numbers from the formula",
        methodology="temporal-difference",
        evidence="reconstructed",
        extra_forward="N reward-model passes",
        edge=(
            "what the prediction gains over a tool's output belongs to no token of the policy: the next token is "
            "compared with the prediction after that output"
        ),
        caveats=(
            "the formula is reconstructed from a one-line description. The first token's credit holds the whole "
            "prediction of the prompt unless base says what that was"
        ),
    ),
)
