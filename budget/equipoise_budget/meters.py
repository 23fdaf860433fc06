"""Meters that are charged while work is done, nest, and say which of them tripped."""

from contextvars import ContextVar, Token
from types import TracebackType
from typing import Self

from equipoise_budget.errors import BudgetError, BudgetExceeded

__all__ = ["Meter"]

_open: ContextVar[tuple["Meter", ...]] = ContextVar("open_meters", default=())


class Meter:
    """A meter of one unit. What is spent on it is charged to every enclosing meter of that unit too.

    Attributes:
        name: what a tripped limit is reported as.
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
