"""The same game in about a third of the words, for policies that are tiny.

Words are separated by blanks and every thing is one word ("drawer2"). The first observation is the goal
(kind, class, place) and what is around; after that only news is told: what lies inside, "closed", "empty",
or "ok".
"""

from collections.abc import Iterable, Mapping

from equipoise.environments.household.goals import Goal
from equipoise.environments.household.scene import Scene, bits
from equipoise.environments.household.situation import Action, Situation, Verb

__all__ = ["TERSE_WORDS", "TerseWords"]

_KINDS: Mapping[str, str] = {
    "pick_and_place_simple": "put",
    "look_at_obj_in_light": "look",
    "pick_clean_then_place_in_recep": "clean",
    "pick_heat_then_place_in_recep": "heat",
    "pick_cool_then_place_in_recep": "cool",
    "pick_two_obj_and_place": "two",
}

_VERBS: Mapping[Verb, str] = {
    Verb.GO: "go",
    Verb.OPEN: "open",
    Verb.CLOSE: "close",
    Verb.TAKE: "take",
    Verb.MOVE: "put",
    Verb.EXAMINE: "examine",
    Verb.HANDLE: "examine",
    Verb.USE: "use",
    Verb.HEAT: "heat",
    Verb.CLEAN: "clean",
    Verb.COOL: "cool",
    Verb.SLICE: "slice",
    Verb.LOOK: "look",
    Verb.INVENTORY: "inventory",
    Verb.HELP: "help",
}

_OF_THING = frozenset(
    {Verb.TAKE, Verb.HANDLE, Verb.USE, Verb.HEAT, Verb.CLEAN, Verb.COOL, Verb.SLICE},
)

TERSE_WORDS: frozenset[str] = frozenset(
    {*_KINDS.values(), *_VERBS.values(), "sliced", "hot", "cool", "on"}
    | {"closed", "empty", "ok", "nothing", "nowhere", "plain"},
)
"""Every word that is no name."""


class TerseWords:
    """One word a thing, and no word that carries no news."""

    name = "terse"
    nothing = "nothing"

    def vocabulary(self, most: Mapping[str, int]) -> frozenset[str]:
        """Every word there is, given how many things of each class there are at most."""
        names = {f"{name}{number}" for name, count in most.items() for number in range(1, count + 1)}
        return TERSE_WORDS | names | set(most)

    def intro(self, scene: Scene, goal: Goal, _task: str, now: Situation) -> str:
        """The goal in two or three words, then what is around."""
        words = [_KINDS[goal.task_type], goal.wanted, goal.target or goal.toggle]
        if goal.sliced:
            words.insert(1, "sliced")
        if now.at >= 0 and scene.standing[now.at]:
            words.append(_look(scene, now))
        else:
            words.extend(
                _word(scene.receptacles[r]) for r, places in enumerate(scene.places) for _ in bits(places)
            )
        return " ".join(words).lower()

    def commands(self, scene: Scene, actions: Iterable[Action]) -> dict[str, Action]:
        """The actions by command; where two would read alike, the place is added to both."""
        short: dict[str, list[Action]] = {}
        for action in actions:
            short.setdefault(_short(scene, action), []).append(action)
        found: dict[str, Action] = {}
        for text, alike in short.items():
            if len(alike) == 1:
                found[text] = alike[0]
            else:
                for action in alike:
                    found.setdefault(f"{text} {_second(scene, action)}".strip(), action)
        return found

    def report(self, scene: Scene, action: Action, after: Situation) -> str:
        """What is new."""
        verb = action.verb
        if verb in (Verb.GO, Verb.OPEN, Verb.EXAMINE):
            return _inside(scene, action.place, after)
        if verb is Verb.CLOSE:
            return "closed"
        if verb is Verb.LOOK:
            return _look(scene, after)
        if verb is Verb.INVENTORY:
            return _names(scene, after.held)
        return _condition(scene, action.thing, after) if verb is Verb.HANDLE else "ok"


def _word(name: str) -> str:
    return name.replace(" ", "")


def _names(scene: Scene, things: int) -> str:
    return " ".join(_word(scene.objects[thing]) for thing in bits(things)) or "empty"


def _short(scene: Scene, action: Action) -> str:
    verb = _VERBS[action.verb]
    if action.verb in _OF_THING:
        return f"{verb} {_word(scene.objects[action.thing])}"
    return f"{verb} {_word(scene.receptacles[action.place])}" if action.place >= 0 else verb


def _second(scene: Scene, action: Action) -> str:
    if action.verb is Verb.MOVE:
        return _word(scene.objects[action.thing])
    if action.verb is Verb.SLICE:
        return _word(scene.objects[action.place])
    return _word(scene.receptacles[action.place]) if action.verb in _OF_THING else ""


def _inside(scene: Scene, place: int, now: Situation) -> str:
    if scene.openable & ~now.opened & 1 << place:
        return "closed"
    there = (_word(scene.objects[thing]) for thing, places in enumerate(now.inside) if places >> place & 1)
    return " ".join(there) or "empty"


def _look(scene: Scene, now: Situation) -> str:
    here = scene.standing[now.at]
    words = [_word(scene.receptacles[place]) for place in bits(here)]
    for thing, places in enumerate(now.apart):
        if now.lying[thing] >> now.at & 1:
            words.extend(_word(scene.objects[thing]) for _ in bits(places & here))
    return " ".join(words) or "nowhere"


def _condition(scene: Scene, thing: int, now: Situation) -> str:
    if scene.trait("isReceptacleObject") >> thing & 1:
        return _names(scene, scene.inner[thing] & ~(1 << thing))
    hot, cool, clean, sliced = (mask >> thing & 1 for mask in (now.hot, now.cool, now.clean, now.sliced))
    told = [("hot", hot), ("cool", cool and not hot), ("clean", clean)]
    words = [word for word, holds in told if holds]
    on = scene.trait("toggleable") >> thing & 1 and now.toggled >> thing & 1
    if on and not words:
        return "on"
    if sliced and (words or scene.trait("sliceable") >> thing & 1):
        words.append("sliced")
    return " ".join(words) or "plain"
