"""Transcripts as flat arrays, by hand and there and back."""

from pathlib import Path

import numpy as np
import pytest

from equipoise.policies.episodes import Episode
from equipoise.policies.tokens import WordTokens
from equipoise.policies.transcripts import Transcripts
from equipoise.policies.tries import TrieBank


@pytest.fixture
def two() -> Transcripts:
    """Words a=5, b=6, c=7, seen=8. Two turns in the first transcript, one in the second."""
    bank = TrieBank(WordTokens(["a", "b", "c", "seen"]))
    bank.root(("a", "b"))
    first = Episode(
        tokens=[1, 8, 2, 5, 3, 8, 8, 2, 7, 3],
        turns_before=0,
        spans=[(3, 5), (8, 10)],
        actions=[0, 0],
        n_actions=[2, 1],
        keys=[10, 11],
        logprobs=[-0.5, 0.0, 0.0, 0.0],
        entropies=[0.6, 0.0, 0.0, 0.0],
        nodes=[0, -1, -1, -1],
    )
    second = Episode(
        tokens=[1, 8, 2, 6, 3],
        turns_before=0,
        spans=[(3, 5)],
        actions=[1],
        n_actions=[2],
        keys=[10],
        logprobs=[-0.9, 0.0],
        entropies=[0.6, 0.0],
        nodes=[0, -1],
    )
    return Transcripts.of([first, second], bank)


def test_every_array_by_hand(two: Transcripts) -> None:
    assert two.n == 2
    assert two.tokens.tolist() == [1, 8, 2, 5, 3, 8, 8, 2, 7, 3, 1, 8, 2, 6, 3]
    assert two.offsets.tolist() == [0, 10, 15]
    assert two.trajectory.tolist() == [0, 0, 1]
    assert two.start.tolist() == [3, 8, 3]
    assert two.end.tolist() == [5, 10, 5]
    assert two.token_offsets.tolist() == [0, 2, 4, 6]
    assert two.allowed_offsets.tolist() == [0, 2, 3, 4, 5, 7, 8]
    assert two.allowed.tolist() == [5, 6, 3, 7, 3, 5, 6, 3]


def test_a_row_ends_with_its_action(two: Transcripts) -> None:
    assert two.row(0).tolist() == [1, 8, 2, 5, 3]
    assert two.row(1).tolist() == [1, 8, 2, 5, 3, 8, 8, 2, 7, 3]
    assert two.row(2).tolist() == [1, 8, 2, 6, 3]


def test_played_rows_end_with_the_command_that_was_chosen(
    episodes: list[Episode], transcripts: Transcripts, words: WordTokens
) -> None:
    turns = [(index, turn) for index, e in enumerate(episodes) for turn in range(len(e.actions))]
    assert transcripts.trajectory.tolist() == [index for index, _ in turns]
    for row, (index, turn) in enumerate(turns):
        begin, end = episodes[index].spans[turn]
        assert transcripts.row(row).tolist() == episodes[index].tokens[:end]
        assert transcripts.row(row)[-1] == words.eot
        assert transcripts.row(row)[begin - 1] == words.act


def test_they_come_back_from_disk_as_they_were(two: Transcripts, tmp_path: Path) -> None:
    two.save(tmp_path / "some.npz")
    again = Transcripts.load(tmp_path / "some.npz")
    assert again.digest() == two.digest()
    for name, column in vars(two).items():
        np.testing.assert_array_equal(getattr(again, name), column)
        assert getattr(again, name).dtype == np.int64


@pytest.mark.parametrize("name", ["tokens", "trajectory", "start", "end", "allowed"])
def test_the_digest_tells_every_change(two: Transcripts, name: str) -> None:
    changed = {key: value.copy() for key, value in vars(two).items()}
    changed[name][-1] += 1
    assert Transcripts(**changed).digest() != two.digest()


def test_the_digest_tells_where_a_column_ends(two: Transcripts) -> None:
    columns = dict(vars(two))
    start, end = columns["start"], columns["end"]
    shifted = {**columns, "start": np.append(start, end[0]), "end": end[1:]}
    assert Transcripts(**shifted).digest() != two.digest()
