"""Judges: what is asked about every turn, by name; so far the environment's own script."""

from collections.abc import Callable

import numpy as np

from equipoise.environments.protocol import State
from equipoise.errors import ExecutionError
from equipoise.execution.supplies.case import Case
from equipoise.execution.supplies.restored import of_each_action
from equipoise_budget import Cost
from equipoise_conditions.arrays import BoolArray, IntArray
from equipoise_conditions.measured import Verdicts
from equipoise_conditions.rules.judges.router import judged_turns

__all__ = ["JUDGES", "verdicts"]

_SCORES = 3
"""Verdicts are -1, 0 and 1."""


def verdicts(case: Case) -> Verdicts:
    """A judge's verdicts on every own turn; copies of a fork's parent are not asked about again.

    Under a router, which hands its judge a part of the turns only, the others are not asked about either.

    Parameters of the rule that are read: `judge`, a key of `JUDGES` (`scripted` without); `votes` V (1 without) and
    `error` (0 without), the chance that a vote is one of the other two verdicts, equally likely. The errors come
    from a stream of the block: two rules that ask about the same turn hear the same.

    A call is counted for each turn and vote, and as its tokens the transcript up to and including the action, which
    is what a judge has to read. A script reads nothing: the count is what its place would cost.

    Raises:
        ExecutionError: if there is no such judge, or the environment has none.
    """
    name = str(case.settings.get("judge", "scripted"))
    if name not in JUDGES:
        message = f"judge: expected one of {', '.join(JUDGES)}, got {name!r}"
        raise ExecutionError(message)
    trajectories, votes = case.batch.trajectories, case.number("votes", 1)
    routed = trajectories.own & _routed(case)
    asked = np.flatnonzero(routed)
    score = np.full((trajectories.n_turns, votes), np.nan)
    score[asked] = _with_errors(case, JUDGES[name](case), votes)[asked]
    read = int(case.batch.transcripts.end[asked].sum())
    case.pay(Cost(judge_calls=len(asked) * votes, judge_tokens=read * votes))
    return Verdicts(score, routed)


def scripted(case: Case) -> IntArray:
    """(T,) what the environment's own script says of each turn: -1, 0 or 1."""
    env = case.world.env
    judge: Callable[[State, int], int] | None = getattr(env, "judge", None)
    if judge is None:
        message = (
            f"the judge 'scripted' needs an environment with a judge(state, action), got {type(env).__name__}; "
            "use household or bifurcation, or a rule that asks no judge"
        )
        raise ExecutionError(message)
    return of_each_action(env, case.batch.trajectories, judge).astype(np.int64)


def _routed(case: Case) -> BoolArray:
    """(T,) the turns that the case's rule asks its judge about."""
    if case.rule.name != "router":
        return np.ones(case.batch.trajectories.n_turns, dtype=np.bool_)
    names = ("measure", "by", "threshold", "quantile")
    told = {name: case.params[name] for name in names}
    return judged_turns(case.batch.trajectories, **told)  # type: ignore[arg-type]


def _with_errors(case: Case, sound: IntArray, votes: int) -> IntArray:
    """(T, V) the votes: each the sound verdict, or by chance `error` another one."""
    draws = case.world.rng("judge").random((len(sound), votes, 2))
    wrong = draws[..., 0] < float(str(case.settings.get("error", 0.0)))
    shift = 1 + (draws[..., 1] * (_SCORES - 1)).astype(np.int64)
    other = (sound[:, None] + 1 + shift) % _SCORES - 1
    voted: IntArray = np.where(wrong, other, sound[:, None])
    return voted


JUDGES: dict[str, Callable[[Case], IntArray]] = {"scripted": scripted}
"""Who can be asked, by the name that a rule's parameter `judge` gives."""
