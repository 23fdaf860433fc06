"""Small suites for the tests of the inference."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from equipoise_stats import RunScore

DATA = Path(__file__).parent / "data"
Score = Callable[[str, str, int, int], float]


@pytest.fixture(scope="session")
def truth() -> dict[str, Any]:
    """Fits by lme4, lmerTest and emmeans in R 4.2.2; versions under ``meta``."""
    loaded: dict[str, Any] = json.loads((DATA / "truth.json").read_text())
    return loaded


def _make_runs(
    conditions: Sequence[str],
    blocks: int,
    score: Score,
    *,
    arms: Sequence[str] = ("native", "matched", "twin"),
    twins: int = 1,
    identical: Sequence[str] = (),
) -> list[RunScore]:
    """One run for every cell, scored by ``score(condition, arm, twin, block)``."""
    return [
        RunScore(condition, arm, twin, block, score(condition, arm, twin, block), 100)
        for condition in conditions
        for arm in arms
        if not (arm == "twin" and condition in identical)
        for twin in range(twins if arm == "twin" else 1)
        for block in range(blocks)
    ]


@pytest.fixture(scope="session")
def make_runs() -> Callable[..., list[RunScore]]:
    """One run for every cell: ``make_runs(conditions, blocks, score, arms=, twins=, identical=)``."""
    return _make_runs
