"""Reads the configuration of a corridor and reports all that is wrong with it at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import comb, perm

from equipoise.environments.errors import EnvironmentConfigError
from equipoise.environments.protocol import SPLITS

__all__ = ["CorridorConfig", "parse"]

_SHAPE = ("rooms", "doors", "pivotal", "signs")
_LEAST = {"held_out": 0}


@dataclass(frozen=True)
class CorridorConfig:
    """Sizes of a corridor.

    Attributes:
        pool: tasks trained and judged on. `held_out`: judged only. `demonstrations`: cloned from.
        rooms: doors to pass. `doors`: in each room.
        pivotal: rooms of a task in which one door is right.
        signs: landmarks that make a room pivotal.
    """

    pool: int = 32
    held_out: int = 32
    demonstrations: int = 512
    rooms: int = 8
    doors: int = 3
    pivotal: int = 2
    signs: int = 4


def parse(config: Mapping[str, object], *, doors: int, landmarks: int) -> CorridorConfig:
    """Complete a configuration by the defaults.

    Args:
        config: `tasks` {pool, held_out, demonstrations}, `words`, and `rooms`, `doors`, `pivotal`, `signs`.
        doors: how many doors have a name.
        landmarks: how many landmarks there are.

    Raises:
        EnvironmentConfigError: listing every wrong key and value.
    """
    faults = _unknown(config, ("tasks", "words", *_SHAPE), "")
    tasks = config.get("tasks", {})
    if isinstance(tasks, Mapping):
        faults += _unknown(tasks, SPLITS, "tasks.")
    else:
        faults.append(f"tasks: expected a mapping with the keys {list(SPLITS)}, got {tasks!r}")
        tasks = {}
    words = config.get("words", "terse")
    if words != "terse":
        faults.append(f"words: expected 'terse', the only wording of the corridor, got {words!r}")
    counts = _counts({key: config[key] for key in _SHAPE if key in config}, "", faults)
    counts |= _counts({key: tasks[key] for key in SPLITS if key in tasks}, "tasks.", faults)
    made = CorridorConfig(**counts)
    faults += _impossible(made, doors, landmarks)
    if faults:
        raise EnvironmentConfigError("bifurcation", faults)
    return made


def _unknown(config: Mapping[str, object], known: Sequence[str], prefix: str) -> list[str]:
    faults = []
    for key in config:
        if key not in known:
            near = get_close_matches(str(key), known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            faults.append(f"{prefix}{key}: expected a key out of {list(known)}{hint}")
    return faults


def _counts(given: Mapping[str, object], prefix: str, faults: list[str]) -> dict[str, int]:
    """Those that are whole and large enough."""
    sound: dict[str, int] = {}
    for key, value in given.items():
        least = _LEAST.get(key, 1)
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            sound[key] = value
        else:
            faults.append(f"{prefix}{key}: expected a whole number of at least {least}, got {value!r}")
    return sound


def _impossible(made: CorridorConfig, doors: int, landmarks: int) -> list[str]:
    limits = {
        "doors": (2, doors, made.doors),
        "pivotal": (1, min(made.rooms, made.signs), made.pivotal),
        "signs": (1, landmarks - 1, made.signs),
    }
    faults = [
        f"{name}: expected {low} to {high}, got {value}"
        for name, (low, high, value) in limits.items()
        if not low <= value <= high
    ]
    return faults or _too_many(made, landmarks)


def _too_many(made: CorridorConfig, landmarks: int) -> list[str]:
    """Pivotal rooms hold different signs, the others any of the landmarks that are none."""
    places, signs = comb(made.rooms, made.pivotal), perm(made.signs, made.pivotal)
    different = places * signs * (landmarks - made.signs) ** (made.rooms - made.pivotal)
    wanted = made.pool + made.held_out + made.demonstrations
    if wanted <= different:
        return []
    fault = (
        f"tasks: expected at most {different} over all splits, as many as there are different corridors of "
        f"rooms={made.rooms}, pivotal={made.pivotal}, signs={made.signs}, got {wanted}"
    )
    return [fault]
