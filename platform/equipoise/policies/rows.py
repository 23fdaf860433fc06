"""Training rows as padded tensors: what one forward pass needs to see again what the policy decided."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from equipoise.policies.transcripts import Transcripts

__all__ = ["Rows", "collate_rows", "ranges", "token_logprobs"]

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """B rows, padded on the right to width L, with A action tokens in all.

    Attributes:
        ids: (B, L) token ids. `mask`: (B, L) 1 where real.
        row, position: (A,) which logits predict each action token: `logits[row, position]`.
        target: (A,) the token. `allowed`: (A, W) allowed ids, `allowed_mask`: (A, W).
    """

    ids: torch.Tensor
    mask: torch.Tensor
    row: torch.Tensor
    position: torch.Tensor
    target: torch.Tensor
    allowed: torch.Tensor
    allowed_mask: torch.Tensor


def collate_rows(transcripts: Transcripts, turns: Sequence[Sequence[int]]) -> Rows:
    """Rows that each hold one transcript up to the last of the given turns.

    Args:
        transcripts: where the turns are.
        turns: for each row, turns of one transcript in rising order; their action tokens are what is scored.
    """
    parts = [transcripts.row(int(row[-1])) for row in turns]
    width = max(len(part) for part in parts)
    ids = np.zeros((len(parts), width), dtype=np.int64)
    mask = np.zeros((len(parts), width), dtype=np.int64)
    for index, part in enumerate(parts):
        ids[index, : len(part)] = part
        mask[index, : len(part)] = 1
    flat = np.array([turn for row in turns for turn in row], dtype=np.int64)
    owner = np.repeat(np.arange(len(turns)), [len(row) for row in turns])
    spans = transcripts.end[flat] - transcripts.start[flat]
    row = np.repeat(owner, spans)
    position = ranges(transcripts.start[flat], spans)
    token = ranges(transcripts.token_offsets[flat], spans)
    allowed, allowed_mask = _allowed(transcripts, token)
    tensors = (ids, mask, row, position - 1, ids[row, position], allowed, allowed_mask)
    return Rows(*(torch.from_numpy(np.ascontiguousarray(array)) for array in tensors))


def token_logprobs(logits: torch.Tensor, rows: Rows, normalisation: str) -> torch.Tensor:
    """(A,) log-probability of each action token.

    Args:
        logits: (B, L, V).
        rows: which of them count.
        normalisation: `admissible` divides by the mass of the allowed tokens, `vocabulary` by that of all.
    """
    at = logits[rows.row, rows.position]
    chosen = at.gather(1, rows.target[:, None])[:, 0]
    if normalisation == "vocabulary":
        return chosen - at.logsumexp(dim=1)
    scores = at.gather(1, rows.allowed).masked_fill(~rows.allowed_mask, float("-inf"))
    return chosen - scores.logsumexp(dim=1)


def ranges(starts: IntArray, counts: IntArray) -> IntArray:
    """Concatenated ``arange(start, start + count)``."""
    ends = np.cumsum(counts)
    result: IntArray = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts - starts, counts)
    return result


def _allowed(transcripts: Transcripts, token: IntArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    begin = transcripts.allowed_offsets[token]
    count = transcripts.allowed_offsets[token + 1] - begin
    place = np.arange(int(count.max()))
    inside = place[None, :] < count[:, None]
    index = np.where(inside, begin[:, None] + place[None, :], begin[:, None])
    return transcripts.allowed[index], inside
