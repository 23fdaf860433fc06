"""Cloning stops in the registered band, or says why it could not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.environments.protocol import Environment
from equipoise.environments.registry import make_environment
from equipoise.errors import ExecutionError
from equipoise.policies.episodes import Start
from equipoise.policies.model import tiny_qwen3, weights_digest
from equipoise.policies.rollout import Sampler, opening
from equipoise.policies.tokens import WordTokens
from equipoise.policies.transcripts import Transcripts
from equipoise.policies.tries import TrieBank
from equipoise.policies.warm_start import Cloning, WarmStart, clone, demonstrate

SETTINGS = WarmStart(
    demonstrations=40,
    epsilon=0.0,
    success=(0.6, 0.95),
    learning_rate=3e-3,
    batch=8,
    max_epochs=20,
    probe_every=2,
)


@pytest.fixture(scope="module")
def corridor() -> Environment:
    config = {
        "tasks": {"pool": 6, "held_out": 1, "demonstrations": 40},
        "rooms": 3,
        "pivotal": 1,
        "signs": 2,
    }
    return make_environment("bifurcation", config, 1)


@pytest.fixture
def learner(corridor: Environment) -> Sampler:
    words = WordTokens(corridor.vocabulary())
    return Sampler(tiny_qwen3(len(words), hidden=32, layers=1, seed=2), words, TrieBank(words), corridor, 3)


@pytest.fixture
def cloning(learner: Sampler, corridor: Environment) -> Callable[[WarmStart], Cloning]:
    def run(settings: WarmStart) -> Cloning:
        episodes = demonstrate(corridor, learner, settings.demonstrations, 0.0, np.random.default_rng(0))
        states = [corridor.reset("pool", task) for task in range(6) for _ in range(8)]
        starts = [Start(state, opening(learner.words, state)) for state in states]
        probe = (starts, np.random.default_rng(3).random((len(starts), 3)))
        return clone(
            learner.model,
            learner,
            Transcripts.of(episodes, learner.bank),
            settings,
            probe,
            np.random.default_rng(4),
            normalisation="admissible",
        )

    return run


def test_cloning_ends_in_the_band(cloning: Callable[[WarmStart], Cloning], learner: Sampler) -> None:
    done = cloning(SETTINGS)
    assert 0.6 <= done.probes[-1] <= 0.95
    assert all(probe < 0.6 for probe in done.probes[:-1])
    assert done.steps == 2 * len(done.probes)
    assert not learner.model.training


def test_the_same_seeds_give_the_same_weights(
    cloning: Callable[[WarmStart], Cloning], learner: Sampler
) -> None:
    start = weights_digest(learner.model)
    digests = set()
    for _ in range(2):
        learner.model = tiny_qwen3(len(learner.words), hidden=32, layers=1, seed=2)
        assert weights_digest(learner.model) == start
        cloning(SETTINGS)
        digests.add(weights_digest(learner.model))
    assert len(digests) == 1


def test_a_band_that_is_out_of_reach_is_said_to_be(cloning: Callable[[WarmStart], Cloning]) -> None:
    with pytest.raises(
        ExecutionError,
        match=r"between 0\.99 and 1\.0, but cloning did not reach that band \(last probes: 0\.",
    ):
        cloning(replace(SETTINGS, success=(0.99, 1.0), max_epochs=1))


def test_a_band_that_is_jumped_over_is_said_to_be(cloning: Callable[[WarmStart], Cloning]) -> None:
    with pytest.raises(ExecutionError, match=r"jumped over that band .* widen the band, probe more often"):
        cloning(replace(SETTINGS, success=(0.34, 0.3401), probe_every=15))


def test_fewer_demonstrations_than_a_batch_are_refused(cloning: Callable[[WarmStart], Cloning]) -> None:
    with pytest.raises(ExecutionError, match="expected at least 64 demonstrations, one batch, got 40"):
        cloning(replace(SETTINGS, batch=64))


def test_a_policy_that_was_never_probed_is_not_taken(cloning: Callable[[WarmStart], Cloning]) -> None:
    with pytest.raises(ExecutionError, match=r"did not reach .*none was made"):
        cloning(replace(SETTINGS, max_epochs=1, probe_every=1000))


def test_an_expert_wins_and_one_that_errs_does_not_always(learner: Sampler, corridor: Environment) -> None:
    sure = demonstrate(corridor, learner, 40, 0.0, np.random.default_rng(0))
    assert all(e.won for e in sure)
    erring = demonstrate(corridor, learner, 40, 1.0, np.random.default_rng(0))
    assert 0 < sum(e.won for e in erring) < 40
    assert all(len(e.actions) == 3 for e in erring)


def test_lost_demonstrations_are_cut_at_the_horizon_and_kept(
    home: Environment, words: Any, bank: Any, model: Any
) -> None:
    short = Sampler(model, words, bank, home, horizon=2)
    episodes = demonstrate(home, short, 14, 0.0, np.random.default_rng(0))
    assert len(episodes) == 14, "tasks are repeated where there are fewer than asked for"
    assert all(len(e.actions) == 2 and not e.won for e in episodes)
    assert episodes[0].actions == episodes[12].actions
