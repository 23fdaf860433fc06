"""A small household and a policy in it for policies and training, and a suite that the command line has run."""

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from equipoise.environments.protocol import Environment
from equipoise.environments.registry import make_environment

HORIZON = 6

SMALL = Path(__file__).parent / "suites" / "data" / "small.yaml"

COMMAND = [sys.executable, "-c", "from equipoise.cli import main; main()"]

ENVIRONMENT = {
    # What a user has not set: the program itself sees to the threads of its libraries.
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("OMP_", "OPENBLAS_", "MKL_", "MLFLOW_", "EQUIPOISE_"))
} | {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}

Equipoise = Callable[..., "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Finished:
    """A suite that was run to its end, and what the command said meanwhile."""

    home: Path
    said: str


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


@pytest.fixture(scope="session")
def small() -> Path:
    """The file of a suite of two conditions and two blocks: 20 jobs, some seconds."""
    return SMALL


@pytest.fixture(scope="session")
def equipoise() -> Equipoise:
    """Runs the command line to its end."""

    def call(*arguments: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            check=False,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return call


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, equipoise: Equipoise, small: Path) -> Finished:
    """The small suite, registered and run without any trouble."""
    home = tmp_path_factory.mktemp("finished") / "runs"
    registered = equipoise("register", small, "--home", home)
    assert registered.returncode == 0, registered.stderr
    done = equipoise("run", small, "--home", home, "--slots", 2)
    assert done.returncode == 0, done.stderr
    return Finished(home, done.stdout)
