"""Planning phrases: which n-grams they are, by the documents that hold them, and where they stand."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from equipoise_conditions.arrays import BoolArray, IntArray
from equipoise_conditions.errors import RuleError
from equipoise_conditions.groups import codes_within

__all__ = ["document_frequency", "mined_grams", "planning_mask"]

Word = TypeVar("Word", bound=Hashable)


def planning_mask(token: IntArray, offsets: IntArray, grams: Iterable[Sequence[int]]) -> BoolArray:
    """Return (K,) which tokens stand in an occurrence of one of the grams.

    Occurrences are exact and may overlap; all of their tokens are marked. None reaches over an offset.

    Args:
        token: (K,) token ids.
        offsets: (S+1,) spans inside which a gram must lie, such as `Trajectories.token_offsets`.
        grams: token ids of each phrase, of any lengths.

    Raises:
        RuleError: when a gram is empty.
    """
    marked = np.zeros(token.size, dtype=np.bool_)
    by_length: dict[int, list[Sequence[int]]] = {}
    for gram in grams:
        by_length.setdefault(len(gram), []).append(gram)
    if 0 in by_length:
        message = "grams: expected at least one token in each, got an empty one; leave it out"
        raise RuleError(message)
    left = np.repeat(offsets[1:], np.diff(offsets)) - np.arange(token.size)
    for length, some in by_length.items():
        begins = np.flatnonzero(_matches(token, np.array(some, dtype=np.int64)) & (left >= length))
        marked[(begins[:, None] + np.arange(length)).ravel()] = True
    return marked


def _matches(token: IntArray, grams: IntArray) -> BoolArray:
    """Where one of the grams, all of one length, begins, spans ignored.

    Text and grams are numbered together: equal windows of n tokens share a number, built token by token.
    """
    length = grams.shape[1]
    columns = [np.concatenate([np.roll(token, -place), grams[:, place]]) for place in range(length)]
    number, _ = codes_within(columns[0], np.zeros_like(columns[0]))
    for column in columns[1:]:
        number, _ = codes_within(np.ascontiguousarray(column), number)
    return np.isin(number[: token.size], number[token.size :])


def document_frequency(
    documents: Iterable[Sequence[Word]],
    *,
    shortest: int = 3,
    longest: int = 5,
    cluster: Mapping[Any, Hashable] | None = None,
) -> Counter[Hashable]:
    """Return how many documents hold each n-gram, or each cluster of n-grams, at least once.

    Source: HICRA (arXiv 2509.03646) counts documents, not occurrences, of 3- to 5-word grams clustered by
    meaning. The clusters are given here: clustering needs a model of meaning.

    Args:
        documents: words or token ids of each document.
        shortest: least n.
        longest: greatest n.
        cluster: the cluster of each gram; grams without one are left out. None counts the grams themselves.

    Raises:
        RuleError: when the lengths are not ordered.
    """
    if not 1 <= shortest <= longest:
        message = f"expected 1 <= shortest <= longest, got {shortest} and {longest}"
        raise RuleError(message)
    counted: Counter[Hashable] = Counter()
    for document in documents:
        grams = {
            tuple(document[start : start + n])
            for n in range(shortest, longest + 1)
            for start in range(len(document) - n + 1)
        }
        counted.update(grams if cluster is None else {cluster[gram] for gram in grams if gram in cluster})
    return counted


def mined_grams(
    documents: Iterable[Sequence[Word]],
    *,
    keep: int,
    shortest: int = 3,
    longest: int = 5,
    cluster: Mapping[Any, Hashable] | None = None,
) -> tuple[Hashable, ...]:
    """Return the `keep` n-grams, or clusters, that most documents hold; ties in the order of their repr.

    Args:
        documents: words or token ids of each document.
        keep: how many to return at most.
        shortest: least n.
        longest: greatest n.
        cluster: see `document_frequency`.

    Raises:
        RuleError: when the lengths are not ordered.
    """
    counted = document_frequency(documents, shortest=shortest, longest=longest, cluster=cluster)
    ranked = sorted(counted, key=lambda gram: (-counted[gram], repr(gram)))
    return tuple(ranked[:keep])
