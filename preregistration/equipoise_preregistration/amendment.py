"""What is added to a registration after it was made: a line of its own in the chain, with its reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from equipoise_preregistration.canon import canonical_json
from equipoise_preregistration.errors import SuiteError

__all__ = ["KIND", "Amendment", "draft_amendment", "thaw_amendment"]

KIND = "amendment"
"""What the entry of an amendment says it is; registrations say nothing."""


@dataclass(frozen=True)
class Amendment:
    """An addition to one registration. The registration's own line stays as it was.

    Attributes:
        registration: Hash of the registration it belongs to.
        reason: Why it was made, in a sentence.
        content: What it adds, by topic (`tuning`).
        amended_at: When, in UTC.
        previous: Entry hash of the line before in the chain.
    """

    registration: str
    reason: str
    amended_at: datetime
    previous: str
    content: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """As it stands in the chain."""
        return {
            "kind": KIND,
            "registration": self.registration,
            "reason": self.reason,
            "content": dict(self.content),
            "amended_at": self.amended_at.isoformat().replace("+00:00", "Z"),
        }

    def says(self, reason: str, content: Mapping[str, Any]) -> bool:
        """Whether it has this reason and this content, whenever it was made."""
        return self.reason == reason and canonical_json(self.content) == canonical_json(content)


def draft_amendment(
    registration: str, reason: str, content: Mapping[str, Any], now: datetime, previous: str
) -> Amendment:
    """An amendment that can be chained.

    Raises:
        SuiteError: If it has no reason or no content, or its time does not say its zone.
    """
    if not reason.strip() or not content:
        message = f"expected an amendment with a reason and a content, got {reason!r} and {dict(content)!r}"
        raise SuiteError(message)
    if now.tzinfo is None:
        message = f"expected a time with its zone, got {now.isoformat()} without; pass datetime.now(UTC)"
        raise SuiteError(message)
    return Amendment(registration, reason, now.astimezone(UTC), previous, dict(content))


def thaw_amendment(entry: Mapping[str, Any], previous: str) -> Amendment:
    """An amendment out of its line in the chain.

    Raises:
        KeyError, TypeError, ValueError: If the line is not that of an amendment.
    """
    return Amendment(
        registration=str(entry["registration"]),
        reason=str(entry["reason"]),
        amended_at=datetime.fromisoformat(entry["amended_at"]),
        previous=previous,
        content=dict(entry["content"]),
    )
