"""Reads the configuration of a household and reports all that is wrong with it at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from equipoise.environments.errors import EnvironmentConfigError
from equipoise.environments.household.affordances import affordances
from equipoise.environments.household.generator import possible_tasks
from equipoise.environments.household.goals import TASK_TYPES
from equipoise.environments.protocol import SPLITS

__all__ = ["WORDS", "HouseholdConfig"]

WORDS = ("terse", "alfworld")
"""The wordings there are."""

_KEYS = ("name", "tasks", "size", "room", "rooms", "task_types", "words", "horizon")
_TASKS = {"pool": 32, "held_out": 64, "demonstrations": 1500}
_SIZE = {"receptacles": 4, "objects": 4}
_LEAST = {"receptacles": 3, "objects": 2}


@dataclass(frozen=True, slots=True)
class HouseholdConfig:
    """A household's configuration, complete and checked.

    Attributes:
        tasks: Number of tasks by split.
        receptacles: Pieces of furniture in a household.
        objects: Things in a household.
        rooms: Kinds of room.
        task_types: Kinds of task; each is possible in one of the rooms.
        words: "terse" or "alfworld".
        horizon: Number of steps within which the searching expert wins every task.
    """

    tasks: Mapping[str, int]
    receptacles: int
    objects: int
    rooms: tuple[str, ...]
    task_types: tuple[str, ...]
    words: str
    horizon: int

    @classmethod
    def parse(cls, config: Mapping[str, object]) -> "HouseholdConfig":
        """Completes a configuration by the defaults.

        Defaults are `{tasks: {pool: 32, held_out: 64, demonstrations: 1500}, size: {receptacles: 4,
        objects: 4}, rooms: [kitchen], words: terse}`, the kinds of task that the rooms allow, and a
        horizon of 15 steps or, if more, 3 for each receptacle and 3. `room: kitchen` is short for
        `rooms: [kitchen]`; `name` may be "household".

        Raises:
            EnvironmentConfigError: If anything is wrong; it lists every fault.
        """
        faults: list[str] = []
        _known(config, _KEYS, "", faults)
        if config.get("name", "household") != "household":
            faults.append(f"name: expected 'household', got {config['name']!r}")
        tasks = _counts(config, "tasks", _TASKS, dict.fromkeys(_TASKS, 0), faults)
        size = _counts(config, "size", _SIZE, _LEAST, faults)
        rooms = _rooms(config, faults)
        _room_enough(rooms, size, faults)
        horizon = _count(config.get("horizon", max(15, 3 * size["receptacles"] + 3)), "horizon", 1, faults)
        words = config.get("words", "terse")
        if words not in WORDS:
            faults.append(f"words: expected one of {list(WORDS)}, got {words!r}")
        task_types = _task_types(config, rooms, faults)
        if faults:
            raise EnvironmentConfigError("household", faults)
        return cls(tasks, size["receptacles"], size["objects"], rooms, task_types, str(words), horizon)


def _known(config: Mapping[str, object], keys: Sequence[str], prefix: str, faults: list[str]) -> None:
    for key in config:
        if key not in keys:
            near = get_close_matches(str(key), keys, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            faults.append(f"{prefix}{key}: expected a key out of {list(keys)}{hint}")


def _count(value: object, key: str, least: int, faults: list[str]) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    faults.append(f"{key}: expected a whole number of at least {least}, got {value!r}")
    return least


def _counts(
    config: Mapping[str, object],
    key: str,
    defaults: Mapping[str, int],
    least: Mapping[str, int],
    faults: list[str],
) -> dict[str, int]:
    given = config.get(key, {})
    if not isinstance(given, Mapping):
        faults.append(f"{key}: expected a mapping with the keys {list(defaults)}, got {given!r}")
        return dict(defaults)
    _known(given, tuple(defaults), f"{key}.", faults)
    return {
        name: _count(given.get(name, default), f"{key}.{name}", least[name], faults)
        for name, default in defaults.items()
    }


def _names(value: object, key: str, known: Sequence[str], faults: list[str]) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        faults.append(f"{key}: expected a list out of {list(known)}, got {value!r}")
        return ()
    wrong = [name for name in value if name not in known]
    for name in wrong:
        near = get_close_matches(str(name), known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        faults.append(f"{key}: expected names out of {list(known)}, got {name!r}{hint}")
    if len(set(map(str, value))) < len(value):
        faults.append(f"{key}: expected each name once, got {list(value)!r}")
    return tuple(name for name in value if name not in wrong)


def _rooms(config: Mapping[str, object], faults: list[str]) -> tuple[str, ...]:
    known = tuple(affordances().rooms)
    if "room" in config and "rooms" in config:
        faults.append("room: expected either room or rooms, got both; leave one out")
    if "rooms" in config:
        return _names(config["rooms"], "rooms", known, faults)
    return _names([config.get("room", "kitchen")], "room", known, faults)


def _room_enough(rooms: Sequence[str], size: Mapping[str, int], faults: list[str]) -> None:
    for name in rooms:
        most = sum(affordances().rooms[name].receptacles.values())
        if size["receptacles"] > most:
            faults.append(
                f"size.receptacles: expected at most {most} for a {name}, got {size['receptacles']}"
            )


def _task_types(config: Mapping[str, object], rooms: Sequence[str], faults: list[str]) -> tuple[str, ...]:
    possible = tuple(kind for kind in TASK_TYPES if any(possible_tasks(room, kind) for room in rooms))
    if "task_types" not in config:
        return possible
    chosen = _names(config["task_types"], "task_types", TASK_TYPES, faults)
    faults.extend(
        f"task_types: {kind!r} is possible in none of the rooms {list(rooms)}; add a room or leave it out"
        for kind in chosen
        if rooms and kind not in possible
    )
    return chosen


assert tuple(_TASKS) == SPLITS
