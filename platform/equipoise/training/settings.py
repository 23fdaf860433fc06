"""How a policy is trained, as registered, and what both of TRL's trainers are told so that nothing else decides."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise_budget.plan import Plan

__all__ = ["CLOSED", "TrainingSettings", "shared_arguments"]


@dataclass(frozen=True)
class TrainingSettings:
    """One optimizer for every cell of a suite.

    Attributes:
        learning_rate: of AdamW, constant. `weight_decay`: of AdamW, on matrices; scales of norms are left alone.
        max_grad_norm: gradients are clipped to this L2 norm; the norm before clipping is recorded.
        normalisation: of the action likelihood, see `equipoise.policies.rows.token_logprobs`.
        temperature: the logits are divided by it, as they were when the actions were sampled.
        clip: how far below and above 1 the probability ratio to the collecting policy may lie before a token
            stops pushing it further (PPO, arXiv 1707.06347, with the two sides of DAPO, arXiv 2503.14476);
            None leaves the plain policy gradient.
        loss: one of the losses of TRL's GRPOTrainer (`equipoise.training.on_policy`); None for the weighted
            likelihood of its SFTTrainer (`equipoise.training.trainer`).
        measure_every: optimizer steps between two measurements of KL and L2 from the start, which cost a forward
            pass over up to 511 turns each; None for none but those that a plan's stop needs.
        seed: for the trainer's own generators; the order of the rows does not depend on it.
    """

    learning_rate: float
    max_grad_norm: float
    normalisation: str
    weight_decay: float = 0.0
    temperature: float = 1.0
    clip: tuple[float, float] | None = None
    loss: str | None = None
    measure_every: int | None = None
    seed: int = 0


CLOSED: Mapping[str, tuple[Any, str]] = MappingProxyType(
    {
        "gradient_accumulation_steps": (
            1,
            "losses that divide by a micro-batch's rows or tokens change with the cut",
        ),
        "lr_scheduler_type": (
            "constant",
            "a decaying rate makes a step worth less the more steps a cell takes",
        ),
        "optim": ("adamw_torch", "the fused optimizer rounds otherwise, where torch has it"),
        "bf16": (False, "half precision is TRL's default where fp16 is off, and rounds small credit away"),
        "fp16": (False, "the same, and its loss scale skips steps that the books would count"),
        "activation_checkpointing": (
            False,
            "on by default under an older name: a second forward pass that nobody counts",
        ),
        "logging_nan_inf_filter": (False, "a loss that is not a number is logged as 0"),
        "logging_strategy": ("no", "the log's token counts leave passes out; the ledger is the record"),
        "save_strategy": ("no", "checkpoints in a folder that is no artifact of the run"),
        "eval_strategy": ("no", "evaluation inside of training would draw and cost what no meter sees"),
        "report_to": ("none", "before transformers 5, whatever tracker happened to be installed got runs"),
        "disable_tqdm": (True, "progress bars in the logs of workers"),
        # Where the registered threads and instruction set decide the bits, and where it is judged.
        "use_cpu": (True, "a GPU that is found is used"),
        "remove_unused_columns": (
            False,
            "the column of slots is no argument of the model, and would be dropped",
        ),
        "dataloader_drop_last": (False, "a ragged last batch would silently be left out"),
        "dataloader_num_workers": (0, "further processes, on cores that the scheduler gave to other jobs"),
        "dataloader_pin_memory": (False, "a warning on every machine without a GPU"),
        "average_tokens_across_devices": (False, "the divisor would depend on the number of processes"),
    }
)
"""By argument of TRL's configurations: what both trainers set it to, and what happens silently where it is not set."""


def shared_arguments(plan: "Plan", settings: TrainingSettings, folder: Path) -> dict[str, Any]:
    """Arguments that both of TRL's configurations take; the trainers add what only theirs knows.

    Args:
        plan: its steps end the training, whatever number of epochs they are.
        settings: as registered; the bound on the gradient's norm is passed on, since TRL's own 1.0 would hide
            differences in the scale of credit.
        folder: TRL wants one; nothing is written into it.
    """
    return {
        **{name: value for name, (value, _) in CLOSED.items()},
        "output_dir": str(folder),
        "max_steps": plan.steps,
        "per_device_train_batch_size": plan.batch,
        "learning_rate": settings.learning_rate,
        "weight_decay": settings.weight_decay,
        "max_grad_norm": settings.max_grad_norm,
        "seed": settings.seed,
    }
