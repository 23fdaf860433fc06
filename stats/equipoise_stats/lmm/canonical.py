"""One order of rows and levels for one content, so that sums do not depend on how the rows came or were named.

Floating-point sums depend on their order. Rows are put in the order of a hash of what they hold; a group's name is no
content, so a group counts as the set of its rows, refined until groups that differ are told apart (colour
refinement; Weisfeiler & Leman 1968). Rows left tied hold the same numbers in the same groups, or are exchangeable.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from equipoise_stats.lmm.model import IntArray, Problem, RandomTerm

Hash = npt.NDArray[np.uint64]

# Steele, Lea & Flood (2014), SplitMix64: two multiplications that spread every bit over the word.
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_STRIDE = np.uint64(0x9E3779B97F4A7C15)
ROUNDS = 3


def canonical(problem: Problem) -> Problem:
    """The same problem with rows in the order of their content and levels numbered as they first appear.

    Levels without rows are left out.
    """
    order = np.argsort(_row_hash(problem), kind="stable")
    terms = tuple(_renumbered(term, order) for term in problem.terms)
    weights = None if problem.weights is None else problem.weights[order]
    return replace(problem, y=problem.y[order], X=problem.X[order], terms=terms, weights=weights)


def _renumbered(term: RandomTerm, order: IntArray) -> RandomTerm:
    codes = term.codes[order]
    used, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    appearance = np.argsort(first, kind="stable")
    number = np.empty_like(appearance)
    number[appearance] = np.arange(used.size)
    levels = tuple(term.levels[used[index]] for index in appearance)
    return replace(term, codes=number[inverse.ravel()], levels=levels, design=term.design[order])


def _row_hash(problem: Problem) -> Hash:
    columns = [problem.y, *problem.X.T]
    if problem.weights is not None:
        columns.append(problem.weights)
    for term in problem.terms:
        columns.extend(term.design.T)
    found: Hash = np.zeros(problem.y.size, dtype=np.uint64)
    for column in columns:
        # Adding 0.0 turns -0.0 into 0.0.
        found = _mixed(found ^ (np.ascontiguousarray(column, dtype=np.float64) + 0.0).view(np.uint64))
    for _ in range(ROUNDS):
        signatures = [_signature(found, term) for term in problem.terms]
        for signature, term in zip(signatures, problem.terms, strict=True):
            found = _mixed(found ^ signature[term.codes])
    return found


def _signature(rows: Hash, term: RandomTerm) -> Hash:
    """(levels,) hash of the multiset of rows of each level: sums are exact, so that order cannot matter."""
    count = len(term.levels)
    low = np.bincount(term.codes, (rows & np.uint64(0xFFFFFFFF)).astype(np.float64), count)
    high = np.bincount(term.codes, (rows >> np.uint64(32)).astype(np.float64), count)
    return _mixed(low.astype(np.uint64) ^ _mixed(high.astype(np.uint64)))


def _mixed(word: Hash) -> Hash:
    word = word + _STRIDE
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return np.asarray(word ^ (word >> np.uint64(31)), dtype=np.uint64)
