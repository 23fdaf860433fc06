"""MLflow beside a running suite, as a context: started once the store has the suite, ended after its report."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from equipoise.tracking.companion import Companion, start_companion
from equipoise.tracking.embedded import is_embedded, tracking_uri

__all__ = ["Beside"]


class Beside:
    """The companion of one run of a suite.

    Args:
        home: the project folder.
        uri: the tracking server; by default the folder's own database.

    Attributes:
        address: where MLflow's data go.
        embedded: whether that is the folder's own database.
        summary: what the syncs did; empty until the context is left without an error.
    """

    def __init__(self, home: Path, uri: str | None) -> None:
        self._home, self._uri = home, uri
        self._companion: Companion | None = None
        self.address = tracking_uri(home, uri)
        self.embedded = is_embedded(home, self.address)
        self.summary = ""

    @contextmanager
    def started(self) -> Iterator[None]:
        """Start the companion; the store must exist by now."""
        self._companion = start_companion(self._home, self._uri)
        yield

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._companion is None:
            return
        if error is None:
            self.summary = self._companion.stop()
        else:
            self._companion.leave()
