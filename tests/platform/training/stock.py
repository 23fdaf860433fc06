"""TRL's trainers as they come, with only credit and recorded rows put in: what our trainers are compared with."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from torch import Tensor
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

PROMPT = [1, 2]
QUIET: dict[str, Any] = {
    "bf16": False,
    "use_cpu": True,
    "logging_strategy": "no",
    "save_strategy": "no",
    "report_to": "none",
    "disable_tqdm": True,
    "dataloader_pin_memory": False,
    "activation_checkpointing": False,
}


class StockGRPO(GRPOTrainer):  # type: ignore[misc] # TRL ships no types
    """Two recorded completions a prompt, and a credit for each of their tokens written where TRL writes one a row.

    Completion k of all has 2 + k % 3 tokens, of which every fourth of the batch is not in the loss.

    Args:
        credit: from the number of a row and its tokens to a credit a token.
        reward: what TRL makes advantages from, before `credit` overwrites them; None for no credit of our own.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        folder: Path,
        *,
        prompts: int = 4,
        credit: Callable[[int, int], Tensor] | None = None,
        reward: Callable[..., list[float | None]] = lambda completions, **_: [0.0] * len(completions),
        **changes: Any,
    ) -> None:
        self._credit = credit
        self.seen: list[list[int]] = []
        self.rows: list[int] = []
        self.gradients: list[Tensor] = []
        args: dict[str, Any] = {"per_device_train_batch_size": 4, "num_generations": 2, **QUIET, **changes}
        super().__init__(
            model=model,
            reward_funcs=reward,
            args=GRPOConfig(output_dir=str(folder), **args),
            train_dataset=Dataset.from_dict({"prompt": [str(k) for k in range(prompts)]}),
            processing_class=tokenizer,
            rollout_func=self._recorded,
        )

    def _recorded(self, prompts: Sequence[str], _: object) -> dict[str, Any]:
        self.rows = [2 * int(prompt) + k % 2 for k, prompt in enumerate(prompts)]
        self.seen.append([int(prompt) for prompt in prompts[::2]])
        completions = [[5 + (row + k) % 7 for k in range(2 + row % 3)] for row in self.rows]
        places = iter(range(1, 10_000))
        return {
            "prompt_ids": [PROMPT] * len(prompts),
            "completion_ids": completions,
            "logprobs": None,
            "env_mask": [[int(next(places) % 4 != 0) for _ in tokens] for tokens in completions],
        }

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Tensor]:
        out: dict[str, Tensor] = super()._generate_and_score_completions(inputs)
        if self._credit is not None:
            mask = out["completion_mask"]
            rows = [self._credit(row, int(n)) for row, n in zip(self.rows, mask.sum(dim=1), strict=True)]
            out["advantages"] = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return out

    def create_optimizer(self, *args: Any, **kwargs: Any) -> torch.optim.Optimizer:
        optimizer: torch.optim.Optimizer = super().create_optimizer(*args, **kwargs)
        optimizer.register_step_pre_hook(self._look)
        return optimizer

    def _look(self, *_: object) -> None:
        gradients = (p.grad for p in self.model.parameters() if p.grad is not None)
        self.gradients.append(torch.cat([gradient.reshape(-1).clone() for gradient in gradients]))


class StockSFT(SFTTrainer):  # type: ignore[misc] # TRL ships no types
    """Rows of four tokens; notes the rows and the divisor of every micro-batch, and when steps were taken."""

    def __init__(self, model: Any, tokenizer: Any, folder: Path, *, rows: int, **changes: Any) -> None:
        self.seen: list[tuple[int, int, int]] = []
        super().__init__(
            model=model,
            args=SFTConfig(output_dir=str(folder), **{**QUIET, **changes}),
            train_dataset=Dataset.from_dict({"input_ids": [[1, 2, 5 + k % 7, 6] for k in range(rows)]}),
            processing_class=tokenizer,
        )

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        self.seen.append((self.state.global_step, len(inputs["input_ids"]), int(num_items_in_batch)))
        return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)


def signed(row: int, tokens: int) -> Tensor:
    """Credit of either sign, another for every token."""
    return torch.tensor([(-1.0) ** (row + k) * (1 + row + k) / 4 for k in range(tokens)])
