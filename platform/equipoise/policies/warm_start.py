"""Warm start: clone an expert until the policy succeeds as often as was registered, neither less nor more."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from equipoise.environments.protocol import Environment, State
from equipoise.errors import ExecutionError
from equipoise.policies.episodes import Episode, Start
from equipoise.policies.player import Player
from equipoise.policies.rollout import Sampler, opening
from equipoise.policies.rows import collate_rows, token_logprobs
from equipoise.policies.transcripts import Transcripts

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["Cloning", "WarmStart", "clone", "demonstrate"]


@dataclass(frozen=True)
class WarmStart:
    """How to clone.

    Attributes:
        demonstrations: episodes of the expert.
        epsilon: share of the expert's actions replaced by uniformly random ones.
        success: band that the sampled success on the probe must reach; cloning stops inside it.
        learning_rate: of AdamW. `batch`: transcripts a step. `max_epochs`: give up after this many.
        probe_every: optimizer steps between two probes.
    """

    demonstrations: int
    epsilon: float
    success: tuple[float, float]
    learning_rate: float
    batch: int
    max_epochs: int
    probe_every: int


@dataclass(frozen=True)
class Cloning:
    """What cloning did: steps taken, and each probe's success in order."""

    steps: int
    probes: tuple[float, ...]


def demonstrate(
    env: Environment, sampler: Sampler, count: int, epsilon: float, rng: np.random.Generator
) -> list[Episode]:
    """Episodes of an expert that errs: every action is replaced by a random admissible one with chance epsilon.

    Args:
        env: its split `demonstrations` is used, its tasks repeated if there are fewer than `count`.
        sampler: gives words, trie and horizon.
        count: number of episodes.
        epsilon: chance of a random action.
        rng: decides which.
    """
    episodes: list[Episode] = []
    for index in range(count):
        state: State = env.reset("demonstrations", index % env.tasks("demonstrations"))
        actions: list[int] = []
        first = state
        while not state.done and len(actions) < sampler.horizon:
            commands = state.admissible
            wander = rng.random() < epsilon
            action = int(rng.integers(len(commands))) if wander else commands.index(env.expert(state))
            actions.append(action)
            state = env.step(state, commands[action])
        episodes.append(_replay(env, sampler, first, actions))
    return episodes


def _replay(env: Environment, sampler: Sampler, state: State, actions: Sequence[int]) -> Episode:
    start = Start(state, opening(sampler.words, state))
    player = Player(env, sampler.words, sampler.bank, start, horizon=sampler.horizon, stop_after=None)
    for turn, action in enumerate(actions):
        path = sampler.bank.path(player.state.admissible, action)
        for token, index in path:
            if index >= 0:
                node = player.node
                assert node is not None, f"turn {turn} offers no choice"
                player.choose(node.tokens.index(token), 0.0, 0.0)
    return player.episode


def clone(
    model: "Qwen3ForCausalLM",
    sampler: Sampler,
    demonstrations: Transcripts,
    settings: WarmStart,
    probe: tuple[Sequence[Start], np.ndarray],
    rng: np.random.Generator,
    *,
    normalisation: str,
) -> Cloning:
    """Raise the likelihood of demonstrated actions until sampled success lies in the registered band.

    Args:
        model: trained in place.
        sampler: the same model, to probe with.
        demonstrations: the expert's transcripts.
        settings: see `WarmStart`.
        probe: (starts, uniforms) of the probing episodes.
        rng: order of the transcripts.
        normalisation: of the likelihood, the one used to act.

    Raises:
        ExecutionError: if the band is passed between two probes or not reached, or the demonstrations are fewer
            than a batch.
    """
    if settings.batch > demonstrations.n:
        message = (
            f"policy.warm_start: expected at least {settings.batch} demonstrations, one batch, "
            f"got {demonstrations.n}; raise demonstrations or lower batch"
        )
        raise ExecutionError(message)
    turns = np.split(np.arange(len(demonstrations.trajectory)), _ends(demonstrations))
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=0.0)
    low, high = settings.success
    probes: list[float] = []
    step = 0
    for _ in range(settings.max_epochs):
        order = rng.permutation(demonstrations.n)
        for begin in range(0, len(order) - settings.batch + 1, settings.batch):
            chosen = [list(turns[k]) for k in order[begin : begin + settings.batch]]
            _clone_step(model, optimizer, demonstrations, chosen, normalisation)
            step += 1
            if step % settings.probe_every == 0:
                episodes = sampler.play(*probe)
                probes.append(float(np.mean([episode.won for episode in episodes])))
                if low <= probes[-1] <= high:
                    return Cloning(step, tuple(probes))
                if probes[-1] > high:
                    raise ExecutionError(_missed(settings, probes, "jumped over"))
    raise ExecutionError(_missed(settings, probes, "did not reach"))


def _clone_step(
    model: "Qwen3ForCausalLM",
    optimizer: torch.optim.Optimizer,
    demonstrations: Transcripts,
    turns: list[list[int]],
    normalisation: str,
) -> None:
    model.train()
    rows = collate_rows(demonstrations, turns)
    logits = model(input_ids=rows.ids, attention_mask=rows.mask, use_cache=False).logits
    loss = -token_logprobs(logits, rows, normalisation).mean()
    optimizer.zero_grad(set_to_none=True)
    torch.autograd.backward(loss)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    model.eval()


def _missed(settings: WarmStart, probes: list[float], how: str) -> str:
    low, high = settings.success
    last = ", ".join(f"{p:.2f}" for p in probes[-5:]) or "none was made"
    return (
        f"policy.warm_start: expected success between {low} and {high}, but cloning {how} that band "
        f"(last probes: {last}); widen the band, probe more often or change learning_rate or max_epochs"
    )


def _ends(transcripts: Transcripts) -> np.ndarray:
    return np.cumsum(np.bincount(transcripts.trajectory, minlength=transcripts.n))[:-1]
