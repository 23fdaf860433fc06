"""The experts win every household; the searching one knows only what it was shown."""

import numpy as np
import pytest

from equipoise.environments.errors import EnvironmentFaultError
from equipoise.environments.household import Game, HouseholdState, household, imperfect, plan, search

ROOMS = ["kitchen", "livingroom", "bedroom", "bathroom"]


def _steps_to_win(state: HouseholdState, limit: int) -> int:
    for steps in range(limit):
        if state.won:
            return steps
        command = search(state)
        assert command in state.admissible
        state = state.step(command)
    return limit


def test_the_searching_expert_wins_every_demonstration_of_the_demo_within_the_horizon() -> None:
    environment = household({}, 0)
    steps = [
        _steps_to_win(environment.reset(split, task), 16)
        for split in ("pool", "held_out")
        for task in range(32)
    ]
    steps += [_steps_to_win(environment.reset("demonstrations", task), 16) for task in range(300)]
    assert max(steps) <= 15
    assert 6 < sum(steps) / len(steps) < 10


@pytest.mark.parametrize(("receptacles", "objects", "horizon"), [(3, 2, 15), (6, 8, 40), (16, 28, 120)])
def test_it_wins_in_every_room_of_every_size(receptacles: int, objects: int, horizon: int) -> None:
    size = {"receptacles": receptacles, "objects": objects}
    environment = household({"rooms": ROOMS, "size": size, "horizon": horizon}, 4)
    for task in range(24):
        assert _steps_to_win(environment.reset("held_out", task), horizon + 1) <= horizon


def test_it_wins_from_wherever_chance_has_led() -> None:
    environment = household({"rooms": ROOMS}, 7)
    generator = np.random.default_rng(0)
    for task in range(32):
        state = environment.reset("pool", task)
        for _ in range(25):
            state = state.step(state.admissible[int(generator.integers(len(state.admissible)))])
        assert _steps_to_win(state, 40) < 40


def test_knowing_where_all_is_saves_steps() -> None:
    environment = household({}, 0)
    for task in range(32):
        state = environment.reset("pool", task)
        steps = 0
        while not state.won:
            state = state.step(plan(state))
            steps += 1
        assert steps <= _steps_to_win(environment.reset("pool", task), 16)
        assert steps <= 11


def test_the_searching_expert_does_not_look_through_doors() -> None:
    """Two households alike but for what is behind doors it has not opened get the same commands."""
    instance = household({"rooms": ["kitchen"]}, 0).instance("pool", 0)
    wanted = next(
        one for one, kind in instance.facts["objectType"] if kind == f"{instance.goal['object_target']}Type"
    )
    elsewhere = [[one, place] for one, place in instance.facts["inReceptacle"] if one != wanted]
    hidden = [receptacle for receptacle, _ in instance.facts["receptacleType"]]
    first = {
        search(
            Game(
                {**instance.facts, "inReceptacle": [*elsewhere, [wanted, place]]},
                instance.goal,
                instance.task,
            ).reset()
        )
        for place in hidden
    }
    assert len(first) == 1


def test_the_imperfect_expert_errs_as_often_as_asked() -> None:
    environment = household({}, 0)
    state = environment.reset("pool", 0)
    generator = np.random.default_rng(0)
    right = search(state)
    assert {imperfect(state, 0.0, generator) for _ in range(20)} == {right}
    share = sum(imperfect(state, 0.5, generator) != right for _ in range(2000)) / 2000
    expected = 0.5 * (1 - 1 / len(state.admissible))
    assert abs(share - expected) < 0.05


def test_an_impossible_task_is_said_to_be_so() -> None:
    instance = household({"task_types": ["pick_and_place_simple"]}, 0).instance("pool", 0)
    facts = {**instance.facts, "pickupable": []}
    state = Game(facts, instance.goal, instance.task).reset()
    with pytest.raises(EnvironmentFaultError, match="cannot be achieved from here"):
        _steps_to_win(state, 40)


def test_sliced_tasks_are_left_to_others() -> None:
    instance = household({"task_types": ["pick_and_place_simple"]}, 0).instance("pool", 0)
    game = Game(
        instance.facts, dict(instance.goal) | {"object_sliced": True}, instance.task, instance.task_type
    )
    with pytest.raises(EnvironmentFaultError, match="the expert slices nothing"):
        search(game.reset())
