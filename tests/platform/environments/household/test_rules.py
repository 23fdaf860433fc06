"""Rules that transcripts of ordinary games seldom show, each worked by hand from the PDDL and the grammar."""

from collections.abc import Sequence

import pytest

from equipoise.environments.errors import EnvironmentFaultError
from equipoise.environments.household import Game, HouseholdState, TerseWords

GOAL = {"object_target": "Apple", "parent_target": "CounterTop", "toggle_target": "", "object_sliced": False}


def _facts(**more: Sequence[Sequence[str]]) -> dict[str, Sequence[Sequence[str]]]:
    """A fridge with apples and a countertop with a knife at one place, a microwave at another."""
    facts: dict[str, Sequence[Sequence[str]]] = {
        "receptacleType": [
            ["Fridge|1", "FridgeType"],
            ["CounterTop|2", "CounterTopType"],
            ["Microwave|3", "MicrowaveType"],
        ],
        "receptacleAtLocation": [["Fridge|1", "loc|1"], ["CounterTop|2", "loc|1"], ["Microwave|3", "loc|2"]],
        "objectType": [["Apple|1", "AppleType"], ["Apple|2", "AppleType"], ["Knife|1", "KnifeType"]],
        "inReceptacle": [["Apple|1", "Fridge|1"], ["Apple|2", "Fridge|1"], ["Knife|1", "CounterTop|2"]],
        "objectAtLocation": [["Apple|1", "loc|1"], ["Apple|2", "loc|1"], ["Knife|1", "loc|1"]],
        "openable": [["Fridge|1"], ["Microwave|3"]],
        "pickupable": [["Apple|1"], ["Apple|2"], ["Knife|1"]],
        "heatable": [["Apple|1"]],
        "coolable": [["Apple|1"]],
        "sliceable": [["Apple|1"], ["Apple|2"]],
        "canContain": [
            ["FridgeType", "AppleType"],
            ["CounterTopType", "AppleType"],
            ["CounterTopType", "KnifeType"],
        ],
        "atLocation": [["agent1", "loc|9"]],
    }
    return facts | more


def _play(state: HouseholdState, *commands: str) -> HouseholdState:
    for command in commands:
        assert command in state.admissible
        state = state.step(command)
    return state


def _start(**more: Sequence[Sequence[str]]) -> HouseholdState:
    return Game(_facts(**more), GOAL, "put a apple in countertop").reset()


def test_the_last_identifier_in_order_gets_number_one() -> None:
    state = _play(_start(), "go to fridge 1", "open fridge 1")
    assert (
        state.observation
        == "You open the fridge 1. The fridge 1 is open. In it, you see a apple 2, and a apple 1."
    )


def test_looking_far_from_furniture_sees_nothing() -> None:
    start = _start()
    assert "you see a countertop 1, a fridge 1, and a microwave 1." in start.observation
    assert start.step("look").observation == (
        "You are in the middle of a room. Looking quickly around you, you see nothing."
    )


def test_starting_at_furniture_one_faces_all_that_stands_there() -> None:
    start = _start(atLocation=[["agent1", "loc|1"]])
    assert (
        "\n\nYou are facing the countertop 1, and fridge 1. Next to it, you see nothing.\n\n"
        in start.observation
    )
    assert "go to fridge 1" not in start.admissible
    assert "open fridge 1" in start.admissible


def test_what_changed_places_at_one_spot_lies_on_the_floor_for_look() -> None:
    state = _play(
        _start(opened=[["Fridge|1"]]),
        "go to fridge 1",
        "take apple 1 from fridge 1",
        "move apple 1 to countertop 1",
    )
    assert state.won
    assert state.step("look").observation == (
        "You are facing the countertop 1, and fridge 1. Next to it, you see a apple 1."
    )


def test_slicing_reaches_through_a_closed_door() -> None:
    state = _play(_start(), "go to countertop 1", "take knife 1 from countertop 1")
    assert "slice apple 1 with knife 1" in state.admissible
    assert (
        _play(state, "slice apple 1 with knife 1").observation == "You sliced the apple 1 with the knife 1."
    )


def test_heating_undoes_cooling_and_only_what_can_be_heated_is() -> None:
    state = _play(
        _start(opened=[["Fridge|1"]]),
        "go to fridge 1",
        "take apple 2 from fridge 1",
        "cool apple 2 with fridge 1",
    )
    assert _play(state, "examine apple 2").observation == "This is a cold apple 2."
    state = _play(state, "go to microwave 1", "heat apple 2 with microwave 1")
    assert _play(state, "examine apple 2").observation == "This is a hot apple 2."
    assert not any(command.startswith("move") for command in state.admissible)


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        ((), "There's nothing special about apple 2."),
        (("isSliced",), "This is a sliced apple 2."),
        (("isClean",), "This is a clean apple 2."),
        (("isClean", "isSliced"), "This is a clean sliced apple 2."),
        (("isHot", "isSliced"), "This is a hot sliced apple 2."),
        (("isCool", "isSliced"), "This is a cool sliced apple 2."),
        (("isHot", "isClean"), "This is a hot and clean apple 2."),
        (("isCool", "isClean"), "This is a cool and clean apple 2."),
        (("isHot", "isClean", "isSliced"), "This is a hot and clean sliced apple 2."),
        (("isCool", "isClean", "isSliced"), "This is a cool and clean sliced apple 2."),
    ],
)
def test_a_held_thing_tells_its_condition(conditions: tuple[str, ...], told: str) -> None:
    start = _start(opened=[["Fridge|1"]], **{condition: [["Apple|1"]] for condition in conditions})
    state = _play(start, "go to fridge 1", "take apple 2 from fridge 1", "examine apple 2")
    assert state.observation == told


def test_a_bowl_tells_what_is_in_it_whatever_its_condition() -> None:
    start = _start(
        opened=[["Fridge|1"]],
        isReceptacleObject=[["Apple|1"]],
        isClean=[["Apple|1"]],
        inReceptacleObject=[["Knife|1", "Apple|1"]],
    )
    state = _play(start, "go to fridge 1", "take apple 2 from fridge 1", "examine apple 2")
    assert state.observation == "This is a normal apple 2. In it, you see a knife 1."


def test_what_is_not_admissible_changes_nothing() -> None:
    start = _start()
    after = start.step("open fridge 1")
    assert after.observation == "Nothing happens."
    assert (after.key, after.admissible) == (start.key, start.admissible)


def test_blanks_around_a_command_do_not_matter() -> None:
    assert _start().step("  inventory ").observation == "You are not carrying anything."


def test_two_ways_to_say_a_terse_command_are_told_apart() -> None:
    both = [*_facts()["inReceptacle"], ["Apple|1", "CounterTop|2"]]
    game = Game(
        _facts(inReceptacle=both, opened=[["Fridge|1"]]),
        GOAL,
        "put a apple in countertop",
        words=TerseWords(),
    )
    state = game.reset().step("go fridge1")
    takes = [command for command in state.admissible if command.startswith("take")]
    assert takes == ["take apple1", "take apple2 countertop1", "take apple2 fridge1", "take knife1"]


def test_a_seventh_kind_of_task_is_refused() -> None:
    with pytest.raises(EnvironmentFaultError, match=r"expected a task out of .*; name its kind"):
        Game(_facts(), GOAL, "put apple in a bowl and then put them in fridge")


def test_sliced_goals_ask_for_a_slice() -> None:
    goal = GOAL | {"object_sliced": True}
    game = Game(_facts(opened=[["Fridge|1"]]), goal, "put a apple in countertop", "pick_and_place_simple")
    moved = _play(
        game.reset(), "go to fridge 1", "take apple 1 from fridge 1", "move apple 1 to countertop 1"
    )
    assert not moved.won
    assert _play(moved, "take knife 1 from countertop 1", "slice apple 1 with knife 1").won
