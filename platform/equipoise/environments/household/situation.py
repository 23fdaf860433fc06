"""What can change in a household, and how each action changes it."""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from equipoise.environments.household.names import mangle
from equipoise.environments.household.scene import Facts, Scene, bits, mask_of

__all__ = ["Action", "Situation", "Verb", "actions", "apply", "first_situation"]


class Verb(IntEnum):
    """The actions of ALFWorld's PDDL domain."""

    GO = 0
    OPEN = 1
    CLOSE = 2
    TAKE = 3
    MOVE = 4
    EXAMINE = 5
    HANDLE = 6
    USE = 7
    HEAT = 8
    CLEAN = 9
    COOL = 10
    SLICE = 11
    LOOK = 12
    INVENTORY = 13
    HELP = 14


class Action(NamedTuple):
    """One ground action.

    Attributes:
        verb: What is done; EXAMINE is for receptacles, HANDLE examines a held object.
        thing: Index of the object (TAKE, MOVE, HANDLE, USE, HEAT, CLEAN, COOL, SLICE), else -1.
        place: Index of the receptacle, for SLICE of the knife, else -1.
        location: Index of the location that GO leads to, else -1.
    """

    verb: Verb
    thing: int = -1
    place: int = -1
    location: int = -1


class Situation(NamedTuple):
    """The changing facts of one household; hashable, compared by value.

    Attributes:
        at: Index of the agent's location, -1 if it has none.
        inside: By object, the receptacles that it is in (bit mask).
        lying: By object, the locations that it is at (bit mask).
        apart: By object, the receptacles that it was taken out of since it last went in, so far as
            another receptacle stands at the same place: ALFWorld's `look` tells them as lying on the floor.
        held: Objects in the agent's hand.
        busy: Whether the hand is full.
        opened: Receptacles that are open.
        clean: Clean objects.
        hot: Hot objects.
        cool: Cool objects.
        sliced: Sliced objects.
        toggled: Objects that have been switched.
    """

    at: int
    inside: tuple[int, ...]
    lying: tuple[int, ...]
    apart: tuple[int, ...]
    held: int
    busy: bool
    opened: int
    clean: int
    hot: int
    cool: int
    sliced: int
    toggled: int


def first_situation(scene: Scene, facts: Facts) -> Situation:
    """The situation that facts describe."""

    def things(predicate: str, ids: Sequence[str], column: int = 0) -> int:
        return mask_of(ids.index(mangle(row[column])) for row in facts.get(predicate, ()))

    def relation(predicate: str, right: Sequence[str]) -> tuple[int, ...]:
        related = [0] * len(scene.object_ids)
        for one, other in facts.get(predicate, ()):
            related[scene.object_ids.index(mangle(one))] |= 1 << right.index(mangle(other))
        return tuple(related)

    agent = [scene.location_ids.index(mangle(row[1])) for row in facts.get("atLocation", ())]
    return Situation(
        at=agent[0] if agent else -1,
        inside=relation("inReceptacle", scene.receptacle_ids),
        lying=relation("objectAtLocation", scene.location_ids),
        apart=(0,) * len(scene.object_ids),
        held=things("holds", scene.object_ids, 1),
        busy=bool(facts.get("holdsAny")),
        opened=things("opened", scene.receptacle_ids),
        clean=things("isClean", scene.object_ids),
        hot=things("isHot", scene.object_ids),
        cool=things("isCool", scene.object_ids),
        sliced=things("isSliced", scene.object_ids),
        toggled=things("isToggled", scene.object_ids),
    )


def actions(scene: Scene, now: Situation) -> list[Action]:
    """Every action whose precondition holds, as grounded by the planner behind ALFWorld.

    Source: alfworld 0.4.2, `data/alfred.pddl`. Going to the place where one stands changes nothing and is
    not grounded; an object that is not held cannot be examined.
    """
    found = [Action(Verb.HELP), Action(Verb.INVENTORY)]
    if now.at < 0:
        return found
    found.append(Action(Verb.LOOK))
    for place, locations in enumerate(scene.places):
        found.extend(Action(Verb.GO, -1, place, there) for there in bits(locations) if there != now.at)
    here = scene.standing[now.at]
    for place in bits(here):
        found.append(Action(Verb.EXAMINE, -1, place))
        if scene.openable >> place & 1:
            found.append(Action(Verb.CLOSE if now.opened >> place & 1 else Verb.OPEN, -1, place))
    reachable = here & (now.opened | ~scene.openable)
    found.extend(_with_things_there(scene, now, here, reachable))
    found.extend(_with_things_held(scene, now, here, reachable))
    return found


def _with_things_there(scene: Scene, now: Situation, here: int, reachable: int) -> list[Action]:
    found: list[Action] = []
    pickupable = 0 if now.busy else scene.trait("pickupable")
    toggleable = scene.trait("toggleable")
    for thing, places in enumerate(now.inside):
        if pickupable >> thing & 1 and places & reachable:
            found.extend(Action(Verb.TAKE, thing, place) for place in bits(places & reachable))
        if toggleable >> thing & 1 and places & here:
            found.append(Action(Verb.USE, thing))
    knives = now.held & (scene.of_type("Knife") | scene.of_type("ButterKnife"))
    if knives:
        sliceable = scene.trait("sliceable")
        found.extend(
            Action(Verb.SLICE, thing, knife)
            for thing in bits(sliceable)
            if now.lying[thing] >> now.at & 1
            for knife in bits(knives)
        )
    return found


_APPLIANCES = (
    (Verb.CLEAN, "cleanable", "SinkBasin"),
    (Verb.HEAT, "heatable", "Microwave"),
    (Verb.COOL, "coolable", "Fridge"),
)


def _with_things_held(scene: Scene, now: Situation, here: int, reachable: int) -> list[Action]:
    found: list[Action] = []
    for thing in bits(now.held):
        found.append(Action(Verb.HANDLE, thing))
        found.extend(Action(Verb.MOVE, thing, place) for place in bits(scene.fits[thing] & reachable))
        for verb, trait, furniture in _APPLIANCES:
            if scene.trait(trait) >> thing & 1:
                found.extend(Action(verb, thing, place) for place in bits(scene.furniture(furniture) & here))
    return found


def apply(scene: Scene, now: Situation, action: Action) -> Situation:
    """The situation after an action whose precondition holds."""
    verb, thing, place, location = action
    change = _CHANGES.get(verb)
    if change is not None:
        return change(scene, now, thing, place)
    if verb is Verb.GO:
        return now._replace(at=location)
    return now


def _put(values: tuple[int, ...], index: int, value: int) -> tuple[int, ...]:
    return (*values[:index], value, *values[index + 1 :])


def _open(_scene: Scene, now: Situation, _thing: int, place: int) -> Situation:
    return now._replace(opened=now.opened | 1 << place)


def _close(_scene: Scene, now: Situation, _thing: int, place: int) -> Situation:
    return now._replace(opened=now.opened & ~(1 << place))


def _take(scene: Scene, now: Situation, thing: int, place: int) -> Situation:
    return now._replace(
        inside=_put(now.inside, thing, now.inside[thing] & ~(1 << place)),
        lying=_put(now.lying, thing, now.lying[thing] & ~(1 << now.at)),
        apart=_put(now.apart, thing, now.apart[thing] | 1 << place & scene.shared),
        held=now.held | 1 << thing,
        busy=True,
    )


def _move(_scene: Scene, now: Situation, thing: int, place: int) -> Situation:
    return now._replace(
        inside=_put(now.inside, thing, now.inside[thing] | 1 << place),
        lying=_put(now.lying, thing, now.lying[thing] | 1 << now.at),
        apart=_put(now.apart, thing, now.apart[thing] & ~(1 << place)),
        held=now.held & ~(1 << thing),
        busy=False,
    )


def _heat(_scene: Scene, now: Situation, thing: int, _place: int) -> Situation:
    return now._replace(hot=now.hot | 1 << thing, cool=now.cool & ~(1 << thing))


def _cool(_scene: Scene, now: Situation, thing: int, _place: int) -> Situation:
    return now._replace(cool=now.cool | 1 << thing, hot=now.hot & ~(1 << thing))


def _clean(_scene: Scene, now: Situation, thing: int, _place: int) -> Situation:
    return now._replace(clean=now.clean | 1 << thing)


def _use(_scene: Scene, now: Situation, thing: int, _place: int) -> Situation:
    return now._replace(toggled=now.toggled | 1 << thing)


def _slice(_scene: Scene, now: Situation, thing: int, _place: int) -> Situation:
    return now._replace(sliced=now.sliced | 1 << thing)


_CHANGES = {
    Verb.OPEN: _open,
    Verb.CLOSE: _close,
    Verb.TAKE: _take,
    Verb.MOVE: _move,
    Verb.HEAT: _heat,
    Verb.COOL: _cool,
    Verb.CLEAN: _clean,
    Verb.USE: _use,
    Verb.SLICE: _slice,
}
