"""ALFWorld's own words for commands and observations, word for word."""

import re
from collections.abc import Iterable, Mapping, Sequence

from equipoise.environments.household.goals import SENTENCES, Goal
from equipoise.environments.household.scene import Scene, bits
from equipoise.environments.household.situation import Action, Situation, Verb

__all__ = ["HELP", "AlfworldWords", "split_words"]

HELP = """Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""

_COMMANDS = {
    Verb.GO: "go to {place}",
    Verb.OPEN: "open {place}",
    Verb.CLOSE: "close {place}",
    Verb.TAKE: "take {thing} from {place}",
    Verb.MOVE: "move {thing} to {place}",
    Verb.EXAMINE: "examine {place}",
    Verb.HANDLE: "examine {thing}",
    Verb.USE: "use {thing}",
    Verb.HEAT: "heat {thing} with {place}",
    Verb.CLEAN: "clean {thing} with {place}",
    Verb.COOL: "cool {thing} with {place}",
    Verb.SLICE: "slice {thing} with {place}",
    Verb.LOOK: "look",
    Verb.INVENTORY: "inventory",
    Verb.HELP: "help",
}

_REPORTS = {
    Verb.CLOSE: "You close the {place}.",
    Verb.TAKE: "You pick up the {thing} from the {place}.",
    Verb.MOVE: "You move the {thing} to the {place}.",
    Verb.USE: "You turn on the {thing}.",
    Verb.HEAT: "You heat the {thing} using the {place}.",
    Verb.CLEAN: "You clean the {thing} using the {place}.",
    Verb.COOL: "You cool the {thing} using the {place}.",
    Verb.SLICE: "You sliced the {thing} with the {place}.",
    Verb.HELP: HELP,
}


_WELCOME = "-= Welcome to TextWorld, ALFRED! =-"
_ROOM = "You are in the middle of a room. Looking quickly around you, you see"
_TASK = "Your task is to:"
_NOTHING = "Nothing happens."
_OTHERS = (
    "You arrive at . You open the . The is closed. The is open. In it, you see On the , nothing a and "
    "You are facing the . Next to it, you see You are not carrying anything. You are carrying: "
    "This is a normal hot cool cold clean sliced This is on. There's nothing special about ."
)


def split_words(text: str) -> list[str]:
    """The words of a text: runs of letters, digits and apostrophes, and every other sign by itself."""
    return re.findall(r"[A-Za-z0-9']+|[^A-Za-z0-9'\s]", text)


def _enumerate(names: Sequence[str]) -> str:
    if not names:
        return "nothing"
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + ", and " + names[-1]


def _some(names: Iterable[str]) -> str:
    return _enumerate([f"a {name}" for name in names])


def _fill(template: str, scene: Scene, action: Action) -> str:
    verb, thing, place, _ = action
    places = scene.objects if verb is Verb.SLICE else scene.receptacles
    return template.format(
        thing=scene.objects[thing] if thing >= 0 else "",
        place=places[place] if place >= 0 else "",
    )


class AlfworldWords:
    """ALFWorld's words. Source: alfworld 0.4.2, `data/alfred.twl2` (MIT, see affordances.json)."""

    name = "alfworld"
    nothing = _NOTHING

    def vocabulary(self, most: Mapping[str, int]) -> frozenset[str]:
        """Every word there is, as `split_words` sees them, given how many of a class there are at most."""
        sentences = [
            sentence.format(obj="", recep="", toggle="") for some in SENTENCES.values() for sentence in some
        ]
        forms = [form.format(thing="", place="") for form in (*_COMMANDS.values(), *_REPORTS.values())]
        words = split_words(" ".join([_WELCOME, _ROOM, _TASK, _NOTHING, _OTHERS, *sentences, *forms]))
        numbers = (str(number) for number in range(1, max(most.values(), default=0) + 1))
        return frozenset([*words, *numbers, *most])

    def intro(self, scene: Scene, _goal: Goal, task: str, now: Situation) -> str:
        """Welcome, what is around, and the task's sentence."""
        if now.at >= 0 and scene.standing[now.at]:
            around = self._look(scene, now)
        else:
            listed = (scene.receptacles[r] for r, places in enumerate(scene.places) for _ in bits(places))
            around = _in_a_room(_some(listed))
        return f"{_WELCOME}\n\n{around}\n\n{_TASK} {task}."

    def commands(self, scene: Scene, actions: Iterable[Action]) -> dict[str, Action]:
        """The actions by command."""
        found: dict[str, Action] = {}
        for action in actions:
            found.setdefault(_fill(_COMMANDS[action.verb], scene, action), action)
        return found

    def report(self, scene: Scene, action: Action, after: Situation) -> str:
        """What an action shows, given the situation that it led to."""
        verb = action.verb
        if verb in _REPORTS:
            return _fill(_REPORTS[verb], scene, action)
        if verb is Verb.GO:
            seen = self._inside(scene, action.place, after)
            return f"You arrive at {scene.receptacles[action.place]}. {seen}"
        if verb is Verb.OPEN:
            return (
                f"You open the {scene.receptacles[action.place]}. {self._inside(scene, action.place, after)}"
            )
        if verb is Verb.EXAMINE:
            return self._inside(scene, action.place, after)
        if verb is Verb.HANDLE:
            return _condition(scene, action.thing, after)
        return self._look(scene, after) if verb is Verb.LOOK else _inventory(scene, after)

    def _inside(self, scene: Scene, place: int, now: Situation) -> str:
        name = scene.receptacles[place]
        door, opened = scene.openable >> place & 1, now.opened >> place & 1
        if door and not opened:
            return f"The {name} is closed."
        seen = _some(scene.objects[thing] for thing, places in enumerate(now.inside) if places >> place & 1)
        return f"The {name} is open. In it, you see {seen}." if door else f"On the {name}, you see {seen}."

    def _look(self, scene: Scene, now: Situation) -> str:
        here = scene.standing[now.at]
        if not here:
            return _in_a_room("nothing")
        facing = _enumerate([scene.receptacles[place] for place in bits(here)])
        floor = [
            scene.objects[thing]
            for thing, places in enumerate(now.apart)
            if now.lying[thing] >> now.at & 1
            for _ in bits(places & here)
        ]
        return f"You are facing the {facing}. Next to it, you see {_some(floor)}."


def _in_a_room(listed: str) -> str:
    return f"{_ROOM} {listed}."


def _inventory(scene: Scene, now: Situation) -> str:
    if not now.busy:
        return "You are not carrying anything."
    return f"You are carrying: {_some(scene.objects[thing] for thing in bits(now.held))}."


def _condition(scene: Scene, thing: int, now: Situation) -> str:
    name = scene.objects[thing]
    if scene.trait("isReceptacleObject") >> thing & 1:
        inner = _some(scene.objects[one] for one in bits(scene.inner[thing]) if one != thing)
        return f"This is a normal {name}. In it, you see {inner}."
    clean, hot, cool, sliced = (mask >> thing & 1 for mask in (now.clean, now.hot, now.cool, now.sliced))
    if clean or hot or cool:
        warmth = "hot" if hot else "cool" if cool else ""
        if warmth == "cool" and not (clean or sliced):
            warmth = "cold"
        words = " and ".join(word for word in (warmth, "clean" if clean else "") if word)
        return f"This is a {words} {'sliced ' if sliced else ''}{name}."
    if scene.trait("toggleable") >> thing & 1 and now.toggled >> thing & 1:
        return f"This {name} is on."
    if scene.trait("sliceable") >> thing & 1 and sliced:
        return f"This is a sliced {name}."
    return f"There's nothing special about {name}."
