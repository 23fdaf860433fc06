"""Writing one run into MLflow so that writing it again, or after dying half-way, leaves exactly one."""

import tempfile
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.tracking.entries import (
    LOGGED_ARTIFACTS,
    METRICS_PER_CALL,
    PARAM_WIDTH,
    PARAMS_PER_CALL,
    TAG_WIDTH,
    batches,
    dataset_inputs,
    fitted,
    metrics_of,
    tables_tag,
    view_tags,
    write_tables,
    write_texts,
)
from equipoise.tracking.model import RunView

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

__all__ = ["RunWriter"]

PROJECTION = "equipoise.projection"
OUTCOMES = "equipoise.outcomes"


class RunWriter:
    """Writes the runs of one experiment.

    A run is found by its tag `equipoise.key`. The tag `equipoise.projection` holds the digest of what the run
    was created to show: equal means that the run is ours to complete or to leave alone, different that the
    store has since learned better (a repeated attempt), so that the old run is deleted and written anew.
    """

    def __init__(self, client: "MlflowClient", experiment_id: str) -> None:
        self._client = client
        self._experiment_id = experiment_id

    def find(self, key: str) -> "Run | None":
        """Return the run that shows a job; of several, which only a broken lock can leave, the first."""
        quoted = key.replace("'", "\\'")
        found = self._client.search_runs(
            [self._experiment_id],
            f"tags.`equipoise.key` = '{quoted}'",
            order_by=["attributes.start_time ASC"],
        )
        for extra in found[1:]:
            self._client.delete_run(extra.info.run_id)
        return found[0] if found else None

    def write(self, view: RunView) -> bool:
        """Show a job; return whether anything had to be written."""
        run = self.find(view.key)
        if run is not None and not _agrees(run, view):
            self._client.delete_run(run.info.run_id)
            run = None
        if run is None:
            run = self._create(view)
        wrote = run.info.end_time is None
        if wrote:
            self._fill(run.info.run_id, view)
        if view.evaluation is not None and OUTCOMES not in run.data.tags:
            self._reveal(run.info.run_id, view)
            wrote = True
        return wrote

    def _create(self, view: RunView) -> "Run":
        tags, _ = fitted(view_tags(view), TAG_WIDTH, "long/tags")
        return self._client.create_run(self._experiment_id, view.start, tags, view.name)

    def _fill(self, run_id: str, view: RunView) -> None:
        """Send all but the outcomes, and end the run: the last call, so that an ended run is a whole one."""
        from mlflow.entities import Param

        params, long_params = fitted(view.params, PARAM_WIDTH, "long/params")
        _, long_tags = fitted(view_tags(view), TAG_WIDTH, "long/tags")
        points = metrics_of(view.metrics, view.curves, view.start, view.end)
        pairs = [Param(name, value) for name, value in sorted(params.items())]
        calls = zip_longest(batches(points, METRICS_PER_CALL), batches(pairs, PARAMS_PER_CALL), fillvalue=())
        for some_points, some_pairs in calls:
            self._client.log_batch(run_id, metrics=some_points, params=some_pairs)
        if view.inputs:
            self._client.log_inputs(run_id, dataset_inputs(view.inputs))
        with tempfile.TemporaryDirectory(prefix="equipoise-") as name:
            write_tables(Path(name), view.tables)
            write_texts(Path(name), {**long_params, **long_tags})
            self._send(run_id, Path(name))
        self._client.set_terminated(run_id, view.status, view.end)

    def _reveal(self, run_id: str, view: RunView) -> None:
        """Send the outcomes; MLflow stores the tags of a batch last, so that they vouch for the rest."""
        from mlflow.entities import RunTag

        assert view.evaluation is not None
        with tempfile.TemporaryDirectory(prefix="equipoise-") as name:
            write_tables(Path(name), view.evaluation.tables)
            self._send(run_id, Path(name))
        listed = tables_tag(view.tables, view.evaluation.tables)
        self._client.log_batch(
            run_id,
            metrics=metrics_of(view.evaluation.metrics, {}, view.start, view.end),
            tags=[RunTag(LOGGED_ARTIFACTS, listed), RunTag(OUTCOMES, view.evaluation.digest)],
        )

    def _send(self, run_id: str, folder: Path) -> None:
        if any(folder.iterdir()):
            self._client.log_artifacts(run_id, str(folder))


def _agrees(run: "Run", view: RunView) -> bool:
    """Say whether a found run shows, as far as it got, what is to be shown."""
    tags = run.data.tags
    shown = tags.get(OUTCOMES)
    outcomes_agree = shown is None or view.evaluation is None or shown == view.evaluation.digest
    return tags.get(PROJECTION) == view.digest and outcomes_agree
