"""What can go wrong between a worker and the database, beyond the database itself."""

from equipoise.errors import StoreError

__all__ = ["BadResult", "NotReproduced", "StaleLease"]


class StaleLease(StoreError):  # noqa: N818 - named for what the lease is
    """The job was given to somebody else (or ended) since this lease was taken; what it brings is refused."""


class BadResult(StoreError):  # noqa: N818 - named for what came
    """A result cannot be stored as it is; the code that made it is at fault."""


class NotReproduced(StoreError):  # noqa: N818 - named for what happened
    """A finished job was run again, for a damaged file, and gave other bytes than the first time."""
