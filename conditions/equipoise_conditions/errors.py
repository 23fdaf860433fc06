"""What can go wrong when trajectories are read and credit is assigned."""

__all__ = ["CrossedParameters", "FaultyPlugIn", "MissingNeed", "RuleError", "UndeclaredNeed"]


class RuleError(ValueError):
    """Trajectories, credit or a rule's parameters are not what a rule can work with."""


class CrossedParameters(RuleError):  # noqa: N818 - named after what is wrong
    """Parameters that are each such as they should be do not go together.

    Args:
        rule: whose they are.
        faults: one sentence a fault, which begins with the name of a parameter and a colon.
    """

    def __init__(self, rule: str, faults: tuple[str, ...]) -> None:
        self.faults = faults
        super().__init__(f"rule '{rule}': " + "; ".join(faults))


class UndeclaredNeed(RuleError):  # noqa: N818 - named after what is wrong with the need
    """A rule touched something of its context that its needs do not declare."""


class MissingNeed(RuleError):  # noqa: N818 - named after what is wrong with the need
    """A rule declared a need that the context does not hold."""


class FaultyPlugIn(RuleError):  # noqa: N818 - named after what is wrong
    """An installed package offers a rule that cannot be used."""
