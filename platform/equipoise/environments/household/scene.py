"""What never changes in a household: its things, where the furniture stands, and what fits where."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from equipoise.environments.household.names import mangle, numbered_names

__all__ = ["Facts", "Scene", "bits", "mask_of"]

Facts = Mapping[str, Sequence[Sequence[str]]]
"""Ground facts of ALFWorld's PDDL domain, by predicate: each a list of argument lists."""

_RECEPTACLE_FIRST = ("receptacleType", "receptacleAtLocation", "openable", "opened")
_OBJECT_FIRST = (
    "objectType",
    "objectAtLocation",
    "inReceptacle",
    "inReceptacleObject",
    "isReceptacleObject",
    "pickupable",
    "cleanable",
    "heatable",
    "coolable",
    "toggleable",
    "sliceable",
    "isClean",
    "isHot",
    "isCool",
    "isSliced",
    "isToggled",
    "isOn",
)


def bits(mask: int) -> Iterable[int]:
    """The indices of the bits that are set, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def mask_of(indices: Iterable[int]) -> int:
    """The mask in which exactly these bits are set."""
    mask = 0
    for index in indices:
        mask |= 1 << index
    return mask


@dataclass(frozen=True, slots=True)
class Scene:
    """Static data of one household; sets of receptacles, objects and locations are bit masks.

    Attributes:
        receptacle_ids: Mangled identifiers of the R receptacles, sorted.
        object_ids: The same of the O objects.
        location_ids: The same of the locations.
        receptacles: Names of the receptacles ("drawer 2").
        objects: Names of the objects.
        standing: By location, the receptacles that can be reached from it.
        places: By receptacle, the locations from which it can be reached.
        fits: By object, the receptacles whose type can contain it.
        inner: By object, the objects inside it.
        shared: Receptacles that share a location with another one.
        types: By type ("booktype"), the objects of that type.
        receptacle_types: By type, the receptacles of that type.
        openable: Receptacles that have a door.
        traits: By predicate ("pickupable", "isReceptacleObject", ...), the objects that have it.
    """

    receptacle_ids: tuple[str, ...]
    object_ids: tuple[str, ...]
    location_ids: tuple[str, ...]
    receptacles: tuple[str, ...]
    objects: tuple[str, ...]
    standing: tuple[int, ...]
    places: tuple[int, ...]
    fits: tuple[int, ...]
    inner: tuple[int, ...]
    shared: int
    types: Mapping[str, int]
    receptacle_types: Mapping[str, int]
    openable: int
    traits: Mapping[str, int]

    def trait(self, predicate: str) -> int:
        """The objects of which a predicate holds."""
        return self.traits.get(predicate, 0)

    def of_type(self, name: str) -> int:
        """The objects of a class ("Book")."""
        return self.types.get(f"{name}Type".lower(), 0)

    def furniture(self, name: str) -> int:
        """The receptacles of a class ("Drawer")."""
        return self.receptacle_types.get(f"{name}Type".lower(), 0)

    @classmethod
    def from_facts(cls, facts: Facts) -> "Scene":
        """Compiles facts; predicates that no action or observation reads are passed over."""
        rows = {
            predicate: [tuple(mangle(a) for a in row) for row in some] for predicate, some in facts.items()
        }
        receptacle_ids = _column(rows, _RECEPTACLE_FIRST, 0) | _column(rows, ("inReceptacle",), 1)
        object_ids = _column(rows, _OBJECT_FIRST, 0) | _column(rows, ("inReceptacleObject", "holds"), 1)
        location_ids = _column(rows, ("receptacleAtLocation", "objectAtLocation", "atLocation"), 1)
        names = numbered_names(receptacle_ids | object_ids | location_ids)
        receptacles, objects, locations = (sorted(ids) for ids in (receptacle_ids, object_ids, location_ids))
        at = _relation(rows.get("receptacleAtLocation", []), receptacles, locations)
        standing = tuple(
            mask_of(r for r, place in enumerate(at) if place >> index & 1) for index in range(len(locations))
        )
        types = _by_type(rows.get("objectType", []), objects)
        receptacle_types = _by_type(rows.get("receptacleType", []), receptacles)
        return cls(
            receptacle_ids=tuple(receptacles),
            object_ids=tuple(objects),
            location_ids=tuple(locations),
            receptacles=tuple(names[one] for one in receptacles),
            objects=tuple(names[one] for one in objects),
            standing=standing,
            places=at,
            fits=_fits(rows.get("canContain", []), types, receptacle_types, len(objects)),
            inner=_relation([row[::-1] for row in rows.get("inReceptacleObject", [])], objects, objects),
            shared=mask_of(r for mask in standing if mask.bit_count() > 1 for r in bits(mask)),
            types=types,
            receptacle_types=receptacle_types,
            openable=_members(rows.get("openable", []), receptacles),
            traits={predicate: _members(rows.get(predicate, []), objects) for predicate in _OBJECT_FIRST[4:]},
        )


Rows = Mapping[str, Sequence[tuple[str, ...]]]


def _column(rows: Rows, predicates: Iterable[str], column: int) -> set[str]:
    return {row[column] for predicate in predicates for row in rows.get(predicate, ())}


def _members(rows: Iterable[tuple[str, ...]], ids: Sequence[str]) -> int:
    return mask_of(ids.index(row[0]) for row in rows)


def _relation(rows: Iterable[tuple[str, ...]], left: Sequence[str], right: Sequence[str]) -> tuple[int, ...]:
    related = [0] * len(left)
    for one, other in rows:
        related[left.index(one)] |= 1 << right.index(other)
    return tuple(related)


def _by_type(rows: Iterable[tuple[str, ...]], ids: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one, kind in rows:
        found[kind] = found.get(kind, 0) | 1 << ids.index(one)
    return found


def _fits(
    rows: Iterable[tuple[str, ...]], types: Mapping[str, int], receptacle_types: Mapping[str, int], count: int
) -> tuple[int, ...]:
    fits = [0] * count
    for receptacle_type, object_type in rows:
        for index in bits(types.get(object_type, 0)):
            fits[index] |= receptacle_types.get(receptacle_type, 0)
    return tuple(fits)
