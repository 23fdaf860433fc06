"""TRL's SFT trainer with signed per-example credit in a fixed order of slots.

The loss of a step is ``-(1 / batch) * sum_i sum_t weight_it * log p(token_it)``, where ``weight_it`` is the slot's
weight, or the token's own where credit is finer than a turn: policy gradient on recorded
actions (REINFORCE, Williams 1992) with the denominator fixed by the number of slots, so that no rule can change
its step size by leaving slots empty. With a clip (a, b), ``w log p`` becomes PPO's
``min(w r, w clip(r, 1 - a, 1 + b))`` with ``r`` the ratio to the collecting policy (Schulman et al., arXiv
1707.06347), whose gradient at ``r = 1`` is the same.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from datasets import Dataset
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from equipoise.errors import ExecutionError
from equipoise.policies.rows import token_logprobs
from equipoise.policies.tokens import WordTokens
from equipoise.policies.transcripts import Transcripts
from equipoise.training.counts import Counts
from equipoise.training.displacement import Watch
from equipoise.training.hooks import CountedTrainer, DivergedError
from equipoise.training.settings import TrainingSettings, shared_arguments
from equipoise.training.slots import SlotCollator, reference, rows_of
from equipoise_budget.plan import Plan

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["CreditTrainer", "Training", "train_on_plan"]


@dataclass(frozen=True)
class Training:
    """What one training run did.

    Attributes:
        counts: taken while it ran.
        diverged: why it ended before its plan; None if it did not.
        moments: what the optimizer remembers at its end, for the next round; None if it diverged.
    """

    counts: Counts
    diverged: str | None = None
    moments: dict[str, Any] | None = None


class CreditTrainer(CountedTrainer, SFTTrainer):  # type: ignore[misc] # TRL ships no types
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
        self._settings = settings
        super().__init__(
            model=model,
            plan=plan,
            args=_arguments(plan, settings, folder),
            train_dataset=Dataset.from_dict({"slot": list(range(plan.slots))}),
            data_collator=SlotCollator(transcripts, plan, reference(model, transcripts, settings)),
            processing_class=words.to_transformers(),
        )

    def compute_loss(
        self,
        model: torch.nn.Module,
        inputs: dict[str, torch.Tensor],
        return_outputs: bool = False,
        num_items_in_batch: object = None,  # noqa: ARG002 - TRL passes it; our denominator is the plan's
    ) -> Any:
        """The weighted loss of one batch of slots; see the module."""
        rows = rows_of(inputs)
        outputs = model(input_ids=rows.ids, attention_mask=rows.mask, use_cache=False)
        logits = outputs.logits / self._settings.temperature
        logprobs = token_logprobs(logits, rows, self._settings.normalisation)
        inside = ~torch.isnan(inputs["token_weight"])
        weight = inputs["token_weight"].to(logprobs.dtype)[inside]
        old = inputs["old"].to(logprobs.dtype)[inside]
        gain = _gain(logprobs[inside], old, weight, self._settings.clip)
        loss = -gain.sum() / self._plan.batch
        self.book(inputs, logprobs, loss, self._settings.clip)
        return (loss, outputs) if return_outputs else loss


def _gain(
    logprobs: torch.Tensor, old: torch.Tensor, weight: torch.Tensor, clip: tuple[float, float] | None
) -> torch.Tensor:
    if clip is None:
        return weight * logprobs
    ratio = (logprobs - old).exp()
    return torch.minimum(weight * ratio, weight * ratio.clamp(1 - clip[0], 1 + clip[1]))


def _arguments(plan: Plan, settings: TrainingSettings, folder: Path) -> SFTConfig:
    """What both trainers set, and rows as they are: TRL would cut them at 1,024 tokens and tokenize them again."""
    return SFTConfig(
        **shared_arguments(plan, settings, folder),
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
    moments: dict[str, Any] | None = None,
) -> Training:
    """Train a model in place on every slot of a plan, or up to the displacement at which it is to stop.

    With the moments of an earlier call the optimizer goes on where that ended: two plans one after the other leave
    the weights that one plan of both leaves.

    A loss or gradient that stops being finite ends the training: the model goes back to the last weights at which
    both were finite. The step that broke them stays in the counts, since it was taken.

    Raises:
        ExecutionError: if the trainer stopped before the plan's end for no reason (it does so silently when
            data run out).
    """
    trainer = _trainer_of(settings)(model, words, transcripts, plan, settings, folder)
    trainer.carried = moments
    trainer.watch = Watch.of(model, transcripts, settings.measure_every, plan.stop)
    try:
        trainer.train()
        trainer.check_weights()
    except DivergedError as error:
        trainer.undo()
        model.eval()
        return Training(trainer.counts, str(error))
    model.eval()
    taken = len(trainer.counts.ledger)
    if taken != plan.steps and not trainer.arrived:
        message = (
            f"expected {plan.steps} optimizer steps of {plan.batch} slots, counted {taken}; "
            "the trainer ended early, so nothing of this run may be used"
        )
        raise ExecutionError(message)
    return Training(trainer.counts, moments=trainer.moments)


def _trainer_of(settings: TrainingSettings) -> Any:
    if settings.loss is None:
        return CreditTrainer
    # GRPOTrainer takes seconds to import, so only those who need it do.
    from equipoise.training.on_policy import OnPolicyTrainer

    return OnPolicyTrainer
