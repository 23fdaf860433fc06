"""TRL's SFT trainer with signed per-example credit in a fixed order of slots.

The loss of a step is ``-(1 / batch) * sum_i sum_t weight_it * log p(token_it)``, where ``weight_it`` is the slot's
weight, or the token's own where credit is finer than a turn: policy gradient on recorded
actions (REINFORCE, Williams 1992) with the denominator fixed by the number of slots, so that no rule can change
its step size by leaving slots empty. With a clip (a, b), ``w log p`` becomes PPO's
``min(w r, w clip(r, 1 - a, 1 + b))`` with ``r`` the ratio to the collecting policy (Schulman et al., arXiv
1707.06347), whose gradient at ``r = 1`` is the same.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from datasets import Dataset
from torch.utils.data import SequentialSampler
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from equipoise.errors import ExecutionError
from equipoise.policies.rows import Rows, collate_rows, token_logprobs
from equipoise.policies.scoring import score
from equipoise.policies.tokens import WordTokens
from equipoise.policies.transcripts import Transcripts
from equipoise.training.counts import Counts
from equipoise.training.settings import TrainingSettings
from equipoise_budget.plan import Plan

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["CreditTrainer", "Training", "train_on_plan"]

FloatArray = npt.NDArray[np.float64]

_ROW_FIELDS = ("ids", "mask", "row", "position", "target", "allowed", "allowed_mask")


class _DivergedError(Exception):
    """The loss or the gradient stopped being finite: a result of the run, not a failure of the machine."""


@dataclass(frozen=True)
class Training:
    """What one training run did: its counts, and why it ended before its plan, None if it did not."""

    counts: Counts
    diverged: str | None = None


class _Collator:
    """Turns slot numbers into padded rows with their weights."""

    def __init__(self, transcripts: Transcripts, plan: Plan, old: FloatArray) -> None:
        self._transcripts, self._plan, self._old = transcripts, plan, old

    def __call__(self, features: Sequence[dict[str, int]]) -> dict[str, torch.Tensor]:
        slots = [feature["slot"] for feature in features]
        turns = self._plan.example[slots]
        rows = collate_rows(self._transcripts, [[int(turn)] for turn in turns])
        batch = {name: getattr(rows, name) for name in _ROW_FIELDS}
        batch["weight"] = torch.from_numpy(self._plan.weight[slots])
        batch["example"] = torch.from_numpy(turns)
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


class CreditTrainer(SFTTrainer):  # type: ignore[misc] # TRL ships no types
    """Presents the slots of a plan in their order, and counts them where the loss is computed.

    Args:
        model: trained in place.
        words: the policy's vocabulary.
        transcripts: rows of the plan's examples.
        plan: slots in order; its weights must be finite.
        settings: of the optimizer.
        folder: TRL wants one; nothing is written into it.
    """

    def __init__(
        self,
        model: "Qwen3ForCausalLM",
        words: WordTokens,
        transcripts: Transcripts,
        plan: Plan,
        settings: TrainingSettings,
        folder: Path,
    ) -> None:
        self.counts = Counts()
        self._settings, self._plan, self._policy = settings, plan, model
        self._sound: list[torch.Tensor] = []
        super().__init__(
            model=model,
            args=_arguments(plan, settings, folder),
            train_dataset=Dataset.from_dict({"slot": list(range(plan.slots))}),
            data_collator=_Collator(transcripts, plan, _reference(model, transcripts, settings)),
            processing_class=words.to_transformers(),
        )

    def create_optimizer(self, *args: Any, **kwargs: Any) -> torch.optim.Optimizer:
        """TRL's optimizer, with a hook that counts its steps."""
        optimizer: torch.optim.Optimizer = super().create_optimizer(*args, **kwargs)
        optimizer.register_step_post_hook(self._count_step)
        return optimizer

    def _count_step(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        self.counts.step(float(optimizer.param_groups[0]["lr"]))

    def _get_train_sampler(self, *_: object, **__: object) -> SequentialSampler:
        return SequentialSampler(range(self._plan.slots))

    def compute_loss(
        self,
        model: torch.nn.Module,
        inputs: dict[str, torch.Tensor],
        return_outputs: bool = False,
        num_items_in_batch: object = None,  # noqa: ARG002 - TRL passes it; our denominator is the plan's
    ) -> Any:
        """The weighted loss of one batch of slots; see the module."""
        rows = Rows(*(inputs[name] for name in _ROW_FIELDS))
        outputs = model(input_ids=rows.ids, attention_mask=rows.mask, use_cache=False)
        logits = outputs.logits / self._settings.temperature
        logprobs = token_logprobs(logits, rows, self._settings.normalisation)
        inside = ~torch.isnan(inputs["token_weight"])
        weight = inputs["token_weight"].to(logprobs.dtype)[inside]
        old = inputs["old"].to(logprobs.dtype)[inside]
        gain = _gain(logprobs[inside], old, weight, self._settings.clip)
        loss = -gain.sum() / self._plan.batch
        if not torch.isfinite(loss):
            message = f"the loss became {loss.item()} at optimizer step {len(self.counts.ledger) + 1}"
            raise _DivergedError(message)
        self.counts.rows(
            examples=inputs["example"].tolist(),
            weights=inputs["weight"].tolist(),
            lengths=rows.mask.sum(dim=1).tolist(),
            tokens=int(inside.sum()),
            loss=float(loss.detach()),
        )
        return (loss, outputs) if return_outputs else loss

    def training_step(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """One forward and backward pass, and the norm of its gradient before it is clipped."""
        loss: torch.Tensor = super().training_step(*args, **kwargs)
        gradients = [p.grad for p in self._policy.parameters() if p.grad is not None]
        norm = float(torch.nn.utils.get_total_norm(gradients))
        self.counts.gradient(norm)
        if not math.isfinite(norm):
            message = f"the gradient norm became {norm} at optimizer step {len(self.counts.ledger) + 1}"
            raise _DivergedError(message)
        self._sound = [p.detach().clone() for p in self._policy.parameters()]
        return loss

    def check_weights(self) -> None:
        """End as diverged if the last step left weights that are not finite: no later loss would tell."""
        if not all(bool(torch.isfinite(p).all()) for p in self._policy.parameters()):
            message = f"the weights stopped being finite at optimizer step {len(self.counts.ledger)}"
            raise _DivergedError(message)

    def undo(self) -> None:
        """Put back the last weights whose loss and gradient were finite; none are kept before the first step."""
        with torch.no_grad():
            for parameter, kept in zip(self._policy.parameters(), self._sound, strict=False):
                parameter.copy_(kept)

    def log(self, *_: object, **__: object) -> None:
        """Nothing is logged from here: the counts are the record."""


def _gain(
    logprobs: torch.Tensor, old: torch.Tensor, weight: torch.Tensor, clip: tuple[float, float] | None
) -> torch.Tensor:
    if clip is None:
        return weight * logprobs
    ratio = (logprobs - old).exp()
    return torch.minimum(weight * ratio, weight * ratio.clamp(1 - clip[0], 1 + clip[1]))


def _reference(model: "Qwen3ForCausalLM", transcripts: Transcripts, settings: TrainingSettings) -> FloatArray:
    """(K,) log-probabilities of the policy that collected, under the normalisation of the loss; zeros unclipped."""
    if settings.clip is None:
        return np.zeros(int(transcripts.token_offsets[-1]))
    return score(model, transcripts, normalisation=settings.normalisation, temperature=settings.temperature)


def _arguments(plan: Plan, settings: TrainingSettings, folder: Path) -> SFTConfig:
    """Every default of TRL that would change a comparison silently is set here."""
    return SFTConfig(
        output_dir=str(folder),
        max_steps=plan.steps,
        per_device_train_batch_size=plan.batch,
        gradient_accumulation_steps=1,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="constant",
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_grad_norm,
        optim="adamw_torch",
        seed=settings.seed,
        bf16=False,
        fp16=False,
        activation_checkpointing=False,
        logging_nan_inf_filter=False,
        logging_strategy="no",
        save_strategy="no",
        eval_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,  # where the registered threads and instruction set decide the bits, and where it is judged
        remove_unused_columns=False,
        dataloader_drop_last=False,
        dataloader_num_workers=0,
        dataloader_pin_memory=False,
        average_tokens_across_devices=False,
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
    )


def train_on_plan(
    model: "Qwen3ForCausalLM",
    words: WordTokens,
    transcripts: Transcripts,
    plan: Plan,
    settings: TrainingSettings,
    folder: Path,
) -> Training:
    """Train a model in place on every slot of a plan.

    A loss or gradient that stops being finite ends the training: the model goes back to the last weights at which
    both were finite. The step that broke them stays in the counts, since it was taken.

    Raises:
        ExecutionError: if the trainer stopped before the plan's end for no reason (it does so silently when
            data run out).
    """
    trainer = CreditTrainer(model, words, transcripts, plan, settings, folder)
    try:
        trainer.train()
        trainer.check_weights()
    except _DivergedError as error:
        trainer.undo()
        model.eval()
        return Training(trainer.counts, str(error))
    model.eval()
    taken = len(trainer.counts.ledger)
    if taken != plan.steps:
        message = (
            f"expected {plan.steps} optimizer steps of {plan.batch} slots, counted {taken}; "
            "the trainer ended early, so nothing of this run may be used"
        )
        raise ExecutionError(message)
    return Training(trainer.counts)
