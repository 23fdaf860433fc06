"""A wrong configuration is told all that is wrong with it at once."""

import pytest

from equipoise.environments.errors import EnvironmentConfigError
from equipoise.environments.household import HouseholdConfig
from equipoise.environments.household.goals import TASK_TYPES


def test_the_defaults_are_the_demo() -> None:
    config = HouseholdConfig.parse({})
    assert dict(config.tasks) == {"pool": 32, "held_out": 64, "demonstrations": 1500}
    assert (config.receptacles, config.objects, config.rooms, config.words) == (4, 4, ("kitchen",), "terse")
    assert config.horizon == 15
    assert "look_at_obj_in_light" not in config.task_types
    assert len(config.task_types) == 5


def test_all_rooms_together_allow_all_six_kinds() -> None:
    config = HouseholdConfig.parse({"rooms": ["kitchen", "bedroom"], "name": "household"})
    assert len(config.task_types) == 6


def test_a_room_is_short_for_a_list_of_one() -> None:
    assert HouseholdConfig.parse({"room": "bathroom"}).rooms == ("bathroom",)


def test_large_rooms_get_a_longer_horizon() -> None:
    assert HouseholdConfig.parse({"size": {"receptacles": 10}}).horizon == 33


def test_every_fault_is_told() -> None:
    with pytest.raises(EnvironmentConfigError) as caught:
        HouseholdConfig.parse(
            {
                "name": "alfworld",
                "task": {},
                "tasks": {"pool": -1, "heldout": 3},
                "size": {"receptacles": 2, "objects": True},
                "rooms": ["kitchn"],
                "words": "chatty",
                "task_types": ["pick_two_objects"],
                "horizon": "long",
            }
        )
    kinds = list(TASK_TYPES)
    keys = ["name", "tasks", "size", "room", "rooms", "task_types", "words", "horizon"]
    splits = ["pool", "held_out", "demonstrations"]
    rooms = ["kitchen", "livingroom", "bedroom", "bathroom"]
    assert list(caught.value.faults) == [
        f"task: expected a key out of {keys}; did you mean 'tasks'?",
        "name: expected 'household', got 'alfworld'",
        f"tasks.heldout: expected a key out of {splits}; did you mean 'held_out'?",
        "tasks.pool: expected a whole number of at least 0, got -1",
        "size.receptacles: expected a whole number of at least 3, got 2",
        "size.objects: expected a whole number of at least 2, got True",
        f"rooms: expected names out of {rooms}, got 'kitchn'; did you mean 'kitchen'?",
        "horizon: expected a whole number of at least 1, got 'long'",
        "words: expected one of ['terse', 'alfworld'], got 'chatty'",
        f"task_types: expected names out of {kinds}, got 'pick_two_objects'; did you mean {kinds[-1]!r}?",
    ]
    assert str(caught.value).startswith(
        "the configuration of environment 'household' has 10 faults:\n  - task: "
    )


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        ({"room": "kitchen", "rooms": ["kitchen"]}, "room: expected either room or rooms, got both"),
        ({"rooms": []}, "rooms: expected a list out of"),
        ({"rooms": ["kitchen", "kitchen"]}, "rooms: expected each name once"),
        ({"tasks": 3}, "tasks: expected a mapping with the keys"),
        ({"size": {"receptacles": 99}}, "size.receptacles: expected at most 36 for a kitchen, got 99"),
        ({"task_types": ["look_at_obj_in_light"]}, "is possible in none of the rooms"),
    ],
)
def test_single_faults_say_what_was_expected(config: dict[str, object], fault: str) -> None:
    with pytest.raises(EnvironmentConfigError) as caught:
        HouseholdConfig.parse(config)
    assert any(fault in one for one in caught.value.faults)
