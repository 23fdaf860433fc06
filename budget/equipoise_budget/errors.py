"""What can go wrong when a budget is planned, spent or checked."""

__all__ = ["BudgetError", "BudgetExceeded", "BudgetRefused", "EmptyBudget"]


class BudgetError(ValueError):
    """A budget or a plan contradicts itself, or does not fit the examples it is made of."""


class BudgetRefused(BudgetError):  # noqa: N818 - named after what happened
    """What a rule leaves cannot meet the registered budget: an end of its cell, not a fault of the program."""


class EmptyBudget(BudgetRefused):  # named after what is wrong with the budget
    """There is not one example to fill a plan with."""


class BudgetExceeded(BudgetRefused):  # named after what happened
    """More was spent than a meter allows: the work that spends ends there.

    Attributes:
        meter: the name of the meter that tripped.
        unit: what it counts.
        limit: what it allows.
        usage: what was spent, the spending that tripped it included.
    """

    def __init__(self, meter: str, unit: str, limit: float, usage: float) -> None:
        self.meter, self.unit, self.limit, self.usage = meter, unit, limit, usage
        super().__init__(
            f"meter '{meter}': expected at most {limit:.15g} {unit}, spent {usage:.15g}; "
            f"raise {meter} by at least {usage - limit:.15g}, or do less"
        )
