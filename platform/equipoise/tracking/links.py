"""Addresses of what MLflow's pages show, in the mode made for training runs."""

from urllib.parse import quote

__all__ = ["artifact_url", "experiment_url", "run_url"]

# Without it the pages open in a mode made for chat traces.
MODE = "workflowType=machine_learning"


def experiment_url(server: str, experiment_id: str) -> str:
    """Return the address of an experiment's list of runs."""
    return f"{server.rstrip('/')}/#/experiments/{experiment_id}/runs?{MODE}"


def run_url(server: str, experiment_id: str, run_id: str) -> str:
    """Return the address of a run."""
    return f"{server.rstrip('/')}/#/experiments/{experiment_id}/runs/{run_id}?{MODE}"


def artifact_url(server: str, experiment_id: str, run_id: str, path: str) -> str:
    """Return the address of an artifact in its run's page, where HTML is shown rather than downloaded."""
    page = f"{server.rstrip('/')}/#/experiments/{experiment_id}/runs/{run_id}/artifacts"
    return f"{page}/{quote(path)}?{MODE}"
