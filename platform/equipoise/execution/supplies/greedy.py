"""The outcome of greedy decoding: the baseline of ReMax (arXiv 2310.10505)."""

from dataclasses import replace

import numpy as np

from equipoise.execution.costs import played
from equipoise.execution.supplies.case import Case
from equipoise.policies.episodes import Start
from equipoise.policies.rollout import opening
from equipoise_conditions.arrays import FloatArray

__all__ = ["greedy_outcomes"]


def greedy_outcomes(case: Case) -> FloatArray:
    """(N,) outcome of the one greedy episode of each trajectory's task; every task is played once."""
    tasks, of = np.unique(case.batch.trajectories.task, return_inverse=True)
    states = [case.world.env.reset("pool", task) for task in tasks.tolist()]
    starts = [Start(state, opening(case.world.words, state)) for state in states]
    greedy = replace(case.sampler, greedy=True)
    episodes = greedy.play(starts, np.zeros((len(starts), 1)))
    case.pay(played(greedy.model, starts, episodes))
    outcome: FloatArray = np.array([float(episode.won) for episode in episodes])[of]
    return outcome
