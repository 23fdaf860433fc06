"""The corridor: rooms in a row, a landmark and some doors in each; at pivotal landmarks one door is right.

Nothing the agent sees tells whether it chose rightly: only the end does. The success probability of a task under
a policy that picks doors at random is ``doors ** -pivotal``, and every value and advantage follows by backward
induction, so that a credit rule can be held against the truth.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.environments.bifurcation.config import CorridorConfig, parse
from equipoise.environments.errors import EnvironmentConfigError

__all__ = ["Corridor", "CorridorState", "bifurcation"]

_DOORS = ("red", "blue", "green", "white", "black", "amber")
_LANDMARKS = (
    "anchor", "bell", "candle", "drum", "engine", "feather", "globe", "harp",
    "inkwell", "jar", "kettle", "lantern", "mirror", "needle", "organ", "prism",
)  # fmt: skip
_ROUNDING = 1e-12
_SPLITS = {"pool": 0, "held_out": 1, "demonstrations": 2}


@dataclass(frozen=True, slots=True)
class CorridorState:
    """Before one door.

    Attributes:
        task: landmark index of each room; those below the number of signs are pivotal.
        room: how many doors lie behind.
        right: whether every pivotal door so far was the right one (hidden from the agent).
    """

    task: tuple[int, ...]
    room: int
    right: bool
    observation: str
    admissible: tuple[str, ...]
    key: int

    @property
    def done(self) -> bool:
        """Whether the corridor is behind us."""
        return self.room == len(self.task)

    @property
    def won(self) -> bool:
        """Whether it was passed with every pivotal door right."""
        return self.done and self.right


class Corridor:
    """The environment; see the module.

    Args:
        config: sizes.
        seed: decides which door is right at each sign, and the tasks.
    """

    def __init__(self, config: CorridorConfig, seed: int) -> None:
        self._config = config
        rng = np.random.default_rng([seed, 0xB1F])
        self._right: tuple[int, ...] = tuple(int(d) for d in rng.integers(config.doors, size=config.signs))
        self._commands = tuple(f"open {door}" for door in sorted(_DOORS[: config.doors]))
        counts = (config.pool, config.held_out, config.demonstrations)
        drawn = self._draw(sum(counts), rng)
        ends = np.cumsum((0, *counts))
        self._tasks = {name: drawn[ends[k] : ends[k + 1]] for name, k in _SPLITS.items()}

    def _draw(self, count: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
        """Distinct corridors, so that the splits share none."""
        config = self._config
        found: dict[tuple[int, ...], None] = {}
        for _ in range(200 * count):
            if len(found) == count:
                break
            rooms = rng.integers(config.signs, len(_LANDMARKS), size=config.rooms)
            places = rng.choice(config.rooms, size=config.pivotal, replace=False)
            rooms[places] = rng.choice(config.signs, size=config.pivotal, replace=False)
            found[tuple(int(room) for room in rooms)] = None
        if len(found) < count:
            message = (
                f"tasks: expected {count} different corridors over all splits, found {len(found)} by chance with "
                f"rooms={config.rooms}, pivotal={config.pivotal}, signs={config.signs}; ask for fewer tasks or "
                "longer corridors"
            )
            raise EnvironmentConfigError("bifurcation", [message])
        return list(found)

    def tasks(self, split: str) -> int:
        """Number of tasks of a split."""
        return len(self._tasks[split])

    def reset(self, split: str, task: int) -> CorridorState:
        """The first room of a task."""
        return self._state(self._tasks[split][task], 0, right=True)

    def step(self, state: CorridorState, action: str) -> CorridorState:
        """Go through a door; a command that is not admissible changes nothing."""
        if action not in state.admissible:
            return state
        sign = state.task[state.room]
        fails = sign < len(self._right) and self._commands.index(action) != self._right[sign]
        return self._state(state.task, state.room + 1, right=state.right and not fails)

    def expert(self, state: CorridorState) -> str:
        """The right door where there is one, the first door elsewhere."""
        sign = state.task[state.room]
        return self._commands[self._right[sign] if sign < len(self._right) else 0]

    def vocabulary(self) -> tuple[str, ...]:
        """Landmarks, doors and the few words around them."""
        return tuple(sorted({*_LANDMARKS, *_DOORS[: self._config.doors], "open", "end", "corridor"}))

    def value(
        self, state: CorridorState, policy: Callable[[CorridorState], Sequence[float]] | None = None
    ) -> float:
        """Probability of success from a state by backward induction.

        Args:
            state: where from.
            policy: probabilities over `state.admissible`; None is the uniform policy.
        """
        return self._value(state, policy, {})

    def _value(
        self,
        state: CorridorState,
        policy: Callable[[CorridorState], Sequence[float]] | None,
        known: dict[int, float],
    ) -> float:
        if state.done or not state.right:
            return float(state.won)
        if state.key not in known:
            chances = self._chances(state, policy)
            known[state.key] = sum(
                chance * self._value(self.step(state, command), policy, known)
                for chance, command in zip(chances, state.admissible, strict=True)
                if chance > 0
            )
        return known[state.key]

    def advantage(
        self,
        state: CorridorState,
        action: int,
        policy: Callable[[CorridorState], Sequence[float]] | None = None,
    ) -> float:
        """Exact advantage Q(s, a) - V(s) of the action with this index, under a policy that continues."""
        after = self.step(state, state.admissible[action])
        return self.value(after, policy) - self.value(state, policy)

    def judge(self, state: CorridorState, action: int) -> int:
        """A scripted verdict on the action with this index: the sign of its exact advantage."""
        advantage = self.advantage(state, action)
        return (advantage > _ROUNDING) - (advantage < -_ROUNDING)

    @staticmethod
    def _chances(
        state: CorridorState, policy: Callable[[CorridorState], Sequence[float]] | None
    ) -> Sequence[float]:
        if policy is None:
            return [1 / len(state.admissible)] * len(state.admissible)
        return policy(state)

    def _state(self, task: tuple[int, ...], room: int, *, right: bool) -> CorridorState:
        done = room == len(task)
        seen = "end" if done else _LANDMARKS[task[room]]
        text = f"corridor {seen}" if room == 0 else seen
        raw = hashlib.blake2b(repr((task, room, right)).encode(), digest_size=8).digest()
        key = int.from_bytes(raw, "big", signed=True)
        return CorridorState(task, room, right, text, () if done else self._commands, key)


def bifurcation(config: Mapping[str, object], seed: int) -> Corridor:
    """Build the corridor from a suite's environment settings.

    Args:
        config: `tasks` {pool, held_out, demonstrations}, `words`, and `rooms`, `doors`, `pivotal`, `signs`.
        seed: see `Corridor`.

    Raises:
        EnvironmentConfigError: listing every wrong key and value.
    """
    return Corridor(parse(config, doors=len(_DOORS), landmarks=len(_LANDMARKS)), seed)
