"""What the critic of a batch says, in the forms in which rules ask for it."""

import numpy as np

from equipoise.execution.supplies.case import Case
from equipoise_conditions.arrays import FloatArray
from equipoise_conditions.measured import Boundary

__all__ = ["progress", "step_scores", "token_progress", "token_values", "values"]


def values(case: Case) -> FloatArray:
    """(T,) predicted outcome before each turn."""
    return case.critic.before


def token_values(case: Case) -> FloatArray:
    """(K,) predicted outcome before each action token, by a critic fitted on tokens."""
    return case.token_critic.before


def progress(case: Case) -> Boundary:
    """Predicted outcome before the first and after each turn: of the next turn's state, and of the end."""
    trajectories = case.batch.trajectories
    before = case.critic.before[trajectories.turn_offsets[:-1]]
    return Boundary(before, case.critic.after(trajectories.trajectory_of_turn))


def token_progress(case: Case) -> FloatArray:
    """(K,) predicted outcome after each action token: before the next one, and at the end of the trajectory."""
    return case.token_critic.after(case.batch.trajectories.trajectory_of_token)


def step_scores(case: Case) -> FloatArray:
    """(T,) predicted outcome after each turn: a process reward model by the same critic.

    A process reward model is taught by the values that its steps lead to (Math-Shepherd, arXiv 2312.08935). This one
    is not taught apart: its score of a turn is the critic's value of the state after it.
    """
    return np.array(progress(case).after)
