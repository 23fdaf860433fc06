"""Process rewards: a scorer's verdict on each step as a sum, as a minimum or as progress; and its labels."""

import numpy as np
from numpy.typing import NDArray

from equipoise_conditions.arrays import FloatArray
from equipoise_conditions.context import Context, Continuations, Need
from equipoise_conditions.credit import Credit, on_collected
from equipoise_conditions.errors import RuleError
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, EPS_INSIDE, GAMMA, STD, WHITEN, check_length
from equipoise_conditions.rules.values.backups import (
    BASE,
    Whitening,
    backed_up,
    differences,
    inside,
    measured_credit,
    shifted,
    suffix_min,
    weight_of_next,
)
from equipoise_conditions.trajectories import Trajectories

__all__ = ["PROCESS_REWARD", "label", "process_reward", "step_labels"]


def process_reward(  # noqa: PLR0913 - one keyword for each parameter of the rule
    trajectories: Trajectories,
    context: Context,
    *,
    use: str = "sum",
    gamma: float = 0.95,
    base: float = 0.0,
    whiten: str = "none",
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
) -> Credit:
    """Return what the scores f_t of a process reward model give each turn.

    "sum" is sum_{k>=t} gamma^{k-t} f_k, "min" is min_{k>=t} f_k, "difference" is f_t - f_{t-1}. Sources:
    Wang et al. 2023 (arXiv 2312.08935) for scores as rewards, PURE (arXiv 2504.15275) for the minimum.

    Args:
        trajectories: the batch; forked trajectories get no credit and are not whitened with.
        context: holds the scores, of each turn with its action.
        use: "sum", "min" or "difference".
        gamma: discount per turn; only the sum reads it.
        base: the score before the first turn; only the difference reads it.
        whiten: "none", "batch" or "group".
        std: divisor when whitening.
        eps: added to it.
        eps_inside: add `eps` to the variance instead.
    """
    score = context.column(Need.STEP_SCORES, trajectories.n_turns)
    same = inside(trajectories.trajectory_of_turn)
    if use == "sum":
        value = backed_up(score, weight_of_next(same, gamma))
    elif use == "min":
        value = suffix_min(score, same)
    else:
        value = differences(score, base, same)
    return measured_credit(
        trajectories,
        value,
        on_collected(trajectories),
        whitening=Whitening(whiten, std, eps, eps_inside),
    )


def label(outcome: NDArray[np.float64], kind: str, *, correct: float = 1.0) -> FloatArray:
    """Return the label of a step from the outcomes of continuing after it (Math-Shepherd, arXiv 2312.08935).

    Args:
        outcome: (..., M) outcomes of M continuations.
        kind: "soft" is the share that is correct, "hard" is 1 if any is.
        correct: least outcome that counts as correct.

    Raises:
        RuleError: on another word, or without a continuation.
    """
    if kind not in ("soft", "hard") or outcome.shape[-1] < 1:
        message = (
            f"label: expected kind 'soft' or 'hard' and at least one continuation, got {kind!r} and "
            f"{outcome.shape[-1]}"
        )
        raise RuleError(message)
    good = outcome >= correct
    result: FloatArray = np.asarray(
        good.mean(axis=-1) if kind == "soft" else good.any(axis=-1), dtype=np.float64
    )
    return result


def step_labels(
    trajectories: Trajectories, continuations: Continuations, kind: str, *, correct: float = 1.0
) -> FloatArray:
    """Return (T,) labels of the turns to train a process reward model on, NaN where none was measured.

    A turn's label is read off the continuations from the state after it, which is the state before the next
    turn; after a trajectory's last turn nothing is left to roll out, and its own outcome is the one there is.

    Args:
        trajectories: the batch.
        continuations: rollouts from the states before the turns.
        kind: see `label`.
        correct: see `label`.

    Raises:
        RuleError: when the continuations are of another batch; see also `label`.
    """
    check_length("continuations", continuations.reason.size, trajectories)
    known = np.isfinite(continuations.outcome).all(axis=1)
    before = np.where(known, label(continuations.outcome, kind, correct=correct), np.nan)
    after = shifted(before, inside(trajectories.trajectory_of_turn))
    last = trajectories.turn_offsets[1:] - 1
    after[last] = label(trajectories.outcome[:, None], kind, correct=correct)
    return after


PROCESS_REWARD = Rule(
    name="process_reward",
    assign=process_reward,
    needs=frozenset({Need.STEP_SCORES}),
    parameters=(
        Parameter(
            "use",
            "sum",
            ("sum", "min", "difference"),
            "the discounted sum of the scores to come, the least of them (PURE), or the progress over the turn",
        ),
        GAMMA,
        BASE,
        WHITEN,
        STD,
        EPS,
        EPS_INSIDE,
    ),
    card=Card(
        name="process_reward",
        title="Process reward model (sum, minimum, progress)",
        formula="sum: Σ_{k≥t} γ^{k−t} f_k; min: min_{k≥t} f_k; difference: f_t − f_{t−1}, f before the first = base",
        source=(
            "Wang et al. 2023 (Math-Shepherd), arXiv 2312.08935; Luo et al. 2024 (OmegaPRM), arXiv 2406.06592; "
            "PURE 2025, arXiv 2504.15275"
        ),
        granularity="turn",
        cost="labels once (M rollouts a step), training the scorer, then one scoring pass a turn",
        drops="nothing collected; undefined where a score that the formula reads is missing",
        zeroes="turns of score 0 in a sum of zeroes; turns over which the score did not move (difference)",
        reference_code="none reproduced; worked numbers from the formulas",
        methodology="process-reward",
        evidence="notes",
        extra_rollouts="M·T for the labels, once",
        extra_forward="T scoring passes",
        edge=(
            "the last turn's sum and minimum are its own score. A missing score leaves undefined its turn, "
            "every earlier turn of the trajectory under sum and min, and the next turn under difference. "
            "gamma is read by sum only"
        ),
        caveats=(
            "a sum rewards padding an answer with well-scored steps, which is PURE's reason for the minimum. No "
            "baseline is subtracted: scores from 0 to 1 give no negative credit unless whitened. PURE is cited "
            "under two arXiv numbers (2504.15275 and 2504.08662)"
        ),
    ),
)
