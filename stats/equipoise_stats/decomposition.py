"""TOTAL = CONTENT + SHAPE + VOLUME as contrasts of cell means, exact by construction.

With N, M and P the mean success of a rule's native, matched and twin cells, and 0 the baseline::

    TOTAL_r   = N_r - N_0
    CONTENT_r = M_r - P_r                   is the credit in the right place?
    SHAPE_r   = P_r - M_0                   sparsity and gradient scale at equal slots and steps
    VOLUME_r  = (N_r - M_r) - (N_0 - M_0)   extra examples and steps

    MATCHED_r = M_r - M_0 = CONTENT_r + SHAPE_r, the comparison at equal slots and steps, secondary

Where the twin is the rule itself by construction, P_r is M_r and CONTENT is the zero vector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from equipoise_stats.records import Question

CONTENT, SHAPE, VOLUME, TOTAL = "content", "shape", "volume", "total"
MATCHED = "matched"
KINDS: tuple[str, ...] = (CONTENT, SHAPE, VOLUME, TOTAL)
"""The decomposition; hypotheses are about these."""
REPORTED: tuple[str, ...] = (*KINDS, MATCHED)

Cell = tuple[str, str]
Vector = Mapping[Cell, int]


def cell_name(cell: Cell) -> str:
    """A cell as one word: ``condition.arm``."""
    return f"{cell[0]}.{cell[1]}"


def contrast(condition: str, kind: str, question: Question) -> dict[Cell, int]:
    """The coefficients of one contrast over named cells.

    Args:
        condition: the rule r; the baseline only with ``content``.
        kind: one of ``REPORTED``.
        question: names the baseline and the conditions whose twin is the rule itself.

    Returns:
        Non-zero integer coefficients by (condition, arm). Empty where the contrast is exactly zero by
        construction. The coefficients sum to zero.
    """
    native, matched = (condition, "native"), (condition, "matched")
    twin = matched if condition in question.identical else (condition, "twin")
    native_0, matched_0 = (question.baseline, "native"), (question.baseline, "matched")
    terms = {
        CONTENT: ((matched, 1), (twin, -1)),
        SHAPE: ((twin, 1), (matched_0, -1)),
        VOLUME: ((native, 1), (matched, -1), (native_0, -1), (matched_0, 1)),
        TOTAL: ((native, 1), (native_0, -1)),
        MATCHED: ((matched, 1), (matched_0, -1)),
    }[kind]
    vector: dict[Cell, int] = {}
    for cell, sign in terms:
        vector[cell] = vector.get(cell, 0) + sign
    return {cell: weight for cell, weight in vector.items() if weight}


def registered_contrasts(question: Question) -> tuple[tuple[str, str], ...]:
    """Every (condition, kind) a suite reports, in the suite's order.

    The baseline appears inside the contrasts of the others; of its own it has only CONTENT, and only
    where its twin differs from it.
    """
    pairs: list[tuple[str, str]] = []
    for condition in question.conditions:
        if condition == question.baseline:
            pairs += [] if condition in question.identical else [(condition, CONTENT)]
        else:
            pairs += [(condition, kind) for kind in REPORTED]
    return tuple(pairs)


def family(kind: str, question: Question) -> tuple[str, ...]:
    """The conditions whose contrasts of a kind share one error level.

    The baseline and the controls are never members. Rules whose twin is themselves have no content to
    claim, so they are not members of the CONTENT family.
    """
    if kind == CONTENT:
        return tuple(c for c in question.claimants if c not in question.identical)
    return question.claimants


def correlation(vectors: Sequence[Vector]) -> npt.NDArray[np.float64]:
    """(m, m) correlation of contrasts of independent cell means with one variance; no vector is zero."""
    gram = [[sum(weight * b.get(cell, 0) for cell, weight in a.items()) for b in vectors] for a in vectors]
    matrix = np.array(gram, dtype=np.float64).reshape(len(vectors), len(vectors))
    size = np.sqrt(np.diag(matrix))
    return np.asarray(matrix / np.outer(size, size), dtype=np.float64)
