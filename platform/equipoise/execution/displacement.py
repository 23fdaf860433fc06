"""How far training moved the policy: in weights, and in what it would do where it had been."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch

from equipoise.policies.rows import collate_rows
from equipoise.policies.transcripts import Transcripts

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["kl_from_start", "l2_between", "measured_turns"]

_BATCH = 64
_TURNS = 256


def measured_turns(turns: int) -> list[int]:
    """The turns of a batch of so many at which divergence is measured: evenly spaced, fewer than twice 256 of them."""
    return list(range(0, turns, max(1, turns // _TURNS)))


def l2_between(start: Iterable[torch.Tensor], end: Iterable[torch.Tensor]) -> float:
    """L2 norm of the difference of two sets of parameters of the same shapes."""
    total = sum(
        float((b.detach() - a.detach()).double().square().sum()) for a, b in zip(start, end, strict=True)
    )
    return float(total**0.5)


def kl_from_start(
    start: "Qwen3ForCausalLM", end: "Qwen3ForCausalLM", transcripts: Transcripts, turns: list[int]
) -> float | None:
    """Mean over decisions of KL(start || end), in nats, over the admissible commands token by token.

    Args:
        start: policy before training.
        end: policy after it.
        transcripts: collected with the start, so that the mean is over its own states.
        turns: which of their turns; forced tokens contribute nothing.

    Returns:
        None if the end has no divergence to measure, because what it says is not finite any more.
    """
    total = 0.0
    with torch.inference_mode():
        for begin in range(0, len(turns), _BATCH):
            rows = collate_rows(transcripts, [[turn] for turn in turns[begin : begin + _BATCH]])
            before, after = (
                model(input_ids=rows.ids, attention_mask=rows.mask, use_cache=False)
                .logits[rows.row, rows.position]
                .double()
                .gather(1, rows.allowed)
                .masked_fill(~rows.allowed_mask, float("-inf"))
                .log_softmax(dim=1)
                for model in (start, end)
            )
            gap = (before - after).masked_fill(~rows.allowed_mask, 0.0)
            total += float((before.exp() * gap).sum())
    return total / max(1, len(turns)) if math.isfinite(total) else None
