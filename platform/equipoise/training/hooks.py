"""What both trainers add to TRL's: a fixed order, counts of what was done, and an end where it stops being finite."""

import math
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import SequentialSampler
from transformers import Trainer

from equipoise.errors import ExecutionError
from equipoise.training.counts import Counts
from equipoise.training.displacement import Moved, Watch
from equipoise_budget.plan import Plan

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["CountedTrainer", "DivergedError", "refuse_dropout"]


Clip = tuple[float, float] | None


class DivergedError(Exception):
    """The loss or the gradient stopped being finite: a result of the run, not a failure of the machine."""


class CountedTrainer(Trainer):  # type: ignore[misc] # transformers is not followed
    """Stands before a trainer of TRL's in the order of inheritance.

    Args:
        model: trained in place.
        plan: slots in the order in which they are presented.
        others: of TRL's trainer.

    Raises:
        ExecutionError: if the model draws dropout, or the process computes in half precision: both change the
            training of some cells more than that of others, and neither is registered.
    """

    def __init__(self, model: "Qwen3ForCausalLM", plan: Plan, **others: Any) -> None:
        refuse_dropout(model)
        self.counts = Counts()
        self.carried: dict[str, Any] | None = None
        self.watch: Watch | None = None
        self.arrived = False
        self._plan, self._policy = plan, model
        self._sound: list[torch.Tensor] = []
        super().__init__(model=model, **others)
        precision = self.accelerator.mixed_precision
        if precision != "no":
            message = (
                f"expected training in full precision, got {precision}; "
                "is ACCELERATE_MIXED_PRECISION set in the environment? Unset it"
            )
            raise ExecutionError(message)

    def create_optimizer(self, *args: Any, **kwargs: Any) -> torch.optim.Optimizer:
        """TRL's optimizer, its moments those of the round before where there is one, with a hook on its steps."""
        optimizer: torch.optim.Optimizer = super().create_optimizer(*args, **kwargs)
        if self.carried is not None:
            optimizer.load_state_dict(self.carried)
        optimizer.register_step_post_hook(self._count_step)
        return optimizer

    def _count_step(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        moved = Moved() if self.watch is None else self.watch.after(len(self.counts.ledger) + 1, self._policy)
        self.counts.step(float(optimizer.param_groups[0]["lr"]), kl=moved.kl, l2=moved.l2)
        if moved.arrived:
            self.arrived = self.control.should_training_stop = True

    def _get_train_sampler(self, *_: object, **__: object) -> SequentialSampler:
        return SequentialSampler(range(self._plan.slots))

    def book(
        self, batch: dict[str, torch.Tensor], logprobs: torch.Tensor, loss: torch.Tensor, clip: Clip
    ) -> None:
        """Count the rows of one forward pass, if its loss is finite.

        Args:
            batch: made by `SlotCollator`.
            logprobs: (A,) of its action tokens, under the policy as it is.
            loss: a scalar.
            clip: of the ratio; None where there is none.
        """
        if not torch.isfinite(loss):
            message = f"the loss became {loss.item()} at optimizer step {len(self.counts.ledger) + 1}"
            raise DivergedError(message)
        known = ~torch.isnan(batch["token_weight"])
        shown = batch["example"][batch["row"]] >= 0
        inside = known & shown
        self.counts.padded(int((known & ~shown).sum()))
        weight = batch["token_weight"][inside]
        self.counts.rows(
            examples=batch["example"].tolist(),
            weights=batch["weight"].tolist(),
            lengths=batch["mask"].sum(dim=1).tolist(),
            tokens=int(inside.sum()),
            loss=float(loss.detach()),
            token_weights=weight.tolist(),
            clipped=None if clip is None else _clipped(logprobs[inside], batch["old"][inside], weight, clip),
        )

    def training_step(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """One forward and backward pass, and the norm of its gradient before it is clipped."""
        loss: torch.Tensor = super().training_step(*args, **kwargs)
        gradients = [p.grad for p in self._policy.parameters() if p.grad is not None]
        norm = float(torch.nn.utils.get_total_norm(gradients))
        self.counts.gradient(norm)
        if not math.isfinite(norm):
            message = f"the gradient norm became {norm} at optimizer step {len(self.counts.ledger) + 1}"
            raise DivergedError(message)
        self._sound = [p.detach().clone() for p in self._policy.parameters()]
        return loss

    def check_weights(self) -> None:
        """End as diverged if the last step left weights that are not finite: no later loss would tell."""
        if not all(bool(torch.isfinite(p).all()) for p in self._policy.parameters()):
            message = f"the weights stopped being finite at optimizer step {len(self.counts.ledger)}"
            raise DivergedError(message)

    @property
    def moments(self) -> dict[str, Any]:
        """What the optimizer remembers after training."""
        optimizer = self.optimizer
        assert isinstance(optimizer, torch.optim.Optimizer)
        return optimizer.state_dict()

    def undo(self) -> None:
        """Put back the last weights whose loss and gradient were finite; none are kept before the first step."""
        with torch.no_grad():
            for parameter, kept in zip(self._policy.parameters(), self._sound, strict=False):
                parameter.copy_(kept)

    def log(self, *_: object, **__: object) -> None:
        """Nothing is logged from here: the counts are the record."""


def _clipped(
    logprobs: torch.Tensor, old: torch.Tensor, weight: torch.Tensor, clip: tuple[float, float]
) -> int:
    """Tokens that the clip held back: their ratio has left its bounds on the side to which their credit pushes it.

    Elsewhere ``min(w r, w clip(r))`` is ``w r``, and the clip changes nothing. Source: Schulman et al., arXiv
    1707.06347, section 3; as TRL counts its `clip_ratio/region_mean`.
    """
    ratio = (logprobs.detach() - old.to(logprobs.dtype)).exp()
    held = ((ratio < 1 - clip[0]) & (weight < 0)) | ((ratio > 1 + clip[1]) & (weight > 0))
    return int(held.sum())


def refuse_dropout(model: torch.nn.Module) -> None:
    """Raise ExecutionError if a model in training mode would draw random numbers.

    TRL's `disable_dropout` is no help: it knows modules only, and attention keeps its rate in an attribute.
    """
    for name, module in model.named_modules():
        rate = module.p if isinstance(module, torch.nn.Dropout) else getattr(module, "attention_dropout", 0.0)
        if rate:
            where = name or type(module).__name__
            message = f"expected a model without dropout, got a rate of {rate} in {where}; set it to 0"
            raise ExecutionError(message)
