"""A batch of trajectories in columns: one row a trajectory, a turn or a token, tied together by offsets."""

from dataclasses import dataclass, fields
from functools import cached_property
from os import PathLike
from typing import Self

import numpy as np

from equipoise_conditions.arrays import (
    BoolArray,
    Column,
    FloatArray,
    IntArray,
    booleans,
    column_digest,
    floats,
    integers,
    raise_faults,
    read_columns,
    write_columns,
)
from equipoise_conditions.defaults import filled
from equipoise_conditions.trajectory_faults import faults_of

__all__ = ["Trajectories"]

_FLOATS = frozenset({"outcome", "reward", "logprob", "entropy", "token_reward", "sum_pi_squared"})
_BOOLS = frozenset({"mask"})


@dataclass(frozen=True, eq=False)
class Trajectories:
    """N trajectories with T turns and K action tokens in all, as read-only columns.

    Arrays are copied unless they are read-only already. Construction refuses a batch that contradicts
    itself with one RuleError that lists every fault. Columns that default to None are filled in, so that
    every column is an array once the batch stands.

    Attributes:
        task: (N,) task index.
        outcome: (N,) success or score of the whole trajectory.
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
        group: (N,) prompt group of the group-relative rules; the task by default.
        agent: (T,) who acted, counted from 0; one agent by default.
        mask: (K,) whether a token is in the loss; False for tool output and padding. All by default.
        token: (K,) token ids, -1 (the default) where they are not known.
        token_reward: (K,) reward of each token; by default a turn's reward stands on its last token.
        sum_pi_squared: (K,) sum over the vocabulary of the token distribution's squared probabilities; NaN
            (the default) where it was not recorded.
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
    group: IntArray = None  # type: ignore[assignment] # filled in below
    agent: IntArray = None  # type: ignore[assignment]
    mask: BoolArray = None  # type: ignore[assignment]
    token: IntArray = None  # type: ignore[assignment]
    token_reward: FloatArray = None  # type: ignore[assignment]
    sum_pi_squared: FloatArray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        faults: list[str] = []
        given = {name: getattr(self, name) for name in _names()}
        for name in _names():
            read = floats if name in _FLOATS else booleans if name in _BOOLS else integers
            value = filled(name, given) if given[name] is None else given[name]
            given[name] = read(name, value, faults)
            object.__setattr__(self, name, given[name])
        raise_faults("trajectories", faults or faults_of(self.columns))

    @property
    def columns(self) -> dict[str, Column]:
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

    @property
    def n_tokens(self) -> int:
        """Number of action tokens."""
        return int(self.logprob.size)

    @cached_property
    def task_of_turn(self) -> IntArray:
        """(T,) the task of each turn."""
        return self.task[self.trajectory_of_turn]

    @cached_property
    def group_of_turn(self) -> IntArray:
        """(T,) the prompt group of each turn."""
        return self.group[self.trajectory_of_turn]

    @cached_property
    def turn_of_token(self) -> IntArray:
        """(K,) the turn that each token stands in."""
        return np.repeat(np.arange(self.n_turns, dtype=np.int64), self.tokens_of_turn)

    @cached_property
    def trajectory_of_token(self) -> IntArray:
        """(K,) the trajectory that each token stands in."""
        lengths = np.diff(self.token_offsets_of_trajectory)
        return np.repeat(np.arange(self.n, dtype=np.int64), lengths)

    @cached_property
    def whole(self) -> bool:
        """Whether the batch holds no fork and no token outside the loss: most rules then have less to do."""
        return bool(self.collected.all()) and bool(self.mask.all())

    @cached_property
    def token_offsets_of_trajectory(self) -> IntArray:
        """(N+1,) tokens of each trajectory."""
        return self.token_offsets[self.turn_offsets]

    @cached_property
    def agent_units(self) -> tuple[IntArray, IntArray, IntArray]:
        """The (trajectory, agent) pairs that occur, in ascending order: units of agent-level credit.

        Returns:
            (A,) trajectory of each pair, (A,) agent of each pair, and (T,) the pair of each turn.
        """
        span = int(self.agent.max()) + 1
        pair, of_turn = np.unique(self.trajectory_of_turn * span + self.agent, return_inverse=True)
        return pair // span, pair % span, of_turn.astype(np.int64)

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
