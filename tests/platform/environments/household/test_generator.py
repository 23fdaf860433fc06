"""Households that are drawn: different in every split, the same for every process, and always winnable."""

import pytest

from equipoise.environments.errors import EnvironmentConfigError, EnvironmentFaultError
from equipoise.environments.household import household
from equipoise.environments.household.environment import split_of
from equipoise.environments.household.goals import TASK_TYPES

ROOMS = ["kitchen", "livingroom", "bedroom", "bathroom"]
SPLITS = ("pool", "held_out", "demonstrations")


def test_no_household_is_in_two_splits_nor_twice_in_one() -> None:
    contents: dict[str, set[str]] = {split: set() for split in SPLITS}
    for seed in range(3):
        environment = household({"tasks": dict.fromkeys(SPLITS, 60)}, seed)
        for split in SPLITS:
            own = {environment.instance(split, task).content for task in range(60)}
            assert len(own) == 60
            assert {split_of(content) for content in own} == {split}
            contents[split] |= own
    assert not contents["pool"] & contents["held_out"]
    assert not (contents["pool"] | contents["held_out"]) & contents["demonstrations"]


def test_content_is_blind_to_numbers_and_coordinates_but_not_to_places() -> None:
    instance = household({}, 0).instance("pool", 0)
    kind, rest = instance.content.split(": ")
    assert kind.startswith(instance.task_type)
    assert rest.count("(") == 4
    assert "|" not in instance.content
    assert not any(sign.isdigit() for sign in instance.content)


def test_a_task_does_not_depend_on_how_many_are_asked_for_nor_in_which_order() -> None:
    few, many = household({"tasks": {"pool": 6}}, 1), household({"tasks": {"pool": 40}}, 1)
    assert many.instance("pool", 39) != many.instance("pool", 38)
    assert [few.instance("pool", task) for task in (5, 0, 3)] == [
        many.instance("pool", task) for task in (5, 0, 3)
    ]


def test_seeds_differ() -> None:
    assert household({}, 0).instance("pool", 0) != household({}, 1).instance("pool", 0)


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_every_kind_of_task_can_be_drawn_alone_in_the_asked_size(task_type: str) -> None:
    config = {"rooms": ROOMS, "task_types": [task_type], "size": {"receptacles": 5, "objects": 5}}
    environment = household(config, 0)
    for task in range(12):
        instance = environment.instance("pool", task)
        assert instance.task_type == task_type
        assert len(instance.facts["receptacleType"]) == 5
        assert len(instance.facts["objectType"]) == 5
        assert not environment.reset("pool", task).won


@pytest.mark.parametrize("room", ROOMS)
def test_things_lie_where_they_fit(room: str) -> None:
    environment = household({"rooms": [room]}, 0)
    for task in range(20):
        facts = environment.instance("pool", task).facts
        kinds = {row[0]: row[1] for row in facts["receptacleType"] + facts["objectType"]}
        fits = {(place, thing) for place, thing in facts["canContain"]}
        for thing, place in facts["inReceptacle"]:
            assert "Lamp" in thing or (kinds[place], kinds[thing]) in fits


def test_asking_for_more_households_than_there_are_says_how_many_there_are() -> None:
    config = {
        "rooms": ["bathroom"],
        "task_types": ["pick_and_place_simple"],
        "size": {"receptacles": 3, "objects": 2},
        "horizon": 3,
    }
    with pytest.raises(
        EnvironmentConfigError, match=r"tasks\.pool: expected 32 different .* found 0; ask for fewer"
    ):
        household(config, 0).reset("pool", 0)


def test_unknown_splits_and_tasks_are_refused() -> None:
    environment = household({}, 0)
    with pytest.raises(EnvironmentFaultError, match="expected a split out of"):
        environment.tasks("train")
    with pytest.raises(EnvironmentFaultError, match="from 0 to 31, got 32"):
        environment.reset("pool", 32)
