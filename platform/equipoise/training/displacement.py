"""How far training has moved a policy: in weights, and in what it would do where it had been."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import torch

from equipoise.policies.rows import Rows, collate_rows
from equipoise.policies.transcripts import Transcripts
from equipoise_budget.stopping import Stop

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["Moved", "Watch", "kl_from_start", "l2_between", "measured_turns"]

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
        for rows in _batches(transcripts, turns):
            total += _divergence(_decisions(start, rows), _decisions(end, rows), rows)
    return _mean(total, turns)


@dataclass(frozen=True)
class Moved:
    """Where a policy is after a step.

    Attributes:
        kl: mean divergence from the start in nats; None where it was not measured, or there is none.
        l2: distance of the parameters from the start; None where it was not measured.
        arrived: whether training ends here.
    """

    kl: float | None = None
    l2: float | None = None
    arrived: bool = False


@dataclass(frozen=True, eq=False)
class Watch:
    """Measures a policy after the steps at which that is due, and says when it has moved far enough.

    What the start would do is computed once, before training: a measurement costs one forward pass over at most 511
    turns. A copy of the model would not do: trainers hang functions on a model that a copy would share.

    Attributes:
        parameters: of the start.
        decisions: of the start, a batch of measured turns at a time, see `measured_turns`.
        transcripts: whose turns these are.
        every: steps between two measurements; every step is measured where there is a stop.
        stop: the divergence at which training ends; None for no end before the last slot.
    """

    parameters: list[torch.Tensor]
    decisions: list[torch.Tensor]
    transcripts: Transcripts
    every: int
    stop: Stop | None = None

    @classmethod
    def of(
        cls, model: "Qwen3ForCausalLM", transcripts: Transcripts, every: int | None, stop: Stop | None
    ) -> Self | None:
        """Start from a policy as it is; None where nothing is to be measured.

        Args:
            model: about to be trained.
            transcripts: that it is trained on.
            every: registered steps between two measurements; None for none.
            stop: of the plan.
        """
        if every is None and stop is None:
            return None
        turns = measured_turns(len(transcripts.trajectory))
        with torch.inference_mode():
            decisions = [_decisions(model, rows) for rows in _batches(transcripts, turns)]
        kept = [parameter.detach().clone() for parameter in model.parameters()]
        return cls(kept, decisions, transcripts, 1 if stop is not None else every or 1, stop)

    def after(self, step: int, model: "Qwen3ForCausalLM") -> Moved:
        """Measure the policy after a step, counted from 1, if that is due.

        Nothing is drawn and nothing of the policy is changed: the next step is what it would have been.
        """
        if step % self.every:
            return Moved()
        kl, l2 = self._divergence_of(model), l2_between(self.parameters, model.parameters())
        return Moved(kl, l2, self.stop is not None and self.stop.arrived(kl))

    def _divergence_of(self, model: "Qwen3ForCausalLM") -> float | None:
        turns, total = measured_turns(len(self.transcripts.trajectory)), 0.0
        with torch.inference_mode():
            for before, rows in zip(self.decisions, _batches(self.transcripts, turns), strict=True):
                total += _divergence(before, _decisions(model, rows), rows)
        return _mean(total, turns)


def _batches(transcripts: Transcripts, turns: list[int]) -> Iterator[Rows]:
    for begin in range(0, len(turns), _BATCH):
        yield collate_rows(transcripts, [[turn] for turn in turns[begin : begin + _BATCH]])


def _decisions(model: "Qwen3ForCausalLM", rows: Rows) -> torch.Tensor:
    """(A, W) log-probabilities of the admissible continuations of each action token, -inf beyond their number."""
    logits: torch.Tensor = model(input_ids=rows.ids, attention_mask=rows.mask, use_cache=False).logits
    return (
        logits[rows.row, rows.position]
        .double()
        .gather(1, rows.allowed)
        .masked_fill(~rows.allowed_mask, float("-inf"))
        .log_softmax(dim=1)
    )


def _divergence(before: torch.Tensor, after: torch.Tensor, rows: Rows) -> float:
    gap = (before - after).masked_fill(~rows.allowed_mask, 0.0)
    return float((before.exp() * gap).sum())


def _mean(total: float, turns: list[int]) -> float | None:
    return total / max(1, len(turns)) if math.isfinite(total) else None
