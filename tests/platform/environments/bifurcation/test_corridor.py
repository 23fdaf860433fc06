"""The corridor: what is seen, what is hidden, and the truth worked out in three ways."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.environments.bifurcation import Corridor, CorridorState, bifurcation
from equipoise.environments.errors import EnvironmentConfigError

TASKS = {"pool": 4, "held_out": 3, "demonstrations": 10}
Policy = Callable[[CorridorState], Sequence[float]]


def _corridor(seed: int = 0, **shape: int) -> Corridor:
    return bifurcation({"tasks": TASKS, **shape}, seed)


def _right(corridor: Corridor, state: CorridorState) -> int:
    return state.admissible.index(corridor.expert(state))


def _pivotal(corridor: Corridor, state: CorridorState) -> bool:
    """Whether the next door decides, seen from outside: another door ends all hope."""
    wrong = 1 - _right(corridor, state) if len(state.admissible) == 2 else (_right(corridor, state) + 1) % 3
    return corridor.value(corridor.step(state, state.admissible[wrong])) == 0.0


def test_values_and_advantages_of_two_rooms_by_hand() -> None:
    corridor = _corridor(rooms=2, doors=3, pivotal=1, signs=1)
    for task in range(4):
        state = corridor.reset("pool", task)
        assert corridor.value(state) == pytest.approx(1 / 3)
        if not _pivotal(corridor, state):
            assert [corridor.advantage(state, a) for a in range(3)] == pytest.approx([0, 0, 0])
            state = corridor.step(state, state.admissible[2])
        right = _right(corridor, state)
        expected = [2 / 3 if action == right else -1 / 3 for action in range(3)]
        assert [corridor.advantage(state, a) for a in range(3)] == pytest.approx(expected)
        passed = corridor.step(state, state.admissible[right])
        assert corridor.value(passed) == 1.0
        missed = corridor.step(state, state.admissible[(right + 1) % 3])
        assert corridor.value(missed) == 0.0


def test_chance_passes_all_pivotal_doors() -> None:
    corridor = _corridor(rooms=5, doors=2, pivotal=3, signs=4)
    assert corridor.value(corridor.reset("pool", 0)) == pytest.approx(2**-3)


def _policy(seed: int, doors: int) -> Policy:
    """Any policy: chances of the doors by landmark, whatever was chosen before."""
    chances = np.random.default_rng(seed).dirichlet(np.ones(doors), size=16)
    return lambda state: [float(chance) for chance in chances[state.task[state.room]]]


def _enumerated(corridor: Corridor, state: CorridorState, policy: Policy) -> float:
    """Success over every sequence of doors, one after the other."""
    total = 0.0
    left = len(state.task) - state.room
    for doors in product(range(len(state.admissible)), repeat=left):
        at, chance = state, 1.0
        for door in doors:
            chance *= policy(at)[door]
            at = corridor.step(at, at.admissible[door])
        total += chance * at.won
    return total


@given(seed=st.integers(0, 1000), task=st.integers(0, 3), rooms=st.integers(3, 5), doors=st.integers(2, 3))
def test_backward_induction_is_enumeration(seed: int, task: int, rooms: int, doors: int) -> None:
    corridor = _corridor(seed % 7, rooms=rooms, doors=doors, pivotal=2, signs=3)
    state, policy = corridor.reset("pool", task), _policy(seed, doors)
    assert corridor.value(state, policy) == pytest.approx(_enumerated(corridor, state, policy), abs=1e-12)


@given(
    seed=st.integers(0, 1000),
    task=st.integers(0, 3),
    uniform=st.booleans(),
    walk=st.lists(st.integers(0, 2), max_size=3),
)
def test_advantages_are_zero_on_average_under_their_policy(
    seed: int, task: int, uniform: bool, walk: list[int]
) -> None:
    corridor = _corridor(seed % 5, rooms=4, doors=3, pivotal=2, signs=3)
    policy = None if uniform else _policy(seed, 3)
    state = corridor.reset("pool", task)
    for door in walk:
        state = corridor.step(state, state.admissible[door])
    chances = [1 / 3] * 3 if policy is None else policy(state)
    mean = sum(p * corridor.advantage(state, a, policy) for a, p in enumerate(chances))
    assert mean == pytest.approx(0.0, abs=1e-12)


def test_a_value_is_what_many_walks_come_to() -> None:
    corridor = _corridor(rooms=4, doors=3, pivotal=2, signs=3)
    policy, start = _policy(5, 3), corridor.reset("pool", 2)
    rng = np.random.default_rng(0)
    won = 0
    for _ in range(4000):
        state = start
        while not state.done:
            state = corridor.step(state, state.admissible[rng.choice(3, p=policy(state))])
        won += state.won
    value = corridor.value(start, policy)
    error = (value * (1 - value) / 4000) ** 0.5
    assert won / 4000 == pytest.approx(value, abs=4 * error)


@given(seed=st.integers(0, 50), split=st.sampled_from(sorted(TASKS)))
def test_the_expert_always_wins(seed: int, split: str) -> None:
    corridor = _corridor(seed, rooms=6, doors=4, pivotal=3, signs=5)
    for task in range(corridor.tasks(split)):
        state = corridor.reset(split, task)
        while not state.done:
            state = corridor.step(state, corridor.expert(state))
        assert state.won


def test_no_task_is_in_two_splits_or_twice() -> None:
    corridor = _corridor(rooms=3, doors=2, pivotal=1, signs=2)
    tasks = [corridor.reset(split, k).task for split in TASKS for k in range(corridor.tasks(split))]
    assert [corridor.tasks(split) for split in TASKS] == [4, 3, 10]
    assert len(set(tasks)) == len(tasks) == 17


def test_what_is_seen_does_not_tell_a_right_door_from_a_wrong_one() -> None:
    corridor = _corridor(rooms=4, doors=3, pivotal=2, signs=3)
    for task in range(4):
        seen: list[set[tuple[str, tuple[str, ...], bool]]] = [set() for _ in range(4)]
        hidden = set()
        for doors in product(range(3), repeat=4):
            state = corridor.reset("pool", task)
            for room, door in enumerate(doors):
                state = corridor.step(state, state.admissible[door])
                seen[room].add((state.observation, state.admissible, state.done))
            hidden.add(state.won)
        assert [len(found) for found in seen] == [1, 1, 1, 1]
        assert hidden == {True, False}


def test_only_the_last_step_wins_and_a_strange_command_changes_nothing() -> None:
    corridor = _corridor(rooms=2, doors=2, pivotal=1, signs=1)
    state = corridor.reset("pool", 0)
    assert corridor.step(state, "open sesame") is state
    state = corridor.step(state, corridor.expert(state))
    assert not state.won
    state = corridor.step(state, corridor.expert(state))
    assert (state.done, state.won, state.observation, state.admissible) == (True, True, "end", ())
    assert corridor.step(state, "open red") is state


def test_the_vocabulary_holds_every_word_that_is_said() -> None:
    corridor = _corridor(rooms=5, doors=6, pivotal=2, signs=4)
    words = set(corridor.vocabulary())
    assert list(corridor.vocabulary()) == sorted(words)
    for task in range(4):
        state = corridor.reset("pool", task)
        while not state.done:
            assert set(state.observation.split()) <= words
            assert {word for command in state.admissible for word in command.split()} <= words
            state = corridor.step(state, state.admissible[0])
        assert state.observation in words


def test_keys_tell_states_apart_and_are_the_same_in_every_process() -> None:
    corridor = _corridor(rooms=4, doors=2, pivotal=2, signs=3)
    keys: dict[int, tuple[object, ...]] = {}
    for task, doors in product(range(4), product(range(2), repeat=4)):
        state = corridor.reset("pool", task)
        for door in doors:
            assert keys.setdefault(state.key, (state.task, state.room, state.right)) == (
                state.task,
                state.room,
                state.right,
            )
            state = corridor.step(state, state.admissible[door])
    assert all(-(2**63) <= key < 2**63 for key in keys)
    code = (
        "from equipoise.environments.bifurcation import bifurcation\n"
        f"c = bifurcation({{'tasks': {TASKS}, 'rooms': 4, 'doors': 2, 'pivotal': 2, 'signs': 3}}, 0)\n"
        "print([c.reset('pool', k).key for k in range(4)])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1")
    }
    assert printed == {str([corridor.reset("pool", k).key for k in range(4)])}


def test_a_seed_decides_the_tasks_and_the_right_doors() -> None:
    shape = {"rooms": 6, "doors": 3, "pivotal": 3, "signs": 6}
    one, same, other = (_corridor(seed, **shape) for seed in (3, 3, 4))
    assert [one.reset("pool", k) for k in range(4)] == [same.reset("pool", k) for k in range(4)]
    assert [one.reset("pool", k).task for k in range(4)] != [other.reset("pool", k).task for k in range(4)]


def test_all_that_is_wrong_with_a_configuration_is_said_at_once() -> None:
    config = {
        "tasks": {"poool": 3, "held_out": -1},
        "words": "long",
        "rooms": "many",
        "doors": 9,
        "pivotal": True,
        "signs": 16,
        "sings": 2,
    }
    with pytest.raises(EnvironmentConfigError) as caught:
        bifurcation(config, 0)
    assert list(caught.value.faults) == [
        "sings: expected a key out of ['tasks', 'words', 'rooms', 'doors', 'pivotal', 'signs']; did you mean 'signs'?",
        "tasks.poool: expected a key out of ['pool', 'held_out', 'demonstrations']; did you mean 'pool'?",
        "words: expected 'terse', the only wording of the corridor, got 'long'",
        "rooms: expected a whole number of at least 1, got 'many'",
        "pivotal: expected a whole number of at least 1, got True",
        "tasks.held_out: expected a whole number of at least 0, got -1",
        "doors: expected 2 to 6, got 9",
        "signs: expected 1 to 15, got 16",
    ]


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        ({"tasks": 3}, r"tasks: expected a mapping with the keys .*, got 3"),
        ({"rooms": 1}, "pivotal: expected 1 to 1, got 2"),
        ({"signs": 3, "pivotal": 4}, "pivotal: expected 1 to 3, got 4"),
        ({"size": {}}, "size: expected a key out of"),
        (
            {"rooms": 1, "pivotal": 1, "signs": 2},
            "tasks: expected at most 2 over all splits, as many as there are .* signs=2, got 576",
        ),
    ],
)
def test_a_wrong_configuration_says_what_was_expected(config: dict[str, object], fault: str) -> None:
    with pytest.raises(EnvironmentConfigError, match=fault):
        bifurcation(config, 0)


def test_all_corridors_that_there_are_can_be_used() -> None:
    tasks = {"pool": 4, "held_out": 4, "demonstrations": 2 * 2 * 13 - 8}
    corridor = bifurcation({"tasks": tasks, "rooms": 2, "pivotal": 1, "signs": 2}, 0)
    assert corridor.tasks("demonstrations") == 44


def test_there_may_be_no_held_out_task() -> None:
    assert bifurcation({"tasks": {**TASKS, "held_out": 0}}, 0).tasks("held_out") == 0
