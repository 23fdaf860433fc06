"""What a policy and the audit ask of an environment: text in, text out, and states that can be kept."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

__all__ = ["SPLITS", "Environment", "Factory", "State", "step_all"]

SPLITS = ("pool", "held_out", "demonstrations")
"""The splits of tasks: trained and judged on, judged only, and cloned from. No task is in two of them."""


class State(Protocol):
    """One moment of one task, immutable: to keep the object is to take the snapshot."""

    @property
    def observation(self) -> str:
        """What the last action showed; for the first state the introduction and the task."""
        ...

    @property
    def admissible(self) -> tuple[str, ...]:
        """Every command that does something here, sorted."""
        ...

    @property
    def done(self) -> bool:
        """Whether the episode is over for us; horizons are counted by the caller."""
        ...

    @property
    def won(self) -> bool:
        """Whether the task is achieved."""
        ...

    @property
    def key(self) -> int:
        """Signed 64-bit identity of (task, underlying state), the same in every process on every machine."""
        ...


class Environment(Protocol):
    """Tasks in splits, and the steps from state to state."""

    def tasks(self, split: str) -> int:
        """How many tasks a split has."""
        ...

    def reset(self, split: str, task: int) -> State:
        """The first state of a task."""
        ...

    def step(self, state: State, action: str) -> State:
        """The state after an action; a command that is not admissible changes nothing."""
        ...

    def expert(self, state: State) -> str:
        """The next action of a deterministic expert."""
        ...

    def vocabulary(self) -> tuple[str, ...]:
        """Every word that observations and commands can contain, sorted."""
        ...


Factory = Callable[[Mapping[str, object], int], Environment]
"""Builds an environment from its configuration and a seed."""


def step_all(environment: Environment, states: Sequence[State], actions: Sequence[str]) -> list[State]:
    """Steps many states at once; those that are done stay as they are.

    Args:
        environment: Where the states come from.
        states: B states, of any tasks.
        actions: B actions; that of a finished state is not looked at.

    Raises:
        ValueError: If there are not as many actions as states.
    """
    step = environment.step
    pairs = zip(states, actions, strict=True)
    return [state if state.done else step(state, action) for state, action in pairs]
