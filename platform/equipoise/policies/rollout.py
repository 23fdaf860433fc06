"""Batched sampling of episodes under the trie of admissible commands, with a key-value cache over turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from equipoise.environments.protocol import Environment, State
from equipoise.policies.cache import RaggedCache
from equipoise.policies.episodes import Episode, Start
from equipoise.policies.player import Player
from equipoise.policies.tokens import WordTokens
from equipoise.policies.tries import TrieBank

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["Sampler", "opening"]

FloatArray = npt.NDArray[np.float64]


def opening(words: WordTokens, state: State) -> tuple[int, ...]:
    """The transcript before an episode's first action."""
    return (words.bos, *words.encode(state.observation), words.act)


@dataclass
class Sampler:
    """A policy at work in an environment.

    Attributes:
        model: a causal language model with the Qwen3 interface, in evaluation mode.
        temperature: divides the logits before the probabilities of the allowed tokens are made to sum to one.
        batch: episodes that share a forward pass.
        greedy: take the likeliest allowed token, of equal ones that with the lowest id, whatever the draws.
    """

    model: "Qwen3ForCausalLM"
    words: WordTokens
    bank: TrieBank
    env: Environment
    horizon: int
    temperature: float = 1.0
    batch: int = 256
    greedy: bool = False

    def play(
        self, starts: Sequence[Start], uniforms: FloatArray, *, stop_after: int | None = None
    ) -> list[Episode]:
        """Play every start to its end.

        Args:
            starts: one an episode.
            uniforms: (episodes, draws) in [0, 1): draw d of episode e decides its d-th choice, whatever else is
                in the batch. Draws beyond the last column start over at the first.
            stop_after: end after this many turns, see `Player`.
        """
        episodes: list[Episode] = []
        with torch.inference_mode():
            for begin in range(0, len(starts), self.batch):
                chunk = slice(begin, begin + self.batch)
                episodes.extend(self._wave(starts[chunk], uniforms[chunk], stop_after))
        return episodes

    def _wave(self, starts: Sequence[Start], uniforms: FloatArray, stop_after: int | None) -> list[Episode]:
        players = [
            Player(self.env, self.words, self.bank, start, horizon=self.horizon, stop_after=stop_after)
            for start in starts
        ]
        rows = [index for index, player in enumerate(players) if not player.done]
        if not rows:
            return [player.episode for player in players]
        cache = RaggedCache(self.model.config.num_hidden_layers)
        hidden = self._prefill(cache, [players[index] for index in rows])
        while rows:
            self._decide([players[index] for index in rows], hidden, uniforms[rows])
            alive = [place for place, index in enumerate(rows) if not players[index].done]
            if len(alive) < len(rows):
                rows = [rows[place] for place in alive]
                if not rows:
                    break
                cache.select(torch.tensor(alive))
            hidden = self._feed(cache, [players[index].pending for index in rows])
            for index in rows:
                players[index].pending = []
        return [player.episode for player in players]

    def _prefill(self, cache: RaggedCache, players: list[Player]) -> torch.Tensor:
        """Encode what waits before the first choice, once for all episodes that share it."""
        order: dict[tuple[int, ...], int] = {}
        places = [order.setdefault(tuple(player.pending), len(order)) for player in players]
        for player in players:
            player.pending = []
        cache.begin(len(order))
        hidden = self._feed(cache, [list(pending) for pending in order])
        repeat = torch.tensor(places)
        cache.select(repeat)
        return hidden[repeat]

    def _feed(self, cache: RaggedCache, pending: list[list[int]]) -> torch.Tensor:
        """Forward the waiting tokens of each row; hidden state (rows, hidden) after each row's last one."""
        lengths = torch.tensor([len(row) for row in pending])
        width = int(lengths.max())
        ids = torch.zeros((len(pending), width), dtype=torch.long)
        for row, tokens in enumerate(pending):
            ids[row, : len(tokens)] = torch.tensor(tokens)
        positions, mask = cache.open(width)
        out = self.model.model(
            input_ids=ids,
            attention_mask={"full_attention": mask},
            position_ids=positions,
            cache=cache,
            use_cache=True,
        )
        cache.close(lengths)
        last: torch.Tensor = out.last_hidden_state[torch.arange(len(pending)), lengths - 1]
        return last

    def _decide(self, players: list[Player], hidden: torch.Tensor, uniforms: FloatArray) -> None:
        """Draw one token a row from the allowed ones by inverting the distribution function, or take the likeliest."""
        logits = self.model.lm_head(hidden).double().numpy() / self.temperature
        nodes = np.array([player.node.index for player in players if player.node is not None])
        ids, counts = self.bank.tables()
        allowed, count = ids[nodes], counts[nodes]
        scores = np.take_along_axis(logits, allowed, axis=1)
        scores[np.arange(scores.shape[1])[None, :] >= count[:, None]] = -np.inf
        logp = scores - _logsumexp(scores)
        prob = np.exp(logp)
        which = logp.argmax(axis=1) if self.greedy else self._drawn(players, uniforms, prob, count)
        entropy = -(prob * np.where(prob > 0, logp, 0.0)).sum(axis=1)
        squares = (prob * prob).sum(axis=1)
        chosen = logp[np.arange(len(players)), which]
        for player, pick, *known in zip(players, which, chosen, entropy, squares, strict=True):
            player.choose(int(pick), *map(float, known))

    @staticmethod
    def _drawn(
        players: list[Player], uniforms: FloatArray, prob: FloatArray, count: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        draw = np.array([player.draws for player in players]) % uniforms.shape[1]
        point = uniforms[np.arange(len(players)), draw] * prob.sum(axis=1)
        drawn: npt.NDArray[np.int64] = (np.cumsum(prob, axis=1) <= point[:, None]).sum(axis=1)
        return np.minimum(drawn, count - 1)


def _logsumexp(scores: FloatArray) -> FloatArray:
    top = scores.max(axis=1, keepdims=True)
    result: FloatArray = top + np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
    return result
