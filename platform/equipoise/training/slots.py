"""From slots of a plan to padded tensors: what both trainers read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from equipoise.errors import ExecutionError
from equipoise.policies.rows import Rows, collate_rows
from equipoise.policies.scoring import score
from equipoise.policies.transcripts import Transcripts
from equipoise.training.settings import TrainingSettings
from equipoise_budget.plan import Plan

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["SlotCollator", "reference", "rows_of"]

FloatArray = npt.NDArray[np.float64]

_ROW_FIELDS = ("ids", "mask", "row", "position", "target", "allowed", "allowed_mask")


class SlotCollator:
    """Turns slot numbers into padded rows with their weights.

    Args:
        transcripts: rows of the plan's examples.
        plan: slots in order.
        old: (K,) log-probability of every action token of the transcripts under the collecting policy.
    """

    def __init__(self, transcripts: Transcripts, plan: Plan, old: FloatArray) -> None:
        self._transcripts, self._plan, self._old = transcripts, plan, old

    def __call__(self, features: Sequence[dict[str, int]]) -> dict[str, torch.Tensor]:
        """The fields of `Rows`, and (B,) `weight` and `example`, (A,) `token_weight` and `old`."""
        slots = [feature["slot"] for feature in features]
        turns = self._plan.example[slots]
        rows = collate_rows(self._transcripts, [[int(turn)] for turn in turns])
        batch = {name: getattr(rows, name) for name in _ROW_FIELDS}
        batch["weight"] = torch.from_numpy(self._plan.weight[slots])
        # Padding is a row like any other to the model, and no example to the books.
        batch["example"] = torch.from_numpy(np.where(self._plan.padding[slots], -1, turns))
        offsets = self._transcripts.token_offsets
        sizes = offsets[turns + 1] - offsets[turns]
        batch["token_weight"] = torch.from_numpy(self._weights(slots, sizes))
        batch["old"] = torch.from_numpy(
            np.concatenate([self._old[offsets[t] : offsets[t + 1]] for t in turns])
        )
        return batch

    def _weights(self, slots: list[int], sizes: npt.NDArray[np.int64]) -> FloatArray:
        """(tokens,) weight of every action token of the slots, NaN for those that are not in the loss."""
        plan = self._plan
        if not plan.token_offsets.size:
            return np.repeat(plan.weight[slots], sizes)
        begin, end = plan.token_offsets[slots], plan.token_offsets[np.array(slots) + 1]
        if not np.array_equal(end - begin, sizes):
            message = "expected weights for the tokens of each turn, got another number; is the plan of another batch?"
            raise ExecutionError(message)
        return np.concatenate([plan.token_weight[a:b] for a, b in zip(begin, end, strict=True)])


def rows_of(batch: dict[str, torch.Tensor]) -> Rows:
    """The rows among the tensors of a batch of slots."""
    return Rows(*(batch[name] for name in _ROW_FIELDS))


def reference(model: "Qwen3ForCausalLM", transcripts: Transcripts, settings: TrainingSettings) -> FloatArray:
    """(K,) log-probabilities of the policy that collected, under the normalisation of the loss; zeros unclipped."""
    if settings.clip is None:
        return np.zeros(int(transcripts.token_offsets[-1]))
    return score(model, transcripts, normalisation=settings.normalisation, temperature=settings.temperature)
