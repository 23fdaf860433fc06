"""How much a plan or a training run gives the optimizer, in slots, tokens and weight."""

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise_budget.errors import BudgetError

__all__ = [
    "Dose",
    "PlannedDose",
    "Slots",
    "counted_dose",
    "kish",
    "kish_of_sums",
    "planned_dose",
    "repetition",
    "with_levels",
]


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
    def padding(self) -> NDArray[np.bool_]:
        """(S,) whether a slot shows no example."""
        ...

    @property
    def token_padding(self) -> NDArray[np.bool_]:
        """(tokens,) whether a token's slot shows no example; empty where slots have one weight each."""
        ...

    @property
    def steps(self) -> int:
        """Number of optimizer steps."""
        ...

    @property
    def mass(self) -> float:
        """Weight mass."""
        ...


@dataclass(frozen=True)
class PlannedDose:
    """What a plan is to give; every count is exact.

    Attributes:
        slots: slots in all.
        optimizer_steps: optimizer steps in all.
        unique_examples: different examples among them; padding shows none.
        tokens_in_loss: tokens of all slots that show an example.
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
        padding_slots: slots that show no example; among those of weight 0.
        ess_tokens: Kish's effective sample size of the tokens in the loss, each with its own weight.
        weight_mass: what is matched as weight mass, see `equipoise_budget.plan.mass_of`.
        padding_tokens: tokens of the slots that show none: they pass through the model and are in no loss.
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
    padding_slots: int = 0
    ess_tokens: float | None = None
    weight_mass: float | None = None
    padding_tokens: int = 0

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
        padding_slots: rows that showed no example.
        ess_tokens: Kish's effective sample size of the tokens in the loss; this and the next are None where they
            were not counted.
        weight_mass: what is matched as weight mass, see `equipoise_budget.plan.mass_of`.
        ess_trajectories: Kish's effective sample size of trajectories, each with the sum of its rows' |w|.
        ess_tasks: the same of tasks.
        padding_tokens: tokens of the rows that showed no example; they are in no loss.
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
    padding_slots: int = 0
    ess_tokens: float | None = None
    weight_mass: float | None = None
    ess_trajectories: float | None = None
    ess_tasks: float | None = None
    padding_tokens: int = 0

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


def kish_of_sums(weight_abs: float, weight_sq: float) -> float:
    """Return Kish's effective sample size from sum |w| and sum w^2; 0 without weight."""
    return weight_abs * weight_abs / weight_sq if weight_sq > 0 else 0.0


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
    shown = plan.example[~plan.padding]
    in_loss, idle = _tokens(plan, tokens)
    return PlannedDose(
        slots=int(plan.example.size),
        optimizer_steps=plan.steps,
        unique_examples=int(np.unique(shown).size),
        tokens_in_loss=in_loss,
        weight_abs=float(weight.sum()),
        weight_sq=float((weight * weight).sum()),
        ess=kish(weight),
        ess_trajectories=kish(by_trajectory),
        ess_tasks=kish(by_task),
        trajectories=int(np.unique(trajectory[shown]).size),
        tasks=int(np.unique(task[shown]).size),
        zero_weight_slots=int((weight == 0).sum()),
        positive_slots=int((plan.weight > 0).sum()),
        repetition=repetition(shown),
        padding_slots=int(plan.padding.sum()),
        ess_tokens=_ess_tokens(plan, tokens),
        weight_mass=plan.mass,
        padding_tokens=idle,
    )


def _tokens(plan: Slots, tokens: NDArray[np.int64]) -> tuple[int, int]:
    """Tokens in the loss, and those that would be if their slots showed an example."""
    if plan.token_weight.size:
        known, idle = ~np.isnan(plan.token_weight), plan.token_padding
        return int((known & ~idle).sum()), int((known & idle).sum())
    own = tokens[plan.example]
    return int(own[~plan.padding].sum()), int(own[plan.padding].sum())


def _ess_tokens(plan: Slots, tokens: NDArray[np.int64]) -> float:
    if plan.token_weight.size:
        return kish(plan.token_weight[~np.isnan(plan.token_weight)])
    return kish(np.repeat(plan.weight, tokens[plan.example]))


def counted_dose(
    example: NDArray[np.int64],
    weight: NDArray[np.float64],
    *,
    grad_norms: NDArray[np.float64],
    micro_batches: int,
    tokens_in_loss: int,
    tokens_forward: int,
    displacement: tuple[float, float | None],
    padding_tokens: int = 0,
) -> Dose:
    """Return the dose of the rows that the loss really saw.

    Args:
        example: (S,) examples in the order in which the loss saw them; -1 where a row showed none.
        weight: (S,) the weights they had there.
        grad_norms: (steps,) norm of the gradient at each optimizer step.
        micro_batches: forward-backward passes.
        tokens_in_loss: tokens with a weight in the loss.
        tokens_forward: tokens passed forward.
        displacement: distance of the parameters from the start, and divergence from it or None.
        padding_tokens: tokens of rows that showed no example, which would be in the loss if they did.
    """
    magnitude = np.abs(weight)
    shown = example[example >= 0]
    return Dose(
        slots=int(example.size),
        unique_examples=int(np.unique(shown).size),
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
        repetition=repetition(shown),
        padding_slots=int(example.size - shown.size),
        padding_tokens=padding_tokens,
    )


def with_levels(
    dose: Dose,
    slots: tuple[NDArray[np.int64], NDArray[np.float64]],
    tokens: tuple[float, float],
    *,
    of_tokens: bool,
    trajectory: NDArray[np.int64],
    task: NDArray[np.int64],
) -> Dose:
    """Return a counted dose with what it is at the levels of tokens, trajectories and tasks.

    Args:
        dose: of the rows.
        slots: (S,) examples and (S,) weights, as counted.
        tokens: sum of |w| and sum of w squared over the tokens in the loss, as counted.
        of_tokens: whether tokens had weights of their own, which the weight mass is then made of.
        trajectory: (T,) trajectory of each turn.
        task: (T,) task of each turn.
    """
    example, weight = slots
    shown = example >= 0
    magnitude = np.abs(weight[shown])
    # Empty slots count with weight 0, so that padding to a budget does not change the mass.
    mean = tokens[0] / max(1, dose.tokens_in_loss + dose.padding_tokens)
    mass = dose.slots * mean if of_tokens else dose.weight_abs
    return replace(
        dose,
        ess_tokens=kish_of_sums(*tokens),
        weight_mass=mass,
        ess_trajectories=kish(np.bincount(trajectory[example[shown]], magnitude)),
        ess_tasks=kish(np.bincount(task[example[shown]], magnitude)),
    )


def _plain(values: dict[str, object]) -> dict[str, object]:
    times = values["repetition"]
    assert isinstance(times, dict)
    return values | {"repetition": {str(shown): examples for shown, examples in times.items()}}


def _fields(kind: type[Dose] | type[PlannedDose], stored: Mapping[str, object]) -> dict[str, object]:
    expected = {field.name for field in fields(kind)}
    # What was added later has a default, and results from before lack it.
    required = {field.name for field in fields(kind) if field.default is MISSING}
    if not required <= set(stored) <= expected or not isinstance(stored["repetition"], Mapping):
        wrong = sorted((required - set(stored)) | (set(stored) - expected)) or ["repetition"]
        message = f"{kind.__name__}: expected exactly its fields, these differ: {', '.join(wrong)}"
        raise BudgetError(message)
    times = {int(shown): int(examples) for shown, examples in stored["repetition"].items()}
    return dict(stored) | {"repetition": times}
