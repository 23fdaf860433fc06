"""The settings of the GRPO family, in TRL's words."""

from dataclasses import dataclass
from typing import Literal, get_args

from equipoise.errors import ExecutionError

__all__ = ["LOSS_TYPES", "GRPOLossSettings", "ImportanceSamplingLevel", "LossType"]

LossType = Literal["grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"]
ImportanceSamplingLevel = Literal["token", "sequence"]
LOSS_TYPES: tuple[LossType, ...] = get_args(LossType)


@dataclass(frozen=True)
class GRPOLossSettings:
    """What a member of the GRPO family is made of; names and defaults are TRL's (`GRPOConfig`, 1.16.0).

    Attributes:
        loss_type: how a token's loss is formed and what the sum is divided by.

            - `grpo` (arXiv 2402.03300): clipped; mean over each row's tokens, then over rows.
            - `bnpo`: clipped; mean over the tokens of the micro-batch.
            - `dr_grpo` (arXiv 2503.20783): clipped; divided by rows times `max_completion_length`.
            - `dapo` (arXiv 2503.14476): clipped; mean over the tokens of the generation batch.
            - `cispo` (arXiv 2506.13585): log-probability weighted by the ratio cut at `epsilon_high`; as `dapo`.
            - `sapo` (arXiv 2511.20347): a sigmoid gate in place of the clip; averaged as `grpo`.
            - `luspo` (arXiv 2602.05261): clipped; sum over each row's tokens, mean over rows.
            - `vespo` (arXiv 2602.10693): log-probability weighted by a gamma kernel of the sequence's ratio; as
              `dapo`.
        importance_sampling_level: `token`: a ratio a token. `sequence`: one a row, the geometric mean of its
            tokens' (GSPO, arXiv 2507.18071). `vespo` always takes the product over the sequence.
        beta: weight of the divergence from the reference policy, a nat.
        epsilon: how far below 1 the ratio may fall, and above if `epsilon_high` is None.
        epsilon_high: how far above 1 the ratio may rise; for `cispo` the largest ratio itself, NOT 1 more.
        delta: largest ratio of the unclipped branch, which bounds negative advantages (arXiv 2505.07291).
        sapo_temperature_pos: of the gate at advantages above 0. `sapo_temperature_neg`: at the others.
        vespo_k_pos: power of the ratio at advantages of at least 0. `vespo_k_neg`: at the others.
        vespo_lambda_pos: decay with the ratio at advantages of at least 0. `vespo_lambda_neg`: at the others.
        max_completion_length: tokens; needed by `dr_grpo` only.
        gradient_accumulation_steps: micro-batches of an optimizer step, whose gradients are added.
        steps_per_generation: micro-batches that one batch of generations is cut into.
    """

    loss_type: LossType = "dapo"
    importance_sampling_level: ImportanceSamplingLevel = "token"
    beta: float = 0.0
    epsilon: float = 0.2
    epsilon_high: float | None = None
    delta: float | None = None
    sapo_temperature_pos: float = 1.0
    sapo_temperature_neg: float = 1.05
    vespo_k_pos: float = 2.0
    vespo_lambda_pos: float = 3.0
    vespo_k_neg: float = 3.0
    vespo_lambda_neg: float = 2.0
    max_completion_length: int | None = None
    gradient_accumulation_steps: int = 1
    steps_per_generation: int = 1

    @property
    def upper(self) -> float:
        """The upper epsilon, which defaults to the lower."""
        return self.epsilon if self.epsilon_high is None else self.epsilon_high

    def __post_init__(self) -> None:
        if self.loss_type not in LOSS_TYPES:
            raise ExecutionError(
                f"expected one of {', '.join(LOSS_TYPES)} as loss_type, got {self.loss_type!r}"
            )
        if self.importance_sampling_level not in get_args(ImportanceSamplingLevel):
            got = self.importance_sampling_level
            raise ExecutionError(f"expected token or sequence as importance_sampling_level, got {got!r}")
        if self.loss_type == "dr_grpo" and self.max_completion_length is None:
            raise ExecutionError("expected max_completion_length for dr_grpo, which divides by it, got None")
        self._check_ranges()

    def _check_ranges(self) -> None:
        for name in ("beta", "epsilon", "epsilon_high", "vespo_lambda_pos", "vespo_lambda_neg"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ExecutionError(f"expected {name} of at least 0, got {value}")
        above = ("delta", "sapo_temperature_pos", "sapo_temperature_neg")
        counts = ("max_completion_length", "gradient_accumulation_steps", "steps_per_generation")
        for name in (*above, *counts):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ExecutionError(f"expected {name} above 0, got {value}")
