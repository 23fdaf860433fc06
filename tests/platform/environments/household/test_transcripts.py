"""The engine against transcripts of ALFWorld's own engine, word for word."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from equipoise.environments.household import Game

RECORDED = Path(__file__).parents[1] / "data" / "alfworld_transcripts.json.gz"
MORE = os.environ.get("EQUIPOISE_TRANSCRIPTS")
FILES = [RECORDED, *([Path(MORE)] if MORE else [])]


def _read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        transcripts: list[dict[str, Any]] = json.load(file)
    return transcripts


def _differences(transcript: dict[str, Any]) -> list[str]:
    state = Game(
        transcript["facts"], transcript["goal"], transcript["task"], transcript.get("task_type")
    ).reset()
    expected = [(None, transcript["intro"], transcript["admissible"], None)]
    expected += [(s["action"], s["observation"], s["admissible"], s["won"]) for s in transcript["steps"]]
    found = []
    for number, (action, observation, admissible, won) in enumerate(expected):
        if action is not None:
            state = state.step(action)
        if (state.observation, list(state.admissible)) != (observation, admissible) or won not in (
            None,
            state.won,
        ):
            found.append(
                f"{transcript['game']} step {number} {action!r}: "
                f"expected {observation!r} {admissible} {won}, "
                f"got {state.observation!r} {list(state.admissible)} {state.won}"
            )
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_word_command_and_win_is_that_of_alfworlds_engine(path: Path) -> None:
    transcripts = _read(path)
    differences = [difference for transcript in transcripts for difference in _differences(transcript)]
    assert not differences, "\n".join(differences[:10])


def test_the_recorded_games_are_of_all_six_kinds_and_of_3015_steps() -> None:
    transcripts = _read(RECORDED)
    assert len({transcript["task_type"] for transcript in transcripts}) == 6
    assert sum(len(transcript["steps"]) for transcript in transcripts) == 3015


def test_the_kind_of_task_can_be_read_off_its_sentence() -> None:
    for transcript in _read(RECORDED):
        game = Game(transcript["facts"], transcript["goal"], transcript["task"])
        assert game.goal.task_type == transcript["task_type"]
