"""Draws households: a task, a room that has what it takes, and things lying about."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

import numpy as np

from equipoise.environments.household.affordances import Room, affordances
from equipoise.environments.household.goals import SENTENCES

__all__ = ["Instance", "draw", "possible_tasks"]

_Item = TypeVar("_Item")
_TREATMENT = {
    "pick_clean_then_place_in_recep": ("cleanable", "SinkBasin"),
    "pick_heat_then_place_in_recep": ("heatable", "Microwave"),
    "pick_cool_then_place_in_recep": ("coolable", "Fridge"),
}
_LOOK = "look_at_obj_in_light"
_TWO = "pick_two_obj_and_place"


@dataclass(frozen=True)
class Instance:
    """One task in the form of ALFWorld's games.

    Attributes:
        task_type: One of the six kinds.
        goal: ALFRED's goal parameters.
        task: The task's sentence.
        facts: Ground facts at the start, by predicate.
        content: What makes it this task and no other, whatever its numbers and coordinates: kind, classes of
            the goal, and every receptacle's class with the classes of what lies in it.
    """

    task_type: str
    goal: Mapping[str, object]
    task: str
    facts: Mapping[str, list[list[str]]]
    content: str


@dataclass
class _Draft:
    """A household while it is furnished: classes only, things by index of the receptacle they lie in."""

    name: str
    furniture: list[str] = field(default_factory=list)
    things: list[tuple[str, int]] = field(default_factory=list)

    @property
    def room(self) -> Room:
        return affordances().rooms[self.name]


def _choice(generator: np.random.Generator, items: Sequence[_Item]) -> _Item:
    return items[int(generator.integers(len(items)))]


@cache
def _hosts(room_name: str, thing: str) -> tuple[str, ...]:
    """Classes of the room's furniture that can hold a thing."""
    room = affordances().rooms[room_name]
    if thing in room.lamps:
        return room.lamps[thing]
    return tuple(place for place in room.receptacles if thing in affordances().can_contain[place])


@cache
def possible_tasks(room_name: str, task_type: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The wanted classes a room allows for a kind of task, each with its targets (lamps for looking)."""
    room = affordances().rooms[room_name]
    trait, appliance = _TREATMENT.get(task_type, ("", ""))
    if appliance and appliance not in room.receptacles:
        return ()
    found = []
    for thing in room.objects:
        hosts = _hosts(room_name, thing)
        if trait and thing not in affordances().traits[trait]:
            continue
        targets = tuple(room.lamps) if task_type == _LOOK else tuple(p for p in hosts if p != appliance)
        if targets and (task_type == _LOOK or len(hosts) > 1):
            found.append((thing, targets))
    return tuple(found)


def draw(
    generator: np.random.Generator,
    room_names: Sequence[str],
    task_types: Sequence[str],
    receptacles: int,
    objects: int,
) -> Instance:
    """Draws one household.

    Args:
        generator: Where chance comes from.
        room_names: Kinds of room, each equally likely among those that allow the task.
        task_types: Kinds of task, each equally likely; every one possible in some room.
        receptacles: How many pieces of furniture, at least 3.
        objects: How many things, at least 2.

    Returns:
        A household in which the task is not yet achieved and can be.
    """
    task_type = _choice(generator, task_types)
    room_name = _choice(generator, [name for name in room_names if possible_tasks(name, task_type)])
    wanted, targets = _choice(generator, possible_tasks(room_name, task_type))
    target = _choice(generator, targets)
    draft = _Draft(room_name)
    _furnish(draft, generator, task_type, wanted, target, receptacles)
    _scatter(draft, generator, task_type, wanted, target, objects)
    return _spell_out(draft, generator, task_type, wanted, target)


def _furnish(
    draft: _Draft, generator: np.random.Generator, task_type: str, wanted: str, target: str, count: int
) -> None:
    _, appliance = _TREATMENT.get(task_type, ("", ""))
    if task_type == _LOOK:
        draft.furniture.append(_choice(generator, draft.room.lamps[target]))
    else:
        draft.furniture.append(target)
    if appliance:
        draft.furniture.append(appliance)
    sources = [place for place in _hosts(draft.name, wanted) if task_type == _LOOK or place != target]
    if not set(sources) & set(draft.furniture) or task_type == _LOOK or generator.random() < 0.5:
        _add_one(draft, generator, sources)
    while len(draft.furniture) < count:
        _add_one(draft, generator, list(draft.room.receptacles))


def _add_one(draft: _Draft, generator: np.random.Generator, classes: Sequence[str]) -> None:
    """Adds one piece, each class as likely as it is numerous; a class that is used up is passed over."""
    there = Counter(draft.furniture)
    pieces = [one for one in classes for _ in range(draft.room.receptacles[one] - there[one])]
    if pieces:
        draft.furniture.append(_choice(generator, pieces))


def _scatter(
    draft: _Draft, generator: np.random.Generator, task_type: str, wanted: str, target: str, count: int
) -> None:
    barred = "" if task_type == _LOOK else target
    for _ in range(2 if task_type == _TWO else 1):
        _lay(draft, generator, wanted, barred)
    if task_type == _LOOK:
        _lay(draft, generator, target, "")
    others = [one for one in draft.room.objects if one != wanted and _homes(draft, one, "")]
    there: Counter[str] = Counter()
    while len(draft.things) < count and others:
        thing = _choice(generator, others)
        _lay(draft, generator, thing, "")
        there[thing] += 1
        if there[thing] == most_copies(count):
            others.remove(thing)


def most_copies(objects: int) -> int:
    """How many things of one class a household with so many things has at most."""
    return 2 if objects <= 8 else 3


def _homes(draft: _Draft, thing: str, barred: str) -> list[int]:
    hosts = _hosts(draft.name, thing)
    return [index for index, place in enumerate(draft.furniture) if place in hosts and place != barred]


def _lay(draft: _Draft, generator: np.random.Generator, thing: str, barred: str) -> None:
    draft.things.append((thing, _choice(generator, _homes(draft, thing, barred))))


def _spell_out(
    draft: _Draft, generator: np.random.Generator, task_type: str, wanted: str, target: str
) -> Instance:
    looking = task_type == _LOOK
    goal = {
        "object_target": wanted,
        "parent_target": "" if looking else target,
        "toggle_target": target if looking else "",
        "mrecep_target": "",
        "object_sliced": False,
    }
    sentence = _choice(generator, SENTENCES[task_type])
    task = sentence.format(obj=wanted.lower(), recep=target.lower(), toggle=target.lower())
    return Instance(
        task_type, goal, task, _facts(draft, generator), _content(draft, task_type, wanted, target)
    )


def _content(draft: _Draft, task_type: str, wanted: str, target: str) -> str:
    inside = [
        f"{place}({','.join(sorted(thing for thing, where in draft.things if where == index))})"
        for index, place in enumerate(draft.furniture)
    ]
    return f"{task_type} {wanted} {target}: {' '.join(sorted(inside))}"


def _facts(draft: _Draft, generator: np.random.Generator) -> dict[str, list[list[str]]]:
    """The facts, with coordinates at random: their order decides which drawer is number 1."""
    traits = affordances().traits
    count = len(draft.furniture) + len(draft.things)
    spots = [f"{x:+06.2f}|{y:+06.2f}|{z:+06.2f}" for x, y, z in _spots(generator, count)]
    furniture = [_identifier(place, spots.pop()) for place in draft.furniture]
    things = [(kind, f"{kind}|{spots.pop()}", where) for kind, where in draft.things]
    locations = [
        f"loc|{index}|{x}|{y}|30"
        for index, (x, y) in enumerate(generator.integers(-9, 9, (len(furniture), 2)))
    ]
    facts: dict[str, list[list[str]]] = {
        "total-cost": [[]],
        "receptacleType": [
            [one, f"{kind}Type"] for one, kind in zip(furniture, draft.furniture, strict=True)
        ],
        "objectType": [[one, f"{kind}Type"] for kind, one, _ in things],
        "canContain": _can_contain(draft),
        "pickupable": [[one] for kind, one, _ in things if kind not in draft.room.lamps],
        "openable": [
            [one] for one, kind in zip(furniture, draft.furniture, strict=True) if kind in traits["openable"]
        ],
        "atLocation": [["agent1", "loc|99|0|0|30"]],
        "inReceptacle": [[one, furniture[where]] for _, one, where in things],
        "receptacleAtLocation": [[one, there] for one, there in zip(furniture, locations, strict=True)],
        "objectAtLocation": [[one, locations[where]] for _, one, where in things],
    }
    for trait in ("isReceptacleObject", "cleanable", "heatable", "coolable", "sliceable", "toggleable"):
        facts[trait] = [[one] for kind, one, _ in things if kind in traits[trait]]
    return facts


def _spots(generator: np.random.Generator, count: int) -> list[tuple[float, float, float]]:
    """Coordinates in hundredths of a metre; no two alike."""
    grid = generator.permutation(600)[:count]
    rest = generator.integers(0, 300, (count, 2))
    return [
        ((int(x) - 300) / 100, int(y) / 100, (int(z) - 150) / 50)
        for x, (y, z) in zip(grid, rest, strict=True)
    ]


def _identifier(kind: str, spot: str) -> str:
    """ALFRED names a basin after what it is part of."""
    return (
        f"{kind.removesuffix('Basin')}|{spot}|{kind}|{kind}" if kind.endswith("Basin") else f"{kind}|{spot}"
    )


def _can_contain(draft: _Draft) -> list[list[str]]:
    kinds = {kind for kind, _ in draft.things}
    tables = affordances().can_contain
    return [
        [f"{place}Type", f"{kind}Type"]
        for place in sorted(set(draft.furniture))
        for kind in sorted(kinds & tables[place])
    ]
