"""One household as a game: states that are kept by keeping them, and moves that are worked out once."""

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Protocol

from equipoise.environments.household.goals import Goal, achieved
from equipoise.environments.household.names import mangle
from equipoise.environments.household.scene import Facts, Scene
from equipoise.environments.household.situation import (
    Action,
    Situation,
    Verb,
    actions,
    apply,
    first_situation,
)
from equipoise.environments.household.wording import AlfworldWords

__all__ = ["Game", "HouseholdState", "Words"]

_MOST_NODES = 4_000


class Words(Protocol):
    """A way to put the game into words; the decisions are the same in each."""

    name: str
    nothing: str

    def vocabulary(self, most: Mapping[str, int], /) -> frozenset[str]:
        """Every word there is, given how many things of each class there are at most."""
        ...

    def intro(self, scene: Scene, goal: Goal, task: str, now: Situation, /) -> str:
        """What is shown first, the task included."""
        ...

    def commands(self, scene: Scene, actions: Iterable[Action], /) -> dict[str, Action]:
        """The actions by command."""
        ...

    def report(self, scene: Scene, action: Action, after: Situation, /) -> str:
        """What an action shows, given the situation that it led to."""
        ...


class _Node:
    """A situation with all that follows from it, shared by every state that is in it."""

    __slots__ = ("_key", "admissible", "commands", "game", "moves", "situation", "won")

    def __init__(self, game: "Game", situation: Situation) -> None:
        self.game = game
        self.situation = situation
        self.commands = game.words.commands(game.scene, actions(game.scene, situation))
        self.admissible = tuple(sorted(self.commands))
        self.won = achieved(game.scene, game.goal, situation)
        self.moves: dict[str, tuple[_Node, str, int]] = {}
        self._key: int | None = None

    @property
    def key(self) -> int:
        if self._key is None:
            text = repr(tuple(self.situation)).encode()
            digest = blake2b(text, key=self.game.identity, digest_size=8).digest()
            self._key = int.from_bytes(digest, "big", signed=True)
        return self._key


class HouseholdState:
    """A moment in a household; immutable: to keep it is the snapshot, to step from it the restore.

    Attributes:
        observation: What the last action showed.
        seen: Receptacles whose inside has been shown so far (bit mask); no part of `key`.
    """

    __slots__ = ("_node", "observation", "seen")

    def __init__(self, node: _Node, observation: str, seen: int) -> None:
        self._node = node
        self.observation = observation
        self.seen = seen

    @property
    def admissible(self) -> tuple[str, ...]:
        """Every command that does something here, sorted."""
        return self._node.admissible

    @property
    def won(self) -> bool:
        """Whether the goal is achieved here."""
        return self._node.won

    @property
    def done(self) -> bool:
        """The same as `won`: nothing but winning ends a game."""
        return self._node.won

    @property
    def key(self) -> int:
        """Identity of game and situation, 64 bits, the same in every process."""
        return self._node.key

    @property
    def game(self) -> "Game":
        """The game that this is a state of."""
        return self._node.game

    @property
    def situation(self) -> Situation:
        """The facts that hold now."""
        return self._node.situation

    def action(self, command: str) -> Action | None:
        """The action behind a command, None if it is not admissible."""
        return self._node.commands.get(command.strip())

    def command(self, action: Action) -> str:
        """The command of an admissible action."""
        return next(text for text, one in self._node.commands.items() if one == action)

    def step(self, command: str) -> "HouseholdState":
        """The state after a command; one that is not admissible changes nothing."""
        move = self._node.moves.get(command)
        if move is None:
            move = self._node.game.work_out(self._node, command)
        node, observation, shown = move
        return HouseholdState(node, observation, self.seen | shown)


class Game:
    """One task in one household.

    Args:
        facts: Ground facts of ALFWorld's PDDL domain at the start, by predicate.
        goal: ALFRED's goal parameters (object_target, parent_target, toggle_target, object_sliced).
        task: The task's sentence.
        task_type: Its kind; read off the sentence if left out.
        words: The words to play in.
    """

    def __init__(
        self,
        facts: Facts,
        goal: Mapping[str, object],
        task: str,
        task_type: str | None = None,
        words: Words | None = None,
    ) -> None:
        self.scene = Scene.from_facts(facts)
        self.goal = Goal.from_parameters(goal, task, task_type)
        self.task = task
        self.words: Words = words or AlfworldWords()
        self.identity = _identity(facts, self.goal)
        self._nodes: dict[Situation, _Node] = {}
        self._first = first_situation(self.scene, facts)
        self._intro = self.words.intro(self.scene, self.goal, task, self._first)

    def reset(self) -> HouseholdState:
        """The first state."""
        return HouseholdState(self._node(self._first), self._intro, 0)

    def work_out(self, node: _Node, command: str) -> tuple[_Node, str, int]:
        """Where a command leads from a situation, what it shows, and which receptacle it shows inside."""
        action = node.commands.get(command.strip())
        if action is None:
            return node, self.words.nothing, 0
        after = apply(self.scene, node.situation, action)
        move = (
            self._node(after),
            self.words.report(self.scene, action, after),
            self._shown(action, after),
        )
        node.moves[command] = move
        return move

    def _node(self, situation: Situation) -> _Node:
        node = self._nodes.get(situation)
        if node is None:
            if len(self._nodes) >= _MOST_NODES:
                # States that are still held keep their own node; what it leads to is worked out anew.
                for one in self._nodes.values():
                    one.moves.clear()
                self._nodes.clear()
            node = self._nodes[situation] = _Node(self, situation)
        return node

    def _shown(self, action: Action, after: Situation) -> int:
        if action.verb not in (Verb.GO, Verb.OPEN, Verb.EXAMINE):
            return 0
        return 1 << action.place & (after.opened | ~self.scene.openable)


def _identity(facts: Facts, goal: Goal) -> bytes:
    rows = {predicate: sorted([mangle(a) for a in row] for row in some) for predicate, some in facts.items()}
    parts = [rows, goal.task_type, goal.wanted, goal.target, goal.toggle, goal.sliced]
    return blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=32).digest()
