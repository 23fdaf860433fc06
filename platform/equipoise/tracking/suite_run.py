"""The experiment of a suite and its one `suite` run, which carries the files people ask for."""

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.tracking.entries import LOGGED_ARTIFACTS, NOTE, tables_tag, write_tables
from equipoise.tracking.facts import EndedJob, SuiteFacts
from equipoise.tracking.model import Table
from equipoise.tracking.notes import experiment_note, suite_note
from equipoise.tracking.pages import shared_views
from equipoise.tracking.runs import RunWriter

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

__all__ = ["SUITE_KEY", "ensure_experiment", "jobs_table", "write_suite_run"]

SUITE_KEY = "suite"
FILES = "equipoise.files"
EXPERIMENT_NOTE_WIDTH = 5000


def ensure_experiment(client: "MlflowClient", facts: SuiteFacts, artifacts: str | None) -> str:
    """Return the id of the suite's experiment, created, or brought back from the bin, if need be.

    Args:
        client: The tracking client.
        facts: The suite.
        artifacts: Root URI for artifacts, or None to leave the place to the server.
    """
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(facts.experiment)
    if found is None:
        place = f"{artifacts.rstrip('/')}/{facts.hash8}" if artifacts else None
        tags = {
            "mlflow.experimentKind": "custom_model_development",
            NOTE: experiment_note(facts)[:EXPERIMENT_NOTE_WIDTH],
            "equipoise.suite_hash": facts.hash,
            **shared_views(),
        }
        try:
            return str(client.create_experiment(facts.experiment, artifact_location=place, tags=tags))
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
            # Somebody else was faster; what they made is found by its name.
            return ensure_experiment(client, facts, artifacts)
    if found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    return str(found.experiment_id)


def jobs_table(records: Mapping[str, EndedJob]) -> Table:
    """Return one row per ended job: how it ended, at which attempt, how long it took. No outcomes."""
    rows = [records[key] for key in sorted(records)]
    return {
        "job": [row.key for row in rows],
        "kind": [row.kind for row in rows],
        "state": [row.state for row in rows],
        "end": [str(row.result.get("end", "")) for row in rows],
        "attempt": [row.attempt for row in rows],
        "seconds": [(row.finished_at - row.started_at) / 1000 for row in rows],
        "breaches": [len(_list(row.result.get("breaches"))) for row in rows],
    }


def write_suite_run(
    client: "MlflowClient", experiment_id: str, facts: SuiteFacts, records: Mapping[str, EndedJob]
) -> str:
    """Bring the `suite` run up to date and return its id.

    It is ended as soon as it is created: a suite may pause for days, and one left RUNNING would say nothing.
    """
    ended = sum(record.kind == "cell" for record in records.values())
    total = sum(len(keys) for keys in facts.blocks.values())
    table = {"tables/jobs.json": jobs_table(records)}
    tags = {
        "equipoise.suite_hash": facts.hash,
        "equipoise.kind": "suite",
        NOTE: suite_note(facts, ended, total),
        LOGGED_ARTIFACTS: tables_tag(table),
    }
    run = RunWriter(client, experiment_id).find(SUITE_KEY)
    if run is None:
        first = {**tags, "equipoise.key": SUITE_KEY}
        run = client.create_run(experiment_id, facts.registered_at, first, "suite")
    run_id = str(run.info.run_id)
    last = max((record.finished_at for record in records.values()), default=facts.registered_at)
    state = _state(facts, tags, table)
    if run.data.tags.get(FILES) == state and run.info.end_time is not None:
        return run_id
    _send(client, run_id, facts, table)
    for name, value in tags.items():
        client.set_tag(run_id, name, value)
    client.set_terminated(run_id, "FINISHED", last)
    client.set_tag(run_id, FILES, state)
    return run_id


def _send(client: "MlflowClient", run_id: str, facts: SuiteFacts, table: Mapping[str, Table]) -> None:
    with tempfile.TemporaryDirectory(prefix="equipoise-") as name:
        folder = Path(name)
        write_tables(folder, table)
        for path, source in facts.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(_content(source))
        client.log_artifacts(run_id, str(folder))


def _state(facts: SuiteFacts, tags: Mapping[str, str], table: Mapping[str, Table]) -> str:
    """Return a digest of all the suite run shows, so that an unchanged one is left alone."""
    digest = hashlib.sha256(repr((sorted(tags.items()), sorted(table.items()))).encode())
    for path, source in sorted(facts.files.items()):
        digest.update(path.encode() + hashlib.sha256(_content(source)).digest())
    return digest.hexdigest()


def _content(source: Path | bytes) -> bytes:
    return source if isinstance(source, bytes) else source.read_bytes()


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []
