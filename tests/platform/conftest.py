"""A small household and a small policy in it, shared by the tests of policies and of training."""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from equipoise.environments.protocol import Environment
from equipoise.environments.registry import make_environment

HORIZON = 6


@pytest.fixture(scope="session")
def frozen_imports() -> None:
    """What training imports, put out of the garbage collector's sight, as a worker does before it forks.

    Trainers collect garbage at the start of each training, which otherwise takes longer than a small training does.
    """
    import equipoise.training.on_policy
    import equipoise.training.trainer  # noqa: F401

    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def home() -> Environment:
    config = {
        "tasks": {"pool": 4, "held_out": 1, "demonstrations": 12},
        "size": {"receptacles": 3, "objects": 3},
    }
    return make_environment("household", config, 5)


@pytest.fixture(scope="session")
def words(home: Environment) -> Any:
    from equipoise.policies.tokens import WordTokens

    return WordTokens(home.vocabulary())


@pytest.fixture(scope="session")
def bank(words: Any) -> Any:
    from equipoise.policies.tries import TrieBank

    return TrieBank(words)


@pytest.fixture(scope="session")
def make_model(words: Any) -> Callable[[], Any]:
    """Builds the same untrained policy each time, for a test to train or break."""
    from equipoise.policies.model import tiny_qwen3

    return lambda: tiny_qwen3(len(words), hidden=32, layers=2, seed=11)


@pytest.fixture(scope="session")
def model(make_model: Callable[[], Any]) -> Any:
    """One policy that no test may train."""
    return make_model()


@pytest.fixture(scope="session")
def sampler(model: Any, words: Any, bank: Any, home: Environment) -> Any:
    from equipoise.policies.rollout import Sampler

    return Sampler(model, words, bank, home, HORIZON)


@pytest.fixture(scope="session")
def starts(words: Any, home: Environment) -> list[Any]:
    """Twice each task of the pool."""
    from equipoise.policies.episodes import Start
    from equipoise.policies.rollout import opening

    states = [home.reset("pool", task) for task in range(4) for _ in range(2)]
    return [Start(state, opening(words, state)) for state in states]


@pytest.fixture(scope="session")
def uniforms() -> npt.NDArray[np.float64]:
    return np.random.default_rng(1).random((8, 6 * HORIZON))


@pytest.fixture(scope="session")
def episodes(sampler: Any, starts: list[Any], uniforms: npt.NDArray[np.float64]) -> list[Any]:
    """Eight episodes of the untrained policy."""
    played: list[Any] = sampler.play(starts, uniforms)
    return played


@pytest.fixture(scope="session")
def transcripts(episodes: list[Any], bank: Any) -> Any:
    from equipoise.policies.transcripts import Transcripts

    return Transcripts.of(episodes, bank)
