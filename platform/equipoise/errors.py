"""The program's tree of errors: what a user did or met, in one sentence that says how to mend it."""

__all__ = [
    "CodeError",
    "EquipoiseError",
    "ExecutionError",
    "HomeError",
    "IncompleteError",
    "PilotError",
    "StoreError",
    "TrackingError",
]


class EquipoiseError(Exception):
    """Root of every error the program raises on purpose."""


class HomeError(EquipoiseError):
    """The project folder cannot be used (unwritable, full, or not one of ours)."""


class StoreError(EquipoiseError):
    """The database is corrupt, newer than this program, or cannot be reached."""


class ExecutionError(EquipoiseError):
    """A run cannot be carried out as it was registered."""


class IncompleteError(EquipoiseError):
    """Runs are missing that were expected to be there."""


class PilotError(EquipoiseError):
    """A pilot that ran on the blocks that a suite is to be judged on: no plan may rest on it."""


class CodeError(EquipoiseError):
    """Code failed in a way that repeating cannot mend; the suite stops early."""


class TrackingError(EquipoiseError):
    """MLflow cannot be written or started; the store still holds every result."""
