"""A key-value cache whose rows have lengths of their own, so that episodes of one batch need not march in step."""

from typing import Any

import torch
from transformers.cache_utils import Cache

__all__ = ["RaggedCache"]


class RaggedCache(Cache):  # type: ignore[misc] # transformers is read without its types
    """Keys and values of every layer in buffers (rows, capacity, heads, head size), written at each row's own end.

    Args:
        layers: number of decoder layers.
    """

    def __init__(self, layers: int) -> None:
        super().__init__(layers=[])
        self._buffers: list[list[torch.Tensor | None]] = [[None, None] for _ in range(layers)]
        self.lengths = torch.zeros(0, dtype=torch.long)
        self._positions = torch.zeros((0, 0), dtype=torch.long)

    def begin(self, rows: int) -> None:
        """Empty cache for this many rows."""
        self.lengths = torch.zeros(rows, dtype=torch.long)

    def open(self, width: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Prepare to write `width` tokens a row.

        Returns:
            positions (rows, width) of the new tokens, and the boolean attention mask (rows, 1, width, seen).
        """
        self._positions = self.lengths[:, None] + torch.arange(width)
        seen = int(self.lengths.max()) + width
        mask = torch.arange(seen)[None, None, :] <= self._positions[:, :, None]
        return self._positions, mask[:, None]

    def close(self, written: torch.Tensor) -> None:
        """Count the tokens that were real: `written` (rows,) of them; what lies behind is overwritten next."""
        self.lengths = self.lengths + written

    def select(self, rows: torch.Tensor) -> None:
        """Keep, reorder or repeat rows."""
        self.lengths = self.lengths[rows]
        self._buffers = [[None if b is None else b[rows] for b in pair] for pair in self._buffers]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write (rows, heads, width, head size) at the opened positions; return all that has been seen."""
        pair = self._buffers[layer_idx]
        seen = int(self._positions.max()) + 1
        rows = torch.arange(len(self._positions))[:, None]
        for index, states in enumerate((key_states, value_states)):
            buffer = self._room(pair[index], states, seen)
            buffer[rows, self._positions] = states.transpose(1, 2)
            pair[index] = buffer
        keys, values = pair
        assert keys is not None
        assert values is not None
        return keys[:, :seen].transpose(1, 2), values[:, :seen].transpose(1, 2)

    def get_seq_length(self, layer_idx: int = 0) -> int:  # noqa: ARG002 - the base class's signature
        """Longest row so far."""
        return int(self.lengths.max()) if len(self.lengths) else 0

    @staticmethod
    def _room(buffer: torch.Tensor | None, states: torch.Tensor, seen: int) -> torch.Tensor:
        rows, heads, _, size = states.shape
        have = 0 if buffer is None else buffer.shape[1]
        if buffer is not None and have >= seen:
            return buffer
        grown = torch.zeros((rows, max(seen, 2 * have, 64), heads, size), dtype=states.dtype)
        if buffer is not None:
            grown[:, :have] = buffer
        return grown
