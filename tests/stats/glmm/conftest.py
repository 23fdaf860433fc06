"""Small data sets for the logit mixed models."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from equipoise_stats.glmm import Counts
from equipoise_stats.lmm.model import intercept


def _ragged(seed: int, *, rules: int = 3, sds: tuple[float, float, float] = (0.4, 1.0, 0.3)) -> Counts:
    """Rules by blocks by tasks with a fifth of the cells missing: success counts of up to 5 trials."""
    rng = np.random.default_rng(seed)
    r, s, t = (a.ravel() for a in np.meshgrid(range(rules), range(6), range(12), indexing="ij"))
    keep = rng.random(r.size) < 0.8
    r, s, t = r[keep], s[keep], t[keep]
    effects = [sd * rng.normal(size=n) for sd, n in zip(sds, (6, 12, 6 * rules), strict=True)]
    eta = 0.4 * r - 0.3 + effects[0][s] + effects[1][t] + effects[2][r * 6 + s]
    trials = rng.integers(1, 6, r.size)
    successes = rng.binomial(trials, 1 / (1 + np.exp(-eta)))
    terms = (intercept("block", s), intercept("task", t), intercept("run", r * 6 + s))
    names = tuple(f"rule{i}" for i in range(rules))
    return Counts(successes.astype(float), trials.astype(float), np.eye(rules)[r], names, terms)


@pytest.fixture(scope="session")
def ragged() -> Callable[..., Counts]:
    """Ragged crossed counts: ``ragged(seed, rules=, sds=)``."""
    return _ragged
