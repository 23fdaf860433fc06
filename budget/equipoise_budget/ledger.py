"""The ledger of one run: what each optimizer step received, and what obtaining the credit cost."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import Self

from equipoise_budget.errors import BudgetError

__all__ = ["COLUMNS", "Cost", "Ledger", "StepRow"]


@dataclass(frozen=True)
class StepRow:
    """One optimizer step, as the hooks counted it.

    Attributes:
        slots: rows in the loss.
        tokens: tokens with a weight in the loss; those of empty slots are not.
        weight_abs: sum of |w| over the rows.
        weight_sq: sum of w squared over the rows.
        ess: Kish's effective sample size of the rows.
        grad_norm: norm of the gradient before clipping.
        learning_rate: the rate that the step was taken with.
        loss: the loss of the step.
        unique_examples: different examples among the rows; padding shows none.
        micro_batches: forward-backward passes. This and what follows is None where it was not counted: in
            ledgers of earlier versions, at steps at which nothing was measured, and without a clip.
        kl_from_start: mean divergence from the policy before training, in nats, after the step.
        l2_from_start: distance of the parameters from where training began, after the step.
        clip_fraction: share of the tokens in the loss that the clip of the probability ratio held back.
    """

    slots: int
    tokens: int
    weight_abs: float
    weight_sq: float
    ess: float
    grad_norm: float
    learning_rate: float
    loss: float
    unique_examples: int
    micro_batches: int | None = None
    kl_from_start: float | None = None
    l2_from_start: float | None = None
    clip_fraction: float | None = None


COLUMNS = tuple(column.name for column in fields(StepRow))
_WHOLE = ("slots", "tokens", "unique_examples", "micro_batches")
_OPTIONAL = frozenset(column.name for column in fields(StepRow) if column.default is None)
_LATER = frozenset({"judge_calls", "judge_tokens", "critic_tokens"})


@dataclass(frozen=True)
class Cost:
    """What it cost to obtain the credit and to train on it; costs add up.

    Attributes:
        rollout_tokens: tokens sampled.
        environment_steps: actions executed.
        environment_resets: environments started or restored.
        scoring_tokens: tokens scored beyond sampling and training.
        forward_tokens_train: tokens passed forward while training.
        flops: floating point operations of the model, estimated.
        seconds: wall time by phase.
        judge_calls: questions put to a judge.
        judge_tokens: tokens that the judge read, or would read, to answer them.
        critic_tokens: tokens at which a critic was fitted, once for each fit that saw them; reading them to
            get there is scoring.
    """

    rollout_tokens: int = 0
    environment_steps: int = 0
    environment_resets: int = 0
    scoring_tokens: int = 0
    forward_tokens_train: int = 0
    flops: float = 0.0
    seconds: Mapping[str, float] = field(default_factory=dict)
    judge_calls: int = 0
    judge_tokens: int = 0
    critic_tokens: int = 0

    def __post_init__(self) -> None:
        numbers = {name: value for name, value in vars(self).items() if name != "seconds"}
        numbers |= {f"seconds[{phase}]": value for phase, value in self.seconds.items()}
        negative = [f"{name} = {value}" for name, value in numbers.items() if not 0 <= value < math.inf]
        if negative:
            message = f"cost: expected finite numbers of at least 0, got {', '.join(negative)}"
            raise BudgetError(message)
        object.__setattr__(self, "seconds", MappingProxyType(dict(self.seconds)))

    def __add__(self, other: "Cost") -> "Cost":
        """Return both costs together; phases of one name are added."""
        phases = dict(self.seconds)
        for phase, seconds in other.seconds.items():
            phases[phase] = phases.get(phase, 0.0) + seconds
        numbers = (column.name for column in fields(Cost) if column.name != "seconds")
        sums = {name: getattr(self, name) + getattr(other, name) for name in numbers}
        return Cost(seconds=phases, **sums)

    def to_json(self) -> dict[str, object]:
        """Return plain JSON values."""
        values: dict[str, object] = {column.name: getattr(self, column.name) for column in fields(self)}
        values["seconds"] = dict(self.seconds)
        return values

    @classmethod
    def from_json(cls, stored: Mapping[str, object]) -> Self:
        """Read what `to_json` wrote; BudgetError when fields are missing or unknown.

        Results from before judges and critics were counted lack those three fields: none was asked or fitted.
        """
        names = {column.name for column in fields(cls)}
        _expect("Cost", names - (_LATER - set(stored)), stored)
        return cls(**stored)  # type: ignore[arg-type]


class Ledger:
    """A book of optimizer steps: rows are added while training and never changed."""

    def __init__(self, rows: Iterable[StepRow] = ()) -> None:
        self._rows: list[StepRow] = []
        for row in rows:
            self.record(row)

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self._rows == other._rows

    __hash__ = None  # type: ignore[assignment]

    @property
    def rows(self) -> tuple[StepRow, ...]:
        """The steps so far, in order."""
        return tuple(self._rows)

    def record(self, row: StepRow) -> None:
        """Add one optimizer step; BudgetError on negative counts. A loss that diverged is recorded as is."""
        counts = {name: getattr(row, name) for name in (*_WHOLE, "weight_abs", "weight_sq", "ess")}
        negative = [name for name, value in counts.items() if value is not None and value < 0]
        if negative:
            message = f"step {len(self._rows)}: expected at least 0, got negative {', '.join(negative)}"
            raise BudgetError(message)
        self._rows.append(row)

    @property
    def steps(self) -> dict[str, list[float]]:
        """The steps as a table, one list a column of `COLUMNS`; the later ones may hold None."""
        return {name: [getattr(row, name) for row in self._rows] for name in COLUMNS}

    @classmethod
    def from_steps(cls, steps: Mapping[str, Sequence[float | None]]) -> Self:
        """Read a table as `steps` gives it, passed through JSON or not: what is not finite is null there.

        Tables of earlier versions lack the later columns.
        """
        given = [name for name in COLUMNS if name in steps or name not in _OPTIONAL]
        rows = zip(*(steps[name] for name in given), strict=True)
        return cls(
            StepRow(**{name: _measured(name, value) for name, value in zip(given, row, strict=True)})  # type: ignore[arg-type]
            for row in rows
        )

    def total(self, column: str) -> float:
        """Return the sum of one column over all steps; whole for counts.

        Raises:
            BudgetError: when there is no such column, or it is undefined at a step.
        """
        if column not in COLUMNS:
            message = f"ledger: expected a column of {', '.join(COLUMNS)}, got '{column}'"
            raise BudgetError(message)
        values = [getattr(row, column) for row in self._rows]
        if None in values:
            message = f"ledger: expected a {column} at every step, got none at step {values.index(None) + 1}"
            raise BudgetError(message)
        return sum(values) if column in _WHOLE else math.fsum(values)

    def to_json(self) -> str:
        """Return the steps as one JSON document; numbers that are not finite are written as words."""
        return json.dumps({"version": 1, "steps": [_worded(asdict(row)) for row in self._rows]})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; BudgetError when it is something else."""
        try:
            stored = json.loads(text)
        except json.JSONDecodeError as error:
            message = f"ledger: expected JSON written by to_json(), got something else ({error})"
            raise BudgetError(message) from error
        if not isinstance(stored, dict) or stored.get("version") != 1:
            message = "ledger: expected a document of version 1"
            raise BudgetError(message)
        rows = []
        for row in stored["steps"]:
            _expect("StepRow", set(COLUMNS) - (_OPTIONAL - set(row)), row)
            rows.append(StepRow(**{name: _number(name, value) for name, value in row.items()}))  # type: ignore[arg-type]
        return cls(rows)


def _worded(row: dict[str, float | None]) -> dict[str, float | str | None]:
    # JSON has no word for NaN or infinity, and a run that diverged is a result.
    return {
        name: value if value is None or math.isfinite(value) else str(value) for name, value in row.items()
    }


def _measured(name: str, value: float | None) -> float | None:
    return math.nan if value is None and name not in _OPTIONAL else value


def _number(name: str, value: object) -> float | None:
    if value is None and name in _OPTIONAL:
        return None
    if not isinstance(value, int | float | str):
        message = f"StepRow.{name}: expected a number, got {value!r}"
        raise BudgetError(message)
    return int(value) if name in _WHOLE else float(value)


def _expect(what: str, names: set[str], stored: Mapping[str, object]) -> None:
    if set(stored) != names:
        wrong = ", ".join(sorted(names ^ set(stored)))
        message = f"{what}: expected exactly its fields, these differ: {wrong}"
        raise BudgetError(message)
