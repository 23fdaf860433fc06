"""States are kept by keeping them, and are the same in every process and in both wordings."""

import os
import subprocess
import sys

import numpy as np
import pytest

from equipoise.environments.household import Game, Household, HouseholdState, household, split_words
from equipoise.environments.household import game as game_module
from equipoise.environments.protocol import State, step_all

ROOMS = ["kitchen", "livingroom", "bedroom", "bathroom"]

WALK = """
import numpy as np
from equipoise.environments.household import household
environment = household({"rooms": ["kitchen", "livingroom", "bedroom", "bathroom"]}, 5)
generator = np.random.default_rng(1)
for split in ("pool", "held_out", "demonstrations"):
    for task in range(4):
        state = environment.reset(split, task)
        print(environment.instance(split, task).facts)
        for _ in range(12):
            print(state.key, state.observation, state.admissible, state.won, environment.expert(state))
            state = environment.step(state, state.admissible[generator.integers(len(state.admissible))])
"""


def _walk(state: HouseholdState, steps: int, generator: np.random.Generator) -> list[HouseholdState]:
    states = [state]
    for _ in range(steps):
        state = state.step(state.admissible[int(generator.integers(len(state.admissible)))])
        states.append(state)
    return states


def _told(state: HouseholdState) -> tuple[str, tuple[str, ...], bool, int]:
    return state.observation, state.admissible, state.won, state.key


def test_a_kept_state_is_a_snapshot() -> None:
    environment = household({}, 0)
    states = _walk(environment.reset("pool", 3), 20, np.random.default_rng(0))
    before = [_told(state) for state in states]
    for state in states:
        _walk(state, 15, np.random.default_rng(1))
    assert [_told(state) for state in states] == before
    first, second = (_walk(states[7], 15, np.random.default_rng(2)) for _ in range(2))
    assert [_told(state) for state in first] == [_told(state) for state in second]


def test_forgetting_what_was_worked_out_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = household({}, 0).instance("pool", 0)

    def told() -> list[tuple[str, tuple[str, ...], bool, int]]:
        game = Game(instance.facts, instance.goal, instance.task)
        return [_told(state) for state in _walk(game.reset(), 200, np.random.default_rng(0))]

    remembered = told()
    monkeypatch.setattr(game_module, "_MOST_NODES", 3)
    assert told() == remembered


def test_keys_tell_situations_apart_and_nothing_else() -> None:
    environment = household({}, 0)
    start = environment.reset("pool", 0)
    assert start.step("look").key == start.step("help").key == start.key
    there = start.step(start.admissible[0])
    assert there.key != start.key
    assert environment.reset("pool", 1).key != start.key
    assert -(2**63) <= start.key < 2**63


def test_the_same_walk_is_the_same_in_every_process() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", WALK],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(printed) == 1
    assert len(printed.pop().splitlines()) == 12 * 13


def _pair(config: dict[str, object]) -> tuple[Household, Household]:
    return household(config | {"words": "alfworld"}, 2), household(config | {"words": "terse"}, 2)


def test_both_wordings_offer_the_same_decisions_one_to_one() -> None:
    wordy, terse = _pair({"rooms": ROOMS, "size": {"receptacles": 6, "objects": 8}, "horizon": 60})
    generator = np.random.default_rng(0)
    for task in range(24):
        one, other = wordy.reset("pool", task), terse.reset("pool", task)
        for _ in range(25):
            assert (one.key, one.won) == (other.key, other.won)
            actions = [one.action(command) for command in one.admissible]
            assert None not in actions
            assert len(set(actions)) == len(actions)
            assert {other.action(command) for command in other.admissible} == set(actions)
            assert len(other.admissible) == len(one.admissible)
            action = actions[int(generator.integers(len(actions)))]
            assert action is not None
            one, other = one.step(one.command(action)), other.step(other.command(action))


def test_every_word_is_in_the_vocabulary() -> None:
    for config in ({}, {"rooms": ROOMS, "size": {"receptacles": 12, "objects": 20}, "horizon": 80}):
        wordy, terse = _pair(dict(config))
        words, tokens = set(wordy.vocabulary()), set(terse.vocabulary())
        for task in range(16):
            for state in _walk(wordy.reset("held_out", task), 30, np.random.default_rng(task)):
                texts = [state.observation, *state.admissible, state.step("eat cake").observation]
                assert {word for text in texts for word in split_words(text)} <= words
            for state in _walk(terse.reset("held_out", task), 30, np.random.default_rng(task)):
                texts = [state.observation, *state.admissible, state.step("eat cake").observation]
                assert {word for text in texts for word in text.split()} <= tokens


def test_terse_turns_take_few_words() -> None:
    terse = household({}, 0)
    walks = [_walk(terse.reset("pool", task), 15, np.random.default_rng(task)) for task in range(32)]
    words = [len(state.observation.split()) for walk in walks for state in walk]
    assert sum(words) / len(words) < 2
    assert max(words) <= 8
    assert len(terse.vocabulary()) < 150


def test_a_batch_is_stepped_together_and_the_finished_stay() -> None:
    environment = household({}, 0)
    states: list[State] = [environment.reset("pool", task) for task in range(8)]
    won = []
    for _ in range(15):
        states = step_all(
            environment, states, [environment.expert(state) if not state.done else "" for state in states]
        )
        won.append(sum(state.won for state in states))
    assert won == sorted(won)
    assert won[-1] == 8
