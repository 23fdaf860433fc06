"""What can go wrong when trajectories are read and credit is assigned."""

__all__ = ["FaultyPlugIn", "MissingNeed", "RuleError", "UndeclaredNeed"]


class RuleError(ValueError):
    """Trajectories, credit or a rule's parameters are not what a rule can work with."""


class UndeclaredNeed(RuleError):  # noqa: N818 - named after what is wrong with the need
    """A rule touched something of its context that its needs do not declare."""


class MissingNeed(RuleError):  # noqa: N818 - named after what is wrong with the need
    """A rule declared a need that the context does not hold."""


class FaultyPlugIn(RuleError):  # noqa: N818 - named after what is wrong
    """An installed package offers a rule that cannot be used."""
