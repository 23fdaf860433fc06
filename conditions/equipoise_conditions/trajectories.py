"""A batch of trajectories in columns: one row a trajectory, a turn or a token, tied together by offsets."""

from dataclasses import dataclass, fields
from functools import cached_property
from os import PathLike
from typing import Self

import numpy as np

from equipoise_conditions.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    column_digest,
    floats,
    integers,
    raise_faults,
    read_columns,
    write_columns,
)
from equipoise_conditions.trajectory_faults import faults_of

__all__ = ["Trajectories"]

_FLOATS = frozenset({"outcome", "reward", "logprob", "entropy"})


@dataclass(frozen=True, eq=False)
class Trajectories:
    """N trajectories with T turns and K action tokens in all, as read-only columns.

    Arrays are copied unless they are read-only already. Construction refuses a batch that contradicts
    itself with one RuleError that lists every fault.

    Attributes:
        task: (N,) task index; the group of group-relative rules.
        outcome: (N,) success or score in [0, 1].
        turn_offsets: (N+1,) turns `turn_offsets[i]:turn_offsets[i+1]` belong to trajectory i.
        parent: (N,) the trajectory this one was forked from, -1 for a collected one.
        branch: (N,) first turn, counted inside the trajectory, that is its own; earlier turns are copies
            of the parent's. 0 if not forked.
        state: (T,) key of the (task, environment state) before the action; equal keys are one anchor state.
        action: (T,) index of the chosen action among the admissible ones.
        n_actions: (T,) number of admissible actions.
        reward: (T,) step reward.
        token_offsets: (T+1,) action tokens of each turn.
        logprob: (K,) log-probability in nats of each token under the acting normalisation and temperature.
        entropy: (K,) entropy in nats of that token's distribution.
    """

    task: IntArray
    outcome: FloatArray
    turn_offsets: IntArray
    parent: IntArray
    branch: IntArray
    state: IntArray
    action: IntArray
    n_actions: IntArray
    reward: FloatArray
    token_offsets: IntArray
    logprob: FloatArray
    entropy: FloatArray

    def __post_init__(self) -> None:
        faults: list[str] = []
        for name in _names():
            read = floats if name in _FLOATS else integers
            object.__setattr__(self, name, read(name, getattr(self, name), faults))
        raise_faults("trajectories", faults or faults_of(self.columns))

    @property
    def columns(self) -> dict[str, IntArray | FloatArray]:
        """Every column by its name."""
        return {name: getattr(self, name) for name in _names()}

    @property
    def n(self) -> int:
        """Number of trajectories."""
        return int(self.task.size)

    @property
    def n_turns(self) -> int:
        """Number of turns, copies included."""
        return int(self.state.size)

    @cached_property
    def lengths(self) -> IntArray:
        """(N,) turns of each trajectory."""
        return np.diff(self.turn_offsets)

    @cached_property
    def trajectory_of_turn(self) -> IntArray:
        """(T,) the trajectory that each turn stands in."""
        return np.repeat(np.arange(self.n, dtype=np.int64), self.lengths)

    @cached_property
    def turn_index(self) -> IntArray:
        """(T,) position of each turn inside its trajectory."""
        return np.arange(self.n_turns, dtype=np.int64) - self.turn_offsets[self.trajectory_of_turn]

    @cached_property
    def task_of_turn(self) -> IntArray:
        """(T,) the task of each turn."""
        return self.task[self.trajectory_of_turn]

    @cached_property
    def tokens_of_turn(self) -> IntArray:
        """(T,) number of action tokens of each turn."""
        return np.diff(self.token_offsets)

    @cached_property
    def own(self) -> BoolArray:
        """(T,) whether a turn was sampled in its own trajectory; False for a copy of the parent's."""
        return self.turn_index >= self.branch[self.trajectory_of_turn]

    @cached_property
    def collected(self) -> BoolArray:
        """(N,) whether a trajectory was collected from its start, not forked from another."""
        return self.parent < 0

    def digest(self) -> str:
        """Return the SHA-256 of all columns."""
        return column_digest(self.columns)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the batch to `path` as .npz."""
        write_columns(path, self.columns)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a batch written by `save`; RuleError when it is not one."""
        return cls(**read_columns(path, _names()))  # type: ignore[arg-type]


def _names() -> tuple[str, ...]:
    return tuple(field.name for field in fields(Trajectories))
