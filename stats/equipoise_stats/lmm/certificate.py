"""The conditions that make a point the optimum, checked and written down."""

from __future__ import annotations

import numpy as np

from equipoise_stats.lmm.model import Problem
from equipoise_stats.lmm.newton import NOTHING, Ascent, direction, localise, pressure
from equipoise_stats.lmm.results import Certificate

# In standard errors of the components; tau moves by less than this share of its standard error.
DECREMENT = 1e-5
PRESSURE = 1e-6


def certify(ascent: Ascent, problem: Problem, starts: int) -> Certificate:
    """Check Karush, Kuhn and Tucker's conditions at the end of an ascent.

    Args:
        ascent: where the steps ended.
        problem: names the terms.
        starts: starting points tried.
    """
    local = localise(ascent.at, ascent.by_tau)
    root = np.sqrt(np.diag(local.expected))
    standard = local.score / root
    diagonal = np.sqrt(np.abs(np.diag(local.observed)))
    smallest = float(np.linalg.eigvalsh(local.observed / np.outer(diagonal, diagonal))[0])
    step = direction(local, NOTHING, fisher=smallest <= 0)
    push = pressure(ascent.at, ascent.by_tau)
    active = tuple(
        f"{term.name}: rank {block.rank} of {block.size}"
        for term, block in zip(problem.terms, ascent.at.blocks, strict=True)
        if block.rank < block.size
    )
    pushed = float("nan") if push is None else push.size
    kkt = bool(smallest > 0 and step.decrement <= DECREMENT and (push is None or pushed <= PRESSURE))
    return Certificate(
        tuple(float(value) for value in standard),
        step.decrement,
        pushed,
        active,
        smallest,
        ascent.steps,
        starts,
        kkt,
    )
