"""AI2-THOR's classes as data: what fits where, what can be done with it, and what is found in which room."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

__all__ = ["Affordances", "Room", "affordances"]


@dataclass(frozen=True, slots=True)
class Room:
    """A kind of room.

    Attributes:
        receptacles: Classes of furniture and how many of each there are at most.
        objects: Classes of things that can be picked up.
        lamps: Classes of lamps and the furniture that they stand on.
    """

    receptacles: Mapping[str, int]
    objects: tuple[str, ...]
    lamps: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Affordances:
    """The tables of `affordances.json`, which names their source and carries its notice.

    Attributes:
        can_contain: By class of furniture, the classes that it can contain.
        traits: By trait ("heatable", "openable", ...), the classes that have it.
        rooms: By name, the kinds of room.
    """

    can_contain: Mapping[str, frozenset[str]]
    traits: Mapping[str, frozenset[str]]
    rooms: Mapping[str, Room]


@cache
def affordances() -> Affordances:
    """The tables, read once."""
    text = files("equipoise.environments.household").joinpath("affordances.json").read_text(encoding="utf-8")
    data = json.loads(text)
    rooms = {
        name: Room(
            receptacles=dict(room["receptacles"]),
            objects=tuple(room["objects"]),
            lamps={lamp: tuple(hosts) for lamp, hosts in room["lamps"].items()},
        )
        for name, room in data["rooms"].items()
    }
    return Affordances(
        can_contain={place: frozenset(things) for place, things in data["can_contain"].items()},
        traits={trait: frozenset(things) for trait, things in data["traits"].items()},
        rooms=rooms,
    )
