"""Monte-Carlo values: restore the state before a turn and let the policy play on, a few times.

The estimator is VinePPO's (arXiv 2410.01679) with turns for reasoning steps.
"""

import numpy as np

from equipoise.execution.costs import played
from equipoise.execution.supplies.case import Case
from equipoise.execution.supplies.restored import first_of_each_task, restored_states
from equipoise.policies.episodes import Start
from equipoise_conditions.arrays import FloatArray, IntArray
from equipoise_conditions.credit import Reason
from equipoise_conditions.measured import Continuations

__all__ = ["ROLLOUTS", "continuations"]

ROLLOUTS = 4
"""Continuations of a state for a rule that does not say how many."""


def continuations(case: Case) -> Continuations:
    """Outcomes of playing on from before every turn of the first trajectories of each task.

    Parameters of the rule that are read: `rollouts` M (`ROLLOUTS` without) and `trajectories_per_task`, the
    allowance (0, or without: every trajectory). Continuation m of every state of a task plays under the same random
    numbers. Two turns with the same transcript before them would therefore be continued alike: they are
    continued, and paid for, once. The first state of a task is one for all its trajectories.
    """
    trajectories = case.batch.trajectories
    rollouts = case.number("rollouts", ROLLOUTS)
    allowance = case.number("trajectories_per_task", 0) or trajectories.n
    chosen = first_of_each_task(trajectories.task, allowance)
    reason = np.where(chosen[trajectories.trajectory_of_turn], Reason.DEFINED, Reason.NOT_SELECTED)
    reason = np.where(trajectories.own, reason, Reason.COPY).astype(np.int64)
    starts = _starts(case, reason)
    outcome = np.full((trajectories.n_turns, rollouts), np.nan)
    if starts:
        turns = np.array(list(starts), dtype=np.int64)
        outcome[turns] = _rolled(case, list(starts.values()), trajectories.task_of_turn[turns], rollouts)
    return Continuations(reason, outcome)


def _starts(case: Case, reason: IntArray) -> dict[int, Start]:
    """Where to play on from, by turn; turns whose state is not what it was are marked in `reason`."""
    transcripts, depth = case.batch.transcripts, case.batch.trajectories.turn_index
    states = restored_states(case.world.env, case.world.words, case.batch)
    starts: dict[int, Start] = {}
    for turn in np.flatnonzero(reason == Reason.DEFINED).tolist():
        if turn in states:
            prefix = tuple(transcripts.row(turn)[: transcripts.start[turn]].tolist())
            starts[turn] = Start(states[turn], prefix, int(depth[turn]))
        else:
            reason[turn] = Reason.NOT_RESTORED
    return starts


def _rolled(case: Case, starts: list[Start], task: IntArray, rollouts: int) -> FloatArray:
    """(S, M) outcomes; starts of one task and one transcript are played once."""
    places: dict[tuple[int, tuple[int, ...]], int] = {}
    which = [
        places.setdefault((one, start.prefix), len(places))
        for one, start in zip(task.tolist(), starts, strict=True)
    ]
    first = [which.index(place) for place in range(len(places))]
    again = [starts[index] for index in first for _ in range(rollouts)]
    draws = case.world.uniforms(case.world.env.tasks("pool") * rollouts, "continuations")
    rows = task[first][:, None] * rollouts + np.arange(rollouts)
    episodes = case.sampler.play(again, draws[rows.reshape(-1)])
    case.pay(played(case.sampler.model, again, episodes, restored=True))
    won = np.array([float(episode.won) for episode in episodes]).reshape(len(places), rollouts)
    outcome: FloatArray = won[which]
    return outcome
