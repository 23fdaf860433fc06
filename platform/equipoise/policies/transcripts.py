"""Transcripts as flat arrays: what a policy reads again when it scores or learns."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from equipoise.policies.episodes import Episode
from equipoise.policies.tries import TrieBank

__all__ = ["Transcripts"]

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Transcripts:
    """N transcripts with T turns and K action tokens in all.

    Attributes:
        tokens: (L,) token ids of all transcripts, one after another.
        offsets: (N+1,) where each transcript begins in `tokens`.
        trajectory: (T,) transcript of each turn.
        start, end: (T,) span of each turn's action tokens, counted from the transcript's first token.
        allowed_offsets: (K+1,) where each action token's allowed ids begin.
        allowed: ids that were allowed in its place; the token itself is among them, alone where it was forced.
    """

    tokens: IntArray
    offsets: IntArray
    trajectory: IntArray
    start: IntArray
    end: IntArray
    allowed_offsets: IntArray
    allowed: IntArray

    @classmethod
    def of(cls, episodes: Sequence[Episode], bank: TrieBank) -> Self:
        """Flatten played episodes; every turn of an episode becomes a turn here."""
        spans = np.array([span for e in episodes for span in e.spans], dtype=np.int64).reshape(-1, 2)
        allowed: list[tuple[int, ...]] = []
        for episode in episodes:
            chosen = (episode.tokens[k] for begin, end in episode.spans for k in range(begin, end))
            allowed.extend(
                bank.allowed(node) if node >= 0 else (token,)
                for node, token in zip(episode.nodes, chosen, strict=True)
            )
        return cls(
            tokens=np.array([token for e in episodes for token in e.tokens], dtype=np.int64),
            offsets=_offsets([len(e.tokens) for e in episodes]),
            trajectory=np.repeat(np.arange(len(episodes)), [len(e.actions) for e in episodes]),
            start=spans[:, 0],
            end=spans[:, 1],
            allowed_offsets=_offsets([len(ids) for ids in allowed]),
            allowed=np.array([token for ids in allowed for token in ids], dtype=np.int64),
        )

    @property
    def n(self) -> int:
        """Number of transcripts."""
        return len(self.offsets) - 1

    @property
    def token_offsets(self) -> IntArray:
        """(T+1,) where each turn's action tokens begin among all action tokens."""
        return _offsets(self.end - self.start)

    def row(self, turn: int) -> IntArray:
        """The training row of a turn: its transcript up to and including the action."""
        begin = self.offsets[self.trajectory[turn]]
        return self.tokens[begin : begin + self.end[turn]]

    def digest(self) -> str:
        """SHA-256 over the name, length and content of every array."""
        digest = hashlib.sha256()
        for field in fields(self):
            column = np.ascontiguousarray(getattr(self, field.name), dtype="<i8")
            digest.update(f"{field.name}{len(column)}\n".encode())
            digest.update(column.tobytes())
        return digest.hexdigest()

    def save(self, path: Path) -> None:
        """Write as .npz."""
        np.savez(path, **{field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        # A handle of our own: numpy leaves its own open where the file is no archive.
        with path.open("rb") as handle, np.load(handle) as data:
            return cls(**{field.name: data[field.name] for field in fields(cls)})


def _offsets(counts: Sequence[int] | IntArray) -> IntArray:
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
