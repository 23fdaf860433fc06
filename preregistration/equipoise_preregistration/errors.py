"""What can be wrong with a suite, its registration or the chain of registrations."""

from equipoise_preregistration.faults import Fault, render

__all__ = ["ChainError", "NotRegisteredError", "SuiteError"]


class SuiteError(Exception):
    """Root of this package's errors; for a file of a suite it carries every fault found in it.

    Args:
        faults: The faults, or one sentence where there is no place to point at.
        file: Name of the file as the user wrote it.
    """

    def __init__(self, faults: str | tuple[Fault, ...], file: str = "") -> None:
        self.faults: tuple[Fault, ...] = () if isinstance(faults, str) else faults
        self.file = file
        super().__init__(faults if isinstance(faults, str) else render(faults, file))


class NotRegisteredError(SuiteError):
    """Something was asked for that only a registered suite may do."""


class ChainError(SuiteError):
    """The chain of registrations does not hold: a line was changed, cut, moved or removed."""
