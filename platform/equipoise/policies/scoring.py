"""Teacher-forced scoring: what a policy thinks of actions that were already taken."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from equipoise.policies.rows import collate_rows, token_logprobs
from equipoise.policies.transcripts import Transcripts

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["mean_by_turn", "score", "with_preface"]

FloatArray = npt.NDArray[np.float64]


def score(
    model: "Qwen3ForCausalLM",
    transcripts: Transcripts,
    *,
    normalisation: str = "admissible",
    temperature: float = 1.0,
    batch: int = 64,
) -> FloatArray:
    """(K,) log-probability of every action token, each transcript read once.

    Args:
        model: in evaluation mode.
        transcripts: what was said and done.
        normalisation: see `token_logprobs`.
        temperature: divides the logits.
        batch: transcripts a forward pass.
    """
    turns = np.split(np.arange(len(transcripts.trajectory)), _first_turns(transcripts))
    scores: list[FloatArray] = []
    with torch.inference_mode():
        for begin in range(0, transcripts.n, batch):
            rows = collate_rows(transcripts, [list(row) for row in turns[begin : begin + batch] if len(row)])
            logits = model(input_ids=rows.ids, attention_mask=rows.mask, use_cache=False).logits / temperature
            scores.append(token_logprobs(logits, rows, normalisation).double().numpy())
    return np.concatenate(scores)


def mean_by_turn(transcripts: Transcripts, values: FloatArray) -> FloatArray:
    """(T,) mean over the action tokens of each turn."""
    offsets = transcripts.token_offsets
    sums: FloatArray = np.add.reduceat(values, offsets[:-1])
    return sums / np.diff(offsets)


def with_preface(transcripts: Transcripts, prefaces: list[tuple[int, ...]]) -> Transcripts:
    """The same transcripts, each with some tokens put after its first one (the end revealed, say).

    Args:
        transcripts: N of them.
        prefaces: N token sequences.
    """
    pieces: list[npt.NDArray[np.int64]] = []
    for index, preface in enumerate(prefaces):
        text = transcripts.tokens[transcripts.offsets[index] : transcripts.offsets[index + 1]]
        pieces.append(np.concatenate((text[:1], np.array(preface, dtype=np.int64), text[1:])))
    grown = np.array([len(preface) for preface in prefaces], dtype=np.int64)
    shift = grown[transcripts.trajectory]
    return replace(
        transcripts,
        tokens=np.concatenate(pieces),
        offsets=np.concatenate(([0], np.cumsum(np.diff(transcripts.offsets) + grown))),
        start=transcripts.start + shift,
        end=transcripts.end + shift,
    )


def _first_turns(transcripts: Transcripts) -> npt.NDArray[np.int64]:
    counts = np.bincount(transcripts.trajectory, minlength=transcripts.n)
    return np.cumsum(counts)[:-1]
