"""The project's folder: database, registrations, MLflow, files of jobs and reports lie in it."""

import tempfile
from pathlib import Path

from equipoise.errors import HomeError

__all__ = ["DEFAULT_HOME", "open_home"]

DEFAULT_HOME = Path("runs")
"""Where a project lies unless `--home` or EQUIPOISE_HOME says otherwise."""


def open_home(path: Path) -> Path:
    """Creates the folder if it is missing and makes sure that it can be written.

    Args:
        path: As the user gave it; `~` is understood.

    Returns:
        The absolute path.

    Raises:
        HomeError: If it cannot be created or written.
    """
    home = path.expanduser().absolute()
    try:
        home.mkdir(parents=True, exist_ok=True)
        # Permissions lie (root, network disks, quotas): only a written byte shows that one can write.
        with tempfile.TemporaryFile(dir=home) as probe:
            probe.write(b"equipoise")
            probe.flush()
    except OSError as error:
        message = (
            f"expected a project folder that can be written, got {home}: {error.strerror or error}; "
            "choose another one with --home or EQUIPOISE_HOME"
        )
        raise HomeError(message) from error
    return home
