"""The household environment: its tasks in splits that share nothing, and the steps between states."""

from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b

import numpy as np

from equipoise.environments.errors import EnvironmentConfigError, EnvironmentFaultError
from equipoise.environments.household.affordances import affordances
from equipoise.environments.household.config import HouseholdConfig
from equipoise.environments.household.expert import plan, remaining, search
from equipoise.environments.household.game import Game, HouseholdState, Words
from equipoise.environments.household.generator import Instance, draw, most_copies
from equipoise.environments.household.terse import TerseWords
from equipoise.environments.household.wording import AlfworldWords
from equipoise.environments.protocol import SPLITS, State

__all__ = ["Household", "household", "split_of"]

# Half of all possible households serve cloning, a quarter each the pool and the held-out tasks.
_QUARTERS = ("pool", "held_out", "demonstrations", "demonstrations")
_MOST_GAMES = 512
_MOST_LEFT = 200_000
_MOST_REJECTED = 3_000


def split_of(content: str) -> str:
    """The only split that a household of this content can be in, whatever the seed."""
    return _QUARTERS[blake2b(content.encode(), digest_size=1).digest()[0] % len(_QUARTERS)]


class Household:
    """Households drawn from a seed.

    A household's content decides the split it may be in, so no task is in two splits, not even of two
    seeds; within a split no two tasks have the same content. Task i does not depend on how many there are.

    Args:
        config: What to draw.
        seed: Where chance starts.
    """

    def __init__(self, config: HouseholdConfig, seed: int) -> None:
        self.config = config
        self.seed = seed
        self.words: Words = AlfworldWords() if config.words == "alfworld" else TerseWords()
        self._drawn: dict[str, list[Instance]] = {split: [] for split in SPLITS}
        self._contents: dict[str, set[str]] = {split: set() for split in SPLITS}
        self._generators = {
            split: np.random.default_rng([seed, number]) for number, split in enumerate(SPLITS)
        }
        self._games: OrderedDict[tuple[str, int], Game] = OrderedDict()
        self._left: dict[int, int] = {}

    def tasks(self, split: str) -> int:
        """How many tasks a split has."""
        if split not in self.config.tasks:
            message = f"expected a split out of {list(SPLITS)}, got {split!r}"
            raise EnvironmentFaultError(message)
        return self.config.tasks[split]

    def instance(self, split: str, task: int) -> Instance:
        """A task as facts, goal and sentence, in the form of ALFWorld's games.

        Raises:
            EnvironmentFaultError: If there is no such split or task.
            EnvironmentConfigError: If there are fewer different households than asked for.
        """
        count = self.tasks(split)
        if not 0 <= task < count:
            message = f"expected a task of split {split!r} from 0 to {count - 1}, got {task}"
            raise EnvironmentFaultError(message)
        drawn = self._drawn[split]
        while len(drawn) <= task:
            drawn.append(self._draw(split))
        return drawn[task]

    def reset(self, split: str, task: int) -> HouseholdState:
        """The first state of a task."""
        game = self._games.get((split, task))
        if game is None:
            game = self._games[split, task] = _game(self.instance(split, task), self.words)
            if len(self._games) > _MOST_GAMES:
                self._games.popitem(last=False)
        else:
            self._games.move_to_end((split, task))
        return game.reset()

    def step(self, state: State, action: str) -> HouseholdState:
        """The state after a command; one that is not admissible changes nothing.

        A game that is won can be played on, as in ALFWorld.
        """
        return _own(state).step(action)

    def expert(self, state: State) -> str:
        """The next command of the expert that searches: it knows only what it has been shown."""
        return search(_own(state))

    def plan(self, state: State) -> str:
        """The next command of the expert that knows where everything is."""
        return plan(_own(state))

    def judge(self, state: State, action: int) -> int:
        """A scripted verdict on an action: 1 if it shortens what `plan` still has to do, -1 if it lengthens it.

        0 if neither: looking around, opening what need not be opened, walking elsewhere in an equally long way.

        Args:
            state: The state before it.
            action: Its index among the admissible commands.
        """
        before = _own(state)
        after = before.step(before.admissible[action])
        if len(self._left) > _MOST_LEFT:
            self._left.clear()
        saved = remaining(before, self._left) - remaining(after, self._left)
        return (saved > 0) - (saved < 0)

    def vocabulary(self) -> tuple[str, ...]:
        """Every word that can occur, sorted; the same for every seed.

        In terse words a word is what blanks separate; in ALFWorld's words what
        `equipoise.environments.household.wording.split_words` makes of a text.
        """
        most: dict[str, int] = {}
        for name in self.config.rooms:
            room = affordances().rooms[name]
            counts = {kind: min(count, self.config.receptacles) for kind, count in room.receptacles.items()}
            counts |= dict.fromkeys(room.objects, min(most_copies(self.config.objects), self.config.objects))
            counts |= dict.fromkeys(room.lamps, 1)
            for kind, count in counts.items():
                most[kind.lower()] = max(count, most.get(kind.lower(), 0))
        return tuple(sorted(self.words.vocabulary(most)))

    def _draw(self, split: str) -> Instance:
        config, contents = self.config, self._contents[split]
        generator = self._generators[split]
        for _ in range(_MOST_REJECTED):
            one = draw(generator, config.rooms, config.task_types, config.receptacles, config.objects)
            if split_of(one.content) == split and one.content not in contents and self._winnable(one):
                contents.add(one.content)
                return one
        fault = (
            f"tasks.{split}: expected {config.tasks[split]} different households that the expert wins within "
            f"{config.horizon} steps, found {len(contents)}; ask for fewer, a larger size or a longer horizon"
        )
        raise EnvironmentConfigError("household", [fault])

    def _winnable(self, instance: Instance) -> bool:
        state = _game(instance, self.words).reset()
        for _ in range(self.config.horizon):
            state = state.step(search(state))
            if state.won:
                return True
        return False


def _game(instance: Instance, words: Words) -> Game:
    return Game(instance.facts, instance.goal, instance.task, instance.task_type, words)


def _own(state: State) -> HouseholdState:
    if not isinstance(state, HouseholdState):
        message = (
            f"expected a state of a household, got {type(state).__name__}; step states where they come from"
        )
        raise EnvironmentFaultError(message)
    return state


def household(config: Mapping[str, object], seed: int) -> Household:
    """Builds a household environment.

    Args:
        config: See `HouseholdConfig.parse`; missing keys take their defaults.
        seed: Which households are drawn.

    Raises:
        EnvironmentConfigError: If the configuration is wrong; it lists every fault.
    """
    return Household(HouseholdConfig.parse(config), seed)
