"""How much likelier an action looks once the outcome is told: h(a | s, outcome) against pi(a | s)."""

import numpy as np

from equipoise_conditions.arrays import FloatArray
from equipoise_conditions.rule import Parameter
from equipoise_conditions.trajectories import Trajectories

__all__ = ["LIMIT", "PROBABILITY", "log_ratio"]

PROBABILITY = Parameter(
    "probability",
    "action",
    ("action", "token"),
    "ratio of the probabilities of whole actions, or of their geometric means for each token",
)
LIMIT = Parameter("limit", 0.0, "float", "greatest ratio of probabilities; 0 for no limit", minimum=0.0)


def log_ratio(trajectories: Trajectories, scores: FloatArray, *, probability: str) -> FloatArray:
    """Return (T,) log h - log pi of the action taken, NaN where h was not measured or is 0.

    An action that was taken but has no probability once the outcome is told contradicts itself: the ratio is
    infinite in one direction or says nothing in the other, so it counts as not measured.

    Args:
        trajectories: the batch; log pi is over the tokens in the loss, which are the policy's own.
        scores: (T,) mean token log-probability with the outcome told; NaN or -inf where there is none.
        probability: "action" or "token".
    """
    turn = trajectories.turn_of_token[trajectories.mask]
    count = np.bincount(turn, minlength=trajectories.n_turns)
    total = np.bincount(turn, trajectories.logprob[trajectories.mask], trajectories.n_turns)
    measured = np.isfinite(scores) & (count > 0)
    mean = total / np.maximum(count, 1)
    difference = np.where(measured, scores, 0.0) - mean
    scale = count if probability == "action" else 1
    return np.where(measured, scale * difference, np.nan)
