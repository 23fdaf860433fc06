"""How much a plan or a training run gives the optimizer, in slots, tokens and weight."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise_budget.errors import BudgetError

__all__ = ["Dose", "PlannedDose", "Slots", "counted_dose", "kish", "planned_dose", "repetition"]


class Slots(Protocol):
    """The part of a plan that doses are taken from."""

    @property
    def example(self) -> NDArray[np.int64]:
        """(S,) turn of the batch."""
        ...

    @property
    def weight(self) -> NDArray[np.float64]:
        """(S,) signed credit."""
        ...

    @property
    def token_weight(self) -> NDArray[np.float64]:
        """(tokens,) credit of tokens, NaN outside the loss; empty where slots have one weight each."""
        ...

    @property
    def steps(self) -> int:
        """Number of optimizer steps."""
        ...


@dataclass(frozen=True)
class PlannedDose:
    """What a plan is to give; every count is exact.

    Attributes:
        slots: slots in all.
        optimizer_steps: optimizer steps in all.
        unique_examples: different examples among them.
        tokens_in_loss: tokens of all slots.
        weight_abs: sum of |w|.
        weight_sq: sum of w squared.
        ess: Kish's effective sample size of the slots, (sum |w|)^2 / sum w^2.
        ess_trajectories: the same of trajectories, each with the sum of its slots' |w|.
        ess_tasks: the same of tasks.
        trajectories: trajectories that any slot comes from.
        tasks: tasks that any slot comes from.
        zero_weight_slots: slots whose weight is 0.
        positive_slots: slots whose weight is above 0.
        repetition: times shown -> number of examples shown so often.
    """

    slots: int
    optimizer_steps: int
    unique_examples: int
    tokens_in_loss: int
    weight_abs: float
    weight_sq: float
    ess: float
    ess_trajectories: float
    ess_tasks: float
    trajectories: int
    tasks: int
    zero_weight_slots: int
    positive_slots: int
    repetition: dict[int, int]

    def to_json(self) -> dict[str, object]:
        """Return plain JSON values."""
        return _plain(asdict(self))

    @classmethod
    def from_json(cls, stored: Mapping[str, object]) -> Self:
        """Read what `to_json` wrote; BudgetError when fields are missing or unknown."""
        return cls(**_fields(cls, stored))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Dose:
    """What the optimizer really received, counted while training.

    Attributes:
        slots: rows in the loss.
        unique_examples: different examples among them.
        optimizer_steps: optimizer steps taken.
        micro_batches: forward-backward passes.
        tokens_in_loss: tokens with a weight in the loss.
        tokens_forward: tokens passed forward while training, prompts and padding included.
        weight_abs: sum of |w| over slots.
        weight_sq: sum of w squared over slots.
        ess: Kish's effective sample size, (sum |w|)^2 / sum w^2.
        zero_weight_slots: slots whose weight is 0.
        positive_slots: slots whose weight is above 0.
        grad_norm_mean: mean over steps of the gradient's norm before clipping.
        grad_norm_max: greatest of them.
        l2_from_start: distance of the parameters from where training began.
        kl_from_start: mean divergence from the starting policy in nats, None if not measured.
        repetition: times shown -> number of examples shown so often.
    """

    slots: int
    unique_examples: int
    optimizer_steps: int
    micro_batches: int
    tokens_in_loss: int
    tokens_forward: int
    weight_abs: float
    weight_sq: float
    ess: float
    zero_weight_slots: int
    positive_slots: int
    grad_norm_mean: float
    grad_norm_max: float
    l2_from_start: float
    kl_from_start: float | None
    repetition: dict[int, int]

    def to_json(self) -> dict[str, object]:
        """Return plain JSON values."""
        return _plain(asdict(self))

    @classmethod
    def from_json(cls, stored: Mapping[str, object]) -> Self:
        """Read what `to_json` wrote; BudgetError when fields are missing or unknown."""
        return cls(**_fields(cls, stored))  # type: ignore[arg-type]


def kish(weight: ArrayLike) -> float:
    """Return (sum |w|)^2 / sum w^2, the number of equal weights of the same precision; 0 without weight.

    Source: Kish 1965, "Survey Sampling".
    """
    # Scaled by the greatest first, so that tiny weights do not vanish when squared.
    magnitude = np.abs(np.asarray(weight, dtype=np.float64))
    largest = float(magnitude.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    scaled = magnitude / largest
    return float(scaled.sum() ** 2 / (scaled * scaled).sum())


def repetition(example: NDArray[np.int64]) -> dict[int, int]:
    """Return times shown -> number of examples shown so often."""
    _, shown = np.unique(example, return_counts=True)
    times, examples = np.unique(shown, return_counts=True)
    return dict(zip(times.tolist(), examples.tolist(), strict=True))


def planned_dose(
    plan: Slots, tokens: NDArray[np.int64], trajectory: NDArray[np.int64], task: NDArray[np.int64]
) -> PlannedDose:
    """Return what `plan` is to give; `tokens`, `trajectory` and `task` have one entry for each turn."""
    if not tokens.shape == trajectory.shape == task.shape or tokens.size <= int(plan.example.max()):
        message = (
            f"dose: expected tokens, trajectory and task for more than {int(plan.example.max())} turns, "
            f"got {tokens.shape}, {trajectory.shape} and {task.shape}"
        )
        raise BudgetError(message)
    weight = np.abs(plan.weight)
    by_trajectory = np.bincount(trajectory[plan.example], weight)
    by_task = np.bincount(task[plan.example], weight)
    return PlannedDose(
        slots=int(plan.example.size),
        optimizer_steps=plan.steps,
        unique_examples=int(np.unique(plan.example).size),
        tokens_in_loss=(
            int((~np.isnan(plan.token_weight)).sum())
            if plan.token_weight.size
            else int(tokens[plan.example].sum())
        ),
        weight_abs=float(weight.sum()),
        weight_sq=float((weight * weight).sum()),
        ess=kish(weight),
        ess_trajectories=kish(by_trajectory),
        ess_tasks=kish(by_task),
        trajectories=int(np.unique(trajectory[plan.example]).size),
        tasks=int(np.unique(task[plan.example]).size),
        zero_weight_slots=int((weight == 0).sum()),
        positive_slots=int((plan.weight > 0).sum()),
        repetition=repetition(plan.example),
    )


def counted_dose(
    example: NDArray[np.int64],
    weight: NDArray[np.float64],
    *,
    grad_norms: NDArray[np.float64],
    micro_batches: int,
    tokens_in_loss: int,
    tokens_forward: int,
    displacement: tuple[float, float | None],
) -> Dose:
    """Return the dose of the rows that the loss really saw.

    Args:
        example: (S,) examples in the order in which the loss saw them.
        weight: (S,) the weights they had there.
        grad_norms: (steps,) norm of the gradient at each optimizer step.
        micro_batches: forward-backward passes.
        tokens_in_loss: tokens with a weight in the loss.
        tokens_forward: tokens passed forward.
        displacement: distance of the parameters from the start, and divergence from it or None.
    """
    magnitude = np.abs(weight)
    return Dose(
        slots=int(example.size),
        unique_examples=int(np.unique(example).size),
        optimizer_steps=int(grad_norms.size),
        micro_batches=micro_batches,
        tokens_in_loss=tokens_in_loss,
        tokens_forward=tokens_forward,
        weight_abs=float(magnitude.sum()),
        weight_sq=float((magnitude * magnitude).sum()),
        ess=kish(weight),
        zero_weight_slots=int((weight == 0).sum()),
        positive_slots=int((weight > 0).sum()),
        grad_norm_mean=float(grad_norms.mean()) if grad_norms.size else 0.0,
        grad_norm_max=float(grad_norms.max(initial=0.0)),
        l2_from_start=displacement[0],
        kl_from_start=displacement[1],
        repetition=repetition(example),
    )


def _plain(values: dict[str, object]) -> dict[str, object]:
    times = values["repetition"]
    assert isinstance(times, dict)
    return values | {"repetition": {str(shown): examples for shown, examples in times.items()}}


def _fields(kind: type[Dose] | type[PlannedDose], stored: Mapping[str, object]) -> dict[str, object]:
    expected = {field.name for field in fields(kind)}
    if set(stored) != expected or not isinstance(stored["repetition"], Mapping):
        wrong = sorted(expected ^ set(stored)) or ["repetition"]
        message = f"{kind.__name__}: expected exactly its fields, these differ: {', '.join(wrong)}"
        raise BudgetError(message)
    times = {int(shown): int(examples) for shown, examples in stored["repetition"].items()}
    return dict(stored) | {"repetition": times}
