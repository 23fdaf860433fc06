"""The one error of the inference: records or questions that cannot be analysed."""

from __future__ import annotations

from collections.abc import Iterable


class StatsError(ValueError):
    """Records or a question that cannot be analysed, with every fault found.

    Attributes:
        faults: one sentence per fault, in the order in which they were found.
    """

    def __init__(self, faults: str | Iterable[str]) -> None:
        self.faults: tuple[str, ...] = (faults,) if isinstance(faults, str) else tuple(faults)
        super().__init__("\n".join(self.faults))
