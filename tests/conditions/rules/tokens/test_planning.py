from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RuleError
from equipoise_conditions.rules.tokens.planning import document_frequency, mined_grams, planning_mask


def found(rows: list[list[int]], grams: Any) -> Any:
    offsets = np.cumsum([0, *map(len, rows)])
    return planning_mask(np.concatenate(rows).astype(np.int64), offsets, grams).astype(int).tolist()


def test_every_occurrence_is_marked_whole_overlaps_included() -> None:
    assert found([[2, 2, 2, 5]], [[2, 2]]) == [1, 1, 1, 0]
    assert found([[1, 2, 3, 4, 2, 3]], [[2, 3], [4]]) == [0, 1, 1, 1, 1, 1]


def test_no_phrase_reaches_over_a_boundary() -> None:
    assert found([[1, 2], [3, 1, 2, 3]], [[1, 2, 3]]) == [0, 0, 0, 1, 1, 1]
    assert found([[1, 2]], [[2, 1]]) == [0, 0], "nor around the end"


def test_no_phrase_no_mark_and_an_empty_phrase_is_refused() -> None:
    assert found([[1, 2]], []) == [0, 0]
    assert found([[1]], [[1, 2, 3]]) == [0]
    with pytest.raises(RuleError, match="expected at least one token"):
        found([[1, 2]], [[]])


def test_it_finds_what_a_search_by_hand_finds() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = [rng.integers(0, 3, size).tolist() for size in rng.integers(1, 12, 4)]
        grams = [rng.integers(0, 3, size).tolist() for size in rng.integers(1, 4, 3)]
        expected = []
        for row in rows:
            mark = [0] * len(row)
            for gram in grams:
                for start in range(len(row) - len(gram) + 1):
                    if row[start : start + len(gram)] == gram:
                        mark[start : start + len(gram)] = [1] * len(gram)
            expected += mark
        assert found(rows, grams) == expected


DOCUMENTS = [
    ["let", "us", "try", "another", "way"],
    ["let", "us", "try", "let", "us", "try"],
    ["we", "check", "the", "result"],
]


def test_grams_are_counted_by_documents_not_by_occurrences() -> None:
    counted = document_frequency(DOCUMENTS, shortest=3, longest=3)
    assert counted["let", "us", "try"] == 2
    assert counted["check", "the", "result"] == 1
    assert mined_grams(DOCUMENTS, keep=1) == (("let", "us", "try"),)


def test_ties_are_broken_by_the_gram_whatever_the_order_of_the_documents() -> None:
    assert mined_grams(DOCUMENTS, keep=4) == mined_grams(DOCUMENTS[::-1], keep=4)
    assert len(mined_grams(DOCUMENTS, keep=4)) == 4


def test_clusters_are_counted_once_a_document() -> None:
    cluster = {("let", "us", "try"): "attempt", ("us", "try", "another"): "attempt"}
    counted = document_frequency(DOCUMENTS, shortest=3, longest=3, cluster=cluster)
    assert counted == {"attempt": 2}
    assert mined_grams(DOCUMENTS, keep=3, cluster=cluster) == ("attempt",)


def test_lengths_must_be_in_order() -> None:
    with pytest.raises(RuleError, match="1 <= shortest <= longest, got 4 and 3"):
        document_frequency(DOCUMENTS, shortest=4, longest=3)
