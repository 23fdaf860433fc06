"""Players that know the chores: one that searches, one that knows where all is, and one that errs."""

from collections.abc import Callable
from functools import partial

import numpy as np

from equipoise.environments.errors import EnvironmentFaultError
from equipoise.environments.household.game import HouseholdState
from equipoise.environments.household.scene import bits
from equipoise.environments.household.situation import Action, Verb

__all__ = ["UNREACHABLE", "imperfect", "plan", "remaining", "search"]

_TREATMENT = {
    "pick_clean_then_place_in_recep": (Verb.CLEAN, "SinkBasin"),
    "pick_heat_then_place_in_recep": (Verb.HEAT, "Microwave"),
    "pick_cool_then_place_in_recep": (Verb.COOL, "Fridge"),
}

UNREACHABLE = 200
"""More commands than any plan has: what is left where the task cannot be achieved any more."""


def search(state: HouseholdState) -> str:
    """The next command of a player that knows only what it has been shown.

    It looks into the receptacles in the order in which they were listed, those first that can contain what
    it needs, and remembers what it saw (nobody else moves things, so what was seen is still so).

    Raises:
        EnvironmentFaultError: If the task cannot be achieved from here, or asks for sliced objects.
    """
    return _Player(state, state.seen).command()


def plan(state: HouseholdState) -> str:
    """The next command of a player that knows where everything is.

    Raises:
        EnvironmentFaultError: As `search`.
    """
    return _Player(state, -1).command()


def imperfect(state: HouseholdState, epsilon: float, generator: np.random.Generator) -> str:
    """The searching player's command, but with probability epsilon any admissible one, equally likely."""
    if generator.random() < epsilon:
        return state.admissible[int(generator.integers(len(state.admissible)))]
    return search(state)


def remaining(state: HouseholdState, known: dict[int, int]) -> int:
    """How many commands the player that knows where everything is still needs; `UNREACHABLE` without end.

    Its plan follows rules and is not always the shortest.

    Args:
        state: Where from.
        known: Counts by state key; those of every state on the way are added.
    """
    way: list[int] = []
    now = state
    while not now.won and now.key not in known and len(way) < UNREACHABLE:
        way.append(now.key)
        try:
            now = now.step(plan(now))
        except EnvironmentFaultError:
            known[now.key] = UNREACHABLE
    left = 0 if now.won else known.get(now.key, UNREACHABLE)
    for count, key in enumerate(reversed(way), start=1):
        known[key] = min(left + count, UNREACHABLE)
    return known[state.key] if way else left


class _Player:
    """One decision.

    Args:
        state: Where it is taken.
        known: Receptacles whose inside is known (bit mask).
    """

    def __init__(self, state: HouseholdState, known: int) -> None:
        self.state = state
        self.scene = state.game.scene
        self.goal = state.game.goal
        self.now = state.situation
        self.known = known
        self.wanted = self.goal.candidates(self.scene)
        self.here = self.scene.standing[self.now.at] if self.now.at >= 0 else 0

    def command(self) -> str:
        """The command of the decision."""
        if self.goal.sliced:
            message = (
                f"the expert slices nothing, but the task is {self.state.game.task!r}; act in another way"
            )
            raise EnvironmentFaultError(message)
        action = self._with_hand() if self.now.held else self._without()
        if action is None:
            message = (
                f"the task {self.state.game.task!r} cannot be achieved from here: what it needs is missing"
            )
            raise EnvironmentFaultError(message)
        return self.state.command(action)

    def _with_hand(self) -> Action | None:
        thing = self.now.held.bit_length() - 1
        if not self.wanted >> thing & 1:
            return self._put_away(thing)
        if self.goal.task_type == "look_at_obj_in_light":
            return self._to_light()
        if not self.goal.ready(self.now) >> thing & 1:
            verb, furniture = _TREATMENT[self.goal.task_type]
            return self._at(self.scene.furniture(furniture), lambda place: Action(verb, thing, place))
        target = self._target(self.scene.fits[thing])
        return self._into(1 << target, lambda place: Action(Verb.MOVE, thing, place)) if target >= 0 else None

    def _without(self) -> Action | None:
        placed = 0
        if self.goal.task_type == "pick_two_obj_and_place":
            target = self._target(-1)
            placed = 1 << target if target >= 0 else 0
        takeable = self.wanted & self.scene.trait("pickupable")
        found = [thing for thing in bits(takeable) if self.now.inside[thing] & self.known & ~placed]
        found.sort(key=lambda thing: not self.now.inside[thing] & self.here)
        for thing in found:
            places = self.now.inside[thing] & self.known
            return self._into(places, partial(Action, Verb.TAKE, thing))
        return self._explore(takeable)

    def _to_light(self) -> Action | None:
        lamps = self.scene.of_type(self.goal.toggle) & self.scene.trait("toggleable")
        for lamp in bits(lamps):
            places = self.now.inside[lamp] & self.known
            if places:
                return self._at(places, _always(Action(Verb.USE, lamp)))
        return self._explore(lamps)

    def _target(self, fitting: int) -> int:
        """The receptacle to fill: the one that holds most of what is wanted, of these the first."""
        places = list(bits(self.scene.furniture(self.goal.target) & fitting))
        held = [sum(self.now.inside[thing] >> place & 1 for thing in bits(self.wanted)) for place in places]
        return places[held.index(max(held))] if places else -1

    def _put_away(self, thing: int) -> Action | None:
        fitting = self.scene.fits[thing]
        ready = fitting & (self.now.opened | ~self.scene.openable)
        for places in (ready & self.here, fitting & self.here, ready, fitting):
            if places:
                return self._into(places, lambda place: Action(Verb.MOVE, thing, place))
        return None

    def _explore(self, things: int) -> Action | None:
        fitting = 0
        for thing in bits(things):
            fitting |= self.scene.fits[thing]
        unknown = ((1 << len(self.scene.receptacles)) - 1) & ~self.known
        for places in (unknown & fitting & self.here, unknown & fitting, unknown):
            if places:
                return self._into(places, lambda place: Action(Verb.EXAMINE, -1, place))
        return None

    def _at(self, places: int, action: Callable[[int], Action]) -> Action | None:
        """An action beside one of these receptacles, or the way there."""
        for place in bits(places & self.here):
            return action(place)
        for place in bits(places):
            for location in bits(self.scene.places[place]):
                return Action(Verb.GO, -1, place, location)
        return None

    def _into(self, places: int, action: Callable[[int], Action]) -> Action | None:
        """An action inside one of these receptacles, or the way there; closed doors are opened."""

        def inside(place: int) -> Action:
            if self.scene.openable & ~self.now.opened & 1 << place:
                return Action(Verb.OPEN, -1, place)
            return action(place)

        return self._at(places, inside)


def _always(action: Action) -> Callable[[int], Action]:
    return lambda _place: action
