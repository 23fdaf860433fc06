"""TRL's GRPO trainer on recorded rows, with credit as fine as tokens.

Nothing is generated: a step's completions, their masks, the log-probabilities under the collecting policy and the
credit are those of the plan's slots, and credit of shape (rows, tokens) stands where TRL writes (rows,). What follows
is TRL's own: ratio, clip, and one of four ways to one number. Without a clip the policy that learns stands for the
one that collected: all ratios are 1, and the gradient is the plain policy gradient. With ``w`` the credit of a token,
``g`` its clipped gain, ``B`` the batch and a loss over the rows of one step:

    grpo     ``-(1 / B) sum_i (1 / n_i) sum_t g_it``, ``n_i`` tokens of row i in the loss (arXiv 2402.03300)
    bnpo     ``-(1 / n) sum_i sum_t g_it``, ``n`` tokens of the micro-batch in the loss
    dr_grpo  ``-(1 / B) sum_i sum_t g_it`` (arXiv 2503.20783; its constant length is 1, so that the learning rate alone
             sets the scale, and its gradient is that of the weighted likelihood)
    dapo     ``-(1 / n) sum_i sum_t g_it``, ``n`` tokens of the whole batch in the loss (arXiv 2503.14476)

Only `dapo` is the same however a step is cut into micro-batches: `bnpo` changes where these differ in tokens, `grpo`
and `dr_grpo` where they differ in rows. Here a step is always one micro-batch, so that no loss depends on the cut, and
`bnpo` and `dapo` agree. In all but `dr_grpo` the divisor depends on which tokens a rule leaves in the loss: a rule that
leaves fewer gives each of them more weight.

Empty slots (`under: pad`) are treated like those that a ragged last step lacks: their tokens divide nothing, and the
step counts for its share of a batch. So in every loss a step with empty slots is the step without them, and what an
empty slot happens to show changes nothing.

Source: huggingface/trl 1.16.0 (PyPI), trl/trainer/grpo_trainer.py:3020-3292.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from datasets import Dataset
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from equipoise.errors import ExecutionError
from equipoise.policies.rows import token_logprobs
from equipoise.policies.tokens import WordTokens
from equipoise.policies.transcripts import Transcripts
from equipoise.training.hooks import CountedTrainer
from equipoise.training.settings import TrainingSettings, shared_arguments
from equipoise.training.slots import SlotCollator, reference, rows_of
from equipoise_budget.plan import Plan

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["OnPolicyTrainer"]

Tensors = dict[str, torch.Tensor]


class OnPolicyTrainer(CountedTrainer, GRPOTrainer):  # type: ignore[misc] # TRL ships no types
    """Presents the slots of a plan in their order, and counts them where the loss is computed.

    A row's first token is its prompt and all others are its completion, of which the mask leaves the action's tokens
    in the loss: rows are padded on the right only, and read as the other trainer reads them.

    Args:
        model: trained in place.
        words: the policy's vocabulary.
        transcripts: rows of the plan's examples.
        plan: slots in order; its weights must be finite.
        settings: of the optimizer; `loss` must be given.
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
        self._collate = SlotCollator(transcripts, plan, reference(model, transcripts, settings))
        self._batch: Tensors = {}
        self._logprobs = torch.zeros(0)
        super().__init__(
            model=model,
            reward_funcs=_no_reward,
            plan=plan,
            args=_arguments(plan, settings, folder),
            train_dataset=Dataset.from_dict({"slot": list(range(plan.slots)), "prompt": [""] * plan.slots}),
            processing_class=words.to_transformers(),
        )

    def _prepare_inputs(self, inputs: Any) -> Tensors:
        """TRL shuffles here, by the global generator: the order of the plan would be that of who drew before."""
        return self._generate_and_score_completions(inputs)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> Tensors:
        """The recorded rows of the slots, as TRL wants generations: (B, 1) prompts and (B, T) completions."""
        batch = self._batch = self._collate(inputs)
        known = ~torch.isnan(batch["token_weight"])
        kind = self._policy.dtype
        # An empty slot has no tokens to divide by: it holds a row only because a tensor must.
        inside = _spread(known & (batch["example"] >= 0)[batch["row"]], batch)
        recorded = {
            "prompt_ids": batch["ids"][:, :1],
            "prompt_mask": batch["mask"][:, :1],
            "completion_ids": batch["ids"][:, 1:],
            "completion_mask": batch["mask"][:, 1:],
            "tool_mask": inside.long(),
            "num_items_in_batch": inside.sum(),
            # Zeros where there is no credit: TRL multiplies by the mask, and NaN times 0 is NaN.
            "advantages": _spread(torch.where(known, batch["token_weight"], 0.0).to(kind), batch),
        }
        if self._settings.clip is not None:
            recorded["old_per_token_logps"] = _spread(batch["old"].to(kind), batch)
        return recorded

    def _get_per_token_logps_and_entropies(
        self, model: torch.nn.Module, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor, None]:
        """(B, T) log-probabilities under the registered normalisation; NaN entropies, which nothing here uses."""
        rows = rows_of(self._batch)
        logits = model(input_ids=rows.ids, attention_mask=rows.mask, use_cache=False).logits
        logprobs = token_logprobs(logits / self._settings.temperature, rows, self._settings.normalisation)
        self._logprobs = logprobs.detach()
        spread = _spread(logprobs, self._batch)
        return spread, torch.full_like(spread, torch.nan), None

    def _compute_loss(self, model: torch.nn.Module, inputs: Tensors) -> torch.Tensor:
        """TRL's loss, for the share of the batch that a ragged or padded step has: no slot weighs more for that."""
        loss: torch.Tensor = super()._compute_loss(model, inputs)
        example = self._batch["example"]
        # The other two divide by rows, and empty ones are among them.
        by_tokens = self._settings.loss in ("bnpo", "dapo")
        rows = int((example >= 0).sum()) if by_tokens else len(example)
        loss = loss * (rows / self._plan.batch)
        self.book(self._batch, self._logprobs, loss, self._settings.clip)
        return loss


def _no_reward(*_: object, **__: object) -> list[float]:
    """TRL does not start without one."""
    message = (
        "expected credit from the plan, got a request for a reward; does TRL generate by another way now?"
    )
    raise ExecutionError(message)


def _spread(values: torch.Tensor, batch: Tensors) -> torch.Tensor:
    """(B, T) with the (A,) values of the action tokens in their places, and 0 elsewhere.

    `position` says which logits predict a token: one less than its place in the row, which is its place in the
    completion, because that lacks the row's first token.
    """
    width = (batch["ids"].shape[0], batch["ids"].shape[1] - 1)
    return values.new_zeros(width).index_put((batch["row"], batch["position"]), values)


def _arguments(plan: Plan, settings: TrainingSettings, folder: Path) -> GRPOConfig:
    """What both trainers set, and one generation a step, each used once, in the order of the plan."""
    assert settings.loss is not None, "the weighted likelihood has a trainer of its own"
    low, high = settings.clip or (0.2, 0.2)  # no ratio leaves 1 where there is no clip
    shared = shared_arguments(plan, settings, folder)
    shared["per_device_train_batch_size"] = 2
    arguments = GRPOConfig(
        **shared,
        num_generations=2,
        steps_per_generation=1,
        num_iterations=1,
        loss_type=settings.loss,
        epsilon=low,
        epsilon_high=high,
        beta=0.0,
        importance_sampling_level="token",
        max_completion_length=1,
        mask_truncated_completions=False,
        shuffle_dataset=False,
        use_vllm=False,
        disable_dropout=True,
    )
    # TRL accepts only batches that are whole groups of at least two. Groups play no part here: credit is given.
    arguments.per_device_train_batch_size = arguments.generation_batch_size = plan.batch
    return arguments
