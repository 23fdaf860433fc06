"""How a run of the queue can end without being at fault."""

from equipoise.errors import EquipoiseError

__all__ = ["Interrupted"]


class Interrupted(EquipoiseError):  # noqa: N818 - named for what happened, like KeyboardInterrupt
    """A signal stopped the queue; everything finished is kept and the rest was given back."""

    def __init__(self, signal: str, done: int, total: int, released: int) -> None:
        self.signal = signal
        self.done = done
        self.total = total
        self.released = released
        super().__init__(
            f"stopped by {signal}: {done} of {total} jobs are done and kept, {released} running ones were"
            " given back; run the same command again to continue"
        )
