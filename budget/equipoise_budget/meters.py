"""Meters that are charged while work is done, nest, and say which of them tripped."""

from collections.abc import Mapping
from contextlib import ExitStack
from contextvars import ContextVar, Token
from dataclasses import fields
from types import TracebackType
from typing import Self

from equipoise_budget.errors import BudgetError, BudgetExceeded
from equipoise_budget.ledger import Cost

__all__ = ["Meter", "Meters", "charge"]

_open: ContextVar[tuple["Meter", ...]] = ContextVar("open_meters", default=())


class Meter:
    """A meter of one unit. What is spent on it is charged to every enclosing meter of that unit too.

    Attributes:
        name: what a tripped limit is reported as; best the key that sets it.
        limit: what may be spent, None for a meter that only counts.
        unit: what is counted.
        usage: what was spent, inner meters included.

    Examples:
        >>> with Meter("suite", limit=100) as suite, Meter("block", limit=60) as block:
        ...     block.spend(40)
        >>> suite.usage, suite.remaining
        (40, 60)
    """

    def __init__(self, name: str = "meter", limit: float | None = None, *, unit: str = "tokens") -> None:
        if limit is not None and not limit >= 0:
            message = f"meter '{name}': expected a limit of at least 0 or none, got {limit}"
            raise BudgetError(message)
        self.name, self.limit, self.unit = name, limit, unit
        self.usage: float = 0
        self._around: tuple[Meter, ...] = ()
        self._token: Token[tuple[Meter, ...]] | None = None

    def __enter__(self) -> Self:
        if self._token is not None:
            message = f"meter '{self.name}': expected a meter that is not running; make a new one"
            raise BudgetError(message)
        running = _open.get()
        self._around = tuple(meter for meter in reversed(running) if meter.unit == self.unit)
        self._token = _open.set((*running, self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._token is not None:
            _open.reset(self._token)
        self._token = None

    @property
    def remaining(self) -> float | None:
        """What may still be spent here and in every enclosing meter; None without any limit."""
        left = [
            max(meter.limit - meter.usage, 0) for meter in (self, *self._around) if meter.limit is not None
        ]
        return min(left) if left else None

    def spend(self, amount: float) -> None:
        """Charge `amount` here and to every enclosing meter of the unit.

        What was spent stays counted when a limit trips: it has been spent.

        Raises:
            BudgetExceeded: naming the innermost meter whose limit is passed.
            BudgetError: when the amount is negative, or the meter is not running.
        """
        if self._token is None:
            message = f"meter '{self.name}': expected to be running; spend inside its `with` block"
            raise BudgetError(message)
        if not amount >= 0:
            message = f"meter '{self.name}': expected at least 0 {self.unit}, got {amount}"
            raise BudgetError(message)
        charged = (self, *self._around)
        for meter in charged:
            meter.usage += amount
        for meter in charged:
            if meter.limit is not None and meter.usage > meter.limit:
                raise BudgetExceeded(meter.name, meter.unit, meter.limit, meter.usage)


_UNITS = tuple(column.name for column in fields(Cost) if column.name != "seconds")


class Meters:
    """A meter for each count of a `Cost`, running together. Inside them `charge` spends on all.

    Attributes:
        meters: by unit.

    Examples:
        >>> with Meters("budget.generation", {"rollout_tokens": 100}) as whole, Meters("refill") as refill:
        ...     _ = charge(Cost(rollout_tokens=70, environment_steps=9))
        >>> refill.cost.environment_steps, whole.remaining
        (9, {'rollout_tokens': 30})
    """

    def __init__(self, name: str, limits: Mapping[str, float] | None = None) -> None:
        allowed = dict(limits or {})
        unknown = [unit for unit in allowed if unit not in _UNITS]
        if unknown:
            message = (
                f"meters '{name}': expected limits of {', '.join(_UNITS)}, got one of {', '.join(unknown)}"
            )
            raise BudgetError(message)
        self.meters = {unit: Meter(f"{name}.{unit}", allowed.get(unit), unit=unit) for unit in _UNITS}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for meter in self.meters.values():
            self._stack.enter_context(meter)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def cost(self) -> Cost:
        """What was spent, that which tripped a limit included."""
        return Cost(
            **{
                unit: meter.usage if unit == "flops" else int(meter.usage)
                for unit, meter in self.meters.items()
            }  # type: ignore[arg-type]
        )

    @property
    def remaining(self) -> dict[str, float]:
        """What may still be spent here and in all enclosing meters, of every unit that has a limit in any."""
        left = {unit: meter.remaining for unit, meter in self.meters.items()}
        return {unit: amount for unit, amount in left.items() if amount is not None}


def charge(cost: Cost) -> Cost:
    """Spend a cost on the innermost running meter of each unit, and so on all around it; return it.

    Where no meter of a unit runs, nothing is counted.

    Raises:
        BudgetExceeded: the first limit that is passed, in the order of the columns of `Cost`. All of the cost stays
            counted: it has been spent.
    """
    inner = {meter.unit: meter for meter in _open.get()}
    tripped: list[BudgetExceeded] = []
    for unit in _UNITS:
        if unit in inner:
            try:
                inner[unit].spend(getattr(cost, unit))
            except BudgetExceeded as error:
                tripped.append(error)
    if tripped:
        raise tripped[0]
    return cost
