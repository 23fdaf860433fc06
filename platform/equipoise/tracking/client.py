"""A quiet MLflow client, and what its refusals mean."""

import logging
import os
import warnings
from typing import TYPE_CHECKING

from equipoise.errors import TrackingError

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

__all__ = ["check_reachable", "is_refusal", "open_client", "set_quiet"]

# Set before MLflow is imported. Retries are few because the outbox is the better retry: it survives us.
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true"}
PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "30"}
FOREIGN = (
    "MLFLOW_RUN_ID",
    "MLFLOW_EXPERIMENT_ID",
    "MLFLOW_EXPERIMENT_NAME",
    "MLFLOW_NESTED_RUN",
    "MLFLOW_TAGS",
    "MLFLOW_ACTIVE_MODEL_ID",
)
REFUSALS = frozenset({"INVALID_PARAMETER_VALUE", "BAD_REQUEST", "RESOURCE_ALREADY_EXISTS", "INVALID_STATE"})


def set_quiet() -> None:
    """Set this process so that MLflow neither reports home, nor prints, nor joins someone else's run."""
    os.environ.update(QUIET)
    for name, value in PATIENCE.items():
        os.environ.setdefault(name, value)
    for name in FOREIGN:
        os.environ.pop(name, None)
    # MLflow's own models use a loader that SQLAlchemy 2.1 deprecates; nobody here can mend that.
    warnings.filterwarnings("ignore", message="The ``noload`` loader strategy", category=DeprecationWarning)
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)


def open_client(uri: str) -> "MlflowClient":
    """Return a client of the tracking server or database at `uri`; nothing is asked of it yet.

    Raises:
        TrackingError: If MLflow knows no such kind of store.
    """
    set_quiet()
    from mlflow.exceptions import MlflowException
    from mlflow.tracking import MlflowClient

    # MLflow sets its own loggers while it is imported.
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    try:
        return MlflowClient(tracking_uri=uri, registry_uri=uri)
    except MlflowException as error:
        message = f"MLflow cannot open {uri!r}: {error}. Give an http(s) address or a sqlite:/// path."
        raise TrackingError(message) from error


def check_reachable(client: "MlflowClient", uri: str) -> None:
    """Ask the server one small question, so that a dead one is found before any work.

    Raises:
        TrackingError: If it does not answer.
    """
    from mlflow.exceptions import MlflowException

    try:
        client.search_experiments(max_results=1)
    except (MlflowException, OSError) as error:
        message = f"the tracking server at {uri} does not answer ({short(error)})"
        raise TrackingError(message) from error


def is_refusal(error: Exception) -> bool:
    """Say whether MLflow refused what was sent, so that sending it again cannot help."""
    return getattr(error, "error_code", None) in REFUSALS


def short(error: Exception) -> str:
    """Return the first line of an error, short enough for one line of a terminal."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0] if len(lines[0]) <= 200 else f"{lines[0][:200]}..."
