"""The six kinds of task, their sentences, and when each is achieved."""

from collections.abc import Mapping
from dataclasses import dataclass

from equipoise.environments.errors import EnvironmentFaultError
from equipoise.environments.household.scene import Scene, bits
from equipoise.environments.household.situation import Situation

__all__ = ["SENTENCES", "TASK_TYPES", "Goal", "achieved"]

SENTENCES: Mapping[str, tuple[str, str]] = {
    "pick_and_place_simple": ("put a {obj} in {recep}", "put some {obj} on {recep}"),
    "look_at_obj_in_light": ("look at {obj} under the {toggle}", "examine the {obj} with the {toggle}"),
    "pick_clean_then_place_in_recep": (
        "put a clean {obj} in {recep}",
        "clean some {obj} and put it in {recep}",
    ),
    "pick_heat_then_place_in_recep": ("put a hot {obj} in {recep}", "heat some {obj} and put it in {recep}"),
    "pick_cool_then_place_in_recep": ("put a cool {obj} in {recep}", "cool some {obj} and put it in {recep}"),
    "pick_two_obj_and_place": ("put two {obj} in {recep}", "find two {obj} and put them in {recep}"),
}
"""Sentences by kind of task. Source: alfworld 0.4.2, `gen/goal_library.py` (MIT, see affordances.json)."""

TASK_TYPES = tuple(SENTENCES)

_STARTS = (
    ("pick_clean_then_place_in_recep", ("put a clean ", "clean some ")),
    ("pick_heat_then_place_in_recep", ("put a hot ", "heat some ")),
    ("pick_cool_then_place_in_recep", ("put a cool ", "cool some ")),
    ("pick_two_obj_and_place", ("put two ", "find two ")),
    ("look_at_obj_in_light", ("look at ", "examine the ")),
    ("pick_and_place_simple", ("put a ", "put some ")),
)

_NEEDS = {
    "pick_clean_then_place_in_recep": "cleanable",
    "pick_heat_then_place_in_recep": "heatable",
    "pick_cool_then_place_in_recep": "coolable",
}


@dataclass(frozen=True, slots=True)
class Goal:
    """What is to be achieved.

    Attributes:
        task_type: One of `TASK_TYPES`.
        wanted: Class of the object ("Mug").
        target: Class of the receptacle it goes to ("" for looking).
        toggle: Class of the lamp ("" if none).
        sliced: Whether the object has to be sliced.
    """

    task_type: str
    wanted: str
    target: str
    toggle: str
    sliced: bool

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, object], task: str, task_type: str | None) -> "Goal":
        """Reads ALFRED's goal parameters; a missing kind of task is read off the sentence.

        Raises:
            EnvironmentFaultError: If the kind of task is none of the six, or is sliced looking, whose
                goal has an unbound variable in ALFRED.
        """
        sliced = bool(parameters.get("object_sliced", False))
        kind = task_type or _kind_of(task)
        if kind not in SENTENCES or (sliced and kind == "look_at_obj_in_light"):
            message = (
                f"expected a task out of {list(TASK_TYPES)} (sliced objects in all but looking), got "
                f"{kind or task!r}; name its kind in `task_type`"
            )
            raise EnvironmentFaultError(message)
        return cls(
            task_type=kind,
            wanted=str(parameters.get("object_target", "")),
            target=str(parameters.get("parent_target", "")),
            toggle=str(parameters.get("toggle_target", "")),
            sliced=sliced,
        )

    def candidates(self, scene: Scene) -> int:
        """The objects that can fulfil the task."""
        mask = scene.of_type(self.wanted)
        if self.task_type in _NEEDS:
            mask &= scene.trait(_NEEDS[self.task_type])
        return mask & scene.trait("sliceable") if self.sliced else mask

    def ready(self, now: Situation) -> int:
        """The objects in the condition that the task asks for (all, if it asks for none)."""
        mask = {
            "pick_clean_then_place_in_recep": now.clean,
            "pick_heat_then_place_in_recep": now.hot,
            "pick_cool_then_place_in_recep": now.cool,
        }.get(self.task_type, -1)
        return mask & now.sliced if self.sliced else mask


def _kind_of(task: str) -> str:
    return next((kind for kind, starts in _STARTS if task.startswith(starts)), "")


def achieved(scene: Scene, goal: Goal, now: Situation) -> bool:
    """Whether a situation achieves the goal.

    Source: alfworld 0.4.2, `gen/goal_library.py`. Looking asks for a switched lamp where the agent stands
    and the object in its hand, in either order of switching and taking.
    """
    candidates = goal.candidates(scene)
    if goal.task_type == "look_at_obj_in_light":
        if not now.held & candidates or now.at < 0:
            return False
        lamps = scene.of_type(goal.toggle) & scene.trait("toggleable") & now.toggled
        return any(now.inside[lamp] & scene.standing[now.at] for lamp in bits(lamps))
    placed = [
        now.inside[thing] & scene.furniture(goal.target) for thing in bits(candidates & goal.ready(now))
    ]
    if goal.task_type != "pick_two_obj_and_place":
        return any(placed)
    return any(one & other for index, one in enumerate(placed) for other in placed[:index])
