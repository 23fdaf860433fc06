"""Rows of a cache end where they end: what is read is what one row alone would read."""

from typing import Any

import pytest
import torch

from equipoise.policies.cache import RaggedCache


def _feed(model: Any, cache: RaggedCache, rows: list[list[int]]) -> torch.Tensor:
    lengths = torch.tensor([len(row) for row in rows])
    ids = torch.zeros((len(rows), int(lengths.max())), dtype=torch.long)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = torch.tensor(row)
    positions, mask = cache.open(ids.shape[1])
    out = model.model(
        input_ids=ids,
        attention_mask={"full_attention": mask},
        position_ids=positions,
        cache=cache,
        use_cache=True,
    )
    cache.close(lengths)
    last: torch.Tensor = out.last_hidden_state[torch.arange(len(rows)), lengths - 1]
    return last


def _read(model: Any, row: list[int]) -> torch.Tensor:
    last: torch.Tensor = model.model(input_ids=torch.tensor([row]), use_cache=False).last_hidden_state[0, -1]
    return last


@pytest.fixture
def cache() -> RaggedCache:
    return RaggedCache(2)


def test_rows_of_different_lengths_read_as_each_alone(model: Any, cache: RaggedCache) -> None:
    with torch.inference_mode():
        cache.begin(3)
        _feed(model, cache, [[1, 7, 9], [1], [1, 8, 8, 8, 2]])
        assert cache.lengths.tolist() == [3, 1, 5]
        got = _feed(model, cache, [[5], [6, 7, 8, 9], [5, 6]])
        assert cache.lengths.tolist() == [4, 5, 7]
        for row, text in enumerate([[1, 7, 9, 5], [1, 6, 7, 8, 9], [1, 8, 8, 8, 2, 5, 6]]):
            torch.testing.assert_close(got[row], _read(model, text), atol=1e-5, rtol=0)


def test_rows_can_be_dropped_moved_and_repeated(model: Any, cache: RaggedCache) -> None:
    with torch.inference_mode():
        cache.begin(2)
        _feed(model, cache, [[1, 7], [1, 8, 9]])
        cache.select(torch.tensor([1, 0, 1]))
        got = _feed(model, cache, [[5], [6, 6], [7]])
        for row, text in enumerate([[1, 8, 9, 5], [1, 7, 6, 6], [1, 8, 9, 7]]):
            torch.testing.assert_close(got[row], _read(model, text), atol=1e-5, rtol=0)
        assert cache.get_seq_length() == 4


def test_a_cache_grows_and_keeps_what_it_held(model: Any, cache: RaggedCache) -> None:
    long = [1, *([7, 8, 9] * 30)]
    with torch.inference_mode():
        cache.begin(1)
        for begin in range(0, len(long), 13):
            got = _feed(model, cache, [long[begin : begin + 13]])
        torch.testing.assert_close(got[0], _read(model, long), atol=1e-5, rtol=0)


def test_an_empty_cache_is_as_long_as_nothing(cache: RaggedCache) -> None:
    assert cache.get_seq_length() == 0
