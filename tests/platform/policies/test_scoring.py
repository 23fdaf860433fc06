"""Reading actions again: normalised over the allowed or over all, and with the end revealed."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from equipoise.policies.episodes import Episode
from equipoise.policies.rollout import Sampler
from equipoise.policies.rows import Rows, collate_rows, ranges, token_logprobs
from equipoise.policies.scoring import mean_by_turn, score, with_preface
from equipoise.policies.tokens import WordTokens
from equipoise.policies.transcripts import Transcripts


def _rows(target: list[int], allowed: list[list[int]]) -> Rows:
    """Action tokens predicted by the first logits of the only row."""
    width = max(len(ids) for ids in allowed)
    count = len(target)
    return Rows(
        ids=torch.zeros((1, 1), dtype=torch.long),
        mask=torch.ones((1, 1), dtype=torch.long),
        row=torch.zeros(count, dtype=torch.long),
        position=torch.zeros(count, dtype=torch.long),
        target=torch.tensor(target),
        allowed=torch.tensor([ids + ids[:1] * (width - len(ids)) for ids in allowed]),
        allowed_mask=torch.tensor([[k < len(ids) for k in range(width)] for ids in allowed]),
    )


def test_the_two_normalisations_by_hand() -> None:
    logits = torch.log(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]))
    rows = _rows([1, 3, 2], [[1, 3], [0, 1, 3], [2]])
    allowed = token_logprobs(logits, rows, "admissible").exp()
    torch.testing.assert_close(allowed, torch.tensor([2 / 6, 4 / 7, 1.0]))
    everything = token_logprobs(logits, rows, "vocabulary").exp()
    torch.testing.assert_close(everything, torch.tensor([0.2, 0.4, 0.3]))


def test_ranges_by_hand() -> None:
    starts, counts = np.array([4, 0, 9]), np.array([2, 3, 1])
    assert ranges(starts, counts).tolist() == [4, 5, 0, 1, 2, 9]
    assert ranges(starts[:0], counts[:0]).tolist() == []


def test_rows_point_at_the_logits_before_each_action_token(transcripts: Transcripts) -> None:
    turns = [[0, 2], [int(np.flatnonzero(transcripts.trajectory == 1)[0])]]
    rows = collate_rows(transcripts, turns)
    expected = [(0, turn) for turn in turns[0]] + [(1, turns[1][0])]
    at = 0
    for row, turn in expected:
        for place in range(int(transcripts.start[turn]), int(transcripts.end[turn])):
            assert (int(rows.row[at]), int(rows.position[at])) == (row, place - 1)
            assert rows.target[at] == rows.ids[row, place]
            allowed = set(rows.allowed[at][rows.allowed_mask[at]].tolist())
            assert int(rows.target[at]) in allowed
            at += 1
    assert at == len(rows.target)
    assert rows.mask.sum(dim=1).tolist() == [len(transcripts.row(row[-1])) for row in turns]
    assert (rows.ids[rows.mask == 0] == 0).all()


@pytest.mark.parametrize("normalisation", ["admissible", "vocabulary"])
def test_scores_are_those_of_each_row_alone(
    sampler: Sampler, transcripts: Transcripts, normalisation: str
) -> None:
    read = score(sampler.model, transcripts, normalisation=normalisation, batch=5)
    offsets = transcripts.token_offsets
    for turn in (0, 3, len(transcripts.trajectory) - 1):
        row = transcripts.row(turn)
        with torch.inference_mode():
            logits = sampler.model(input_ids=torch.tensor(row)[None], use_cache=False).logits[0].double()
        for k, place in enumerate(range(transcripts.start[turn], transcripts.end[turn])):
            at = offsets[turn] + k
            allowed = transcripts.allowed[
                transcripts.allowed_offsets[at] : transcripts.allowed_offsets[at + 1]
            ]
            scores = logits[place - 1] if normalisation == "vocabulary" else logits[place - 1][allowed]
            expected = logits[place - 1][row[place]] - scores.logsumexp(0)
            assert read[at] == pytest.approx(float(expected), abs=1e-5)


def test_the_whole_vocabulary_leaves_less_for_each_action(sampler: Sampler, transcripts: Transcripts) -> None:
    admissible = score(sampler.model, transcripts)
    vocabulary = score(sampler.model, transcripts, normalisation="vocabulary")
    assert (vocabulary < admissible).all()


def test_means_by_turn_by_hand(transcripts: Transcripts) -> None:
    values = np.arange(transcripts.token_offsets[-1], dtype=float)
    expected = [values[a:b].mean() for a, b in pairwise(transcripts.token_offsets.tolist())]
    np.testing.assert_allclose(mean_by_turn(transcripts, values), expected)


def test_a_preface_moves_every_span_and_no_action(transcripts: Transcripts, words: WordTokens) -> None:
    prefaces = [(words.end,) * (k % 3) for k in range(transcripts.n)]
    told = with_preface(transcripts, prefaces)
    for turn, index in enumerate(transcripts.trajectory.tolist()):
        old, new = transcripts.row(turn).tolist(), told.row(turn).tolist()
        assert new == [old[0], *prefaces[index], *old[1:]]
        assert new[told.start[turn] : told.end[turn]] == old[transcripts.start[turn] :]
    np.testing.assert_array_equal(told.token_offsets, transcripts.token_offsets)
    np.testing.assert_array_equal(told.allowed, transcripts.allowed)


def test_an_empty_preface_changes_nothing(sampler: Sampler, transcripts: Transcripts) -> None:
    assert with_preface(transcripts, [()] * transcripts.n).digest() == transcripts.digest()


def test_a_preface_changes_what_the_policy_thinks(
    sampler: Sampler, transcripts: Transcripts, episodes: list[Episode], words: WordTokens
) -> None:
    told = with_preface(transcripts, [(words.end, *words.encode(e.final)) for e in episodes])
    assert np.abs(score(sampler.model, told) - score(sampler.model, transcripts)).max() > 1e-3
