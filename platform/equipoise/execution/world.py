"""Everything a job of a suite needs around it: environment, words, policy shape and named streams of randomness."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from equipoise.environments.protocol import Environment
from equipoise.environments.registry import make_environment
from equipoise.policies.model import load_weights, tiny_qwen3
from equipoise.policies.rollout import Sampler
from equipoise.policies.tokens import WordTokens
from equipoise.policies.tries import TrieBank
from equipoise_preregistration import Suite, derive_seed, generator

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["World"]

_DRAWS_PER_TURN = 4


@dataclass(frozen=True)
class World:
    """One block of a suite.

    Attributes:
        suite: as registered.
        block: which of its blocks.
        tuning: whether it is a block of the search for hyper-parameters, which shares neither tasks nor random
            numbers with any block of the comparison.
        round: of collection and training, from 1. Each later one has random numbers of its own, which all cells of
            the block share.
    """

    suite: Suite
    block: int
    tuning: bool = False
    round: int = 1

    @classmethod
    def of(cls, payload: Mapping[str, object]) -> "World":
        """Read from a job's payload: `suite` (a mapping), and `block` or `tuning_block`."""
        tuning = "tuning_block" in payload
        block = payload["tuning_block" if tuning else "block"]
        assert isinstance(block, int)
        return cls(Suite.model_validate(payload["suite"]), block, tuning)

    def in_round(self, number: int) -> "World":
        """The same block in another round; environment, words and tries stay the same objects."""
        later = replace(self, round=number)
        for name in ("env", "words", "bank"):
            later.__dict__[name] = getattr(self, name)
        return later

    @cached_property
    def env(self) -> Environment:
        """The environment; its tasks are the same in every block, and others in the blocks of the search."""
        chosen = self.suite.environment
        config = chosen.settings(self.suite.policy.warm_start.demonstrations)
        names = ("tuning", "tasks") if self.tuning else ("tasks",)
        return make_environment(chosen.name, config, derive_seed(self.suite.seed, *names))

    @cached_property
    def words(self) -> WordTokens:
        """The policy's vocabulary."""
        return WordTokens(self.env.vocabulary())

    @cached_property
    def bank(self) -> TrieBank:
        """Tries of admissible commands."""
        return TrieBank(self.words)

    def fresh_model(self) -> "Qwen3ForCausalLM":
        """The policy before any training, its weights drawn from the block's own seed."""
        policy = self.suite.policy
        seed = self.seed("weights")
        return tiny_qwen3(len(self.words), hidden=policy.hidden, layers=policy.layers, seed=seed)

    def model_from(self, path: Path) -> "Qwen3ForCausalLM":
        """The policy with weights written by an earlier job."""
        model = self.fresh_model()
        load_weights(model, path)
        return model

    def sampler(self, model: "Qwen3ForCausalLM", temperature: float) -> Sampler:
        """The policy at work in the environment."""
        horizon = self.suite.environment.horizon
        return Sampler(model, self.words, self.bank, self.env, horizon, temperature)

    def seed(self, *names: str | int) -> int:
        """A seed of this block and round, by name."""
        return derive_seed(self.suite.seed, *self._place, *names)

    def rng(self, *names: str | int) -> np.random.Generator:
        """A generator of this block and round, by name."""
        return generator(self.suite.seed, *self._place, *names)

    @property
    def _place(self) -> tuple[str | int, ...]:
        place = ("tuning" if self.tuning else "block", self.block)
        return place if self.round == 1 else (*place, "round", self.round)

    def uniforms(self, episodes: int, *names: str | int) -> np.ndarray:
        """(episodes, draws) uniform numbers of a named stream; rows are the episodes'."""
        draws = _DRAWS_PER_TURN * self.suite.environment.horizon
        return self.rng(*names).random((episodes, draws))
