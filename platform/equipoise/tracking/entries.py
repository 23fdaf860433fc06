"""From a run's view to what MLflow's client takes: batches within its limits, and files."""

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from equipoise.tracking.model import Curve, DatasetUse, RunView, Table

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput, Metric

__all__ = [
    "LOGGED_ARTIFACTS",
    "NOTE",
    "batches",
    "dataset_inputs",
    "fitted",
    "metrics_of",
    "tables_tag",
    "write_tables",
    "write_texts",
]

Item = TypeVar("Item")

METRICS_PER_CALL = 1000
PARAMS_PER_CALL = 100
PARAM_WIDTH = 6000  # longer values are cut by the server without a word
TAG_WIDTH = 8000
NOTE = "mlflow.note.content"
LOGGED_ARTIFACTS = "mlflow.loggedArtifacts"  # the tag that makes MLflow show a JSON file as a table


def batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Yield the items in runs of at most `size`."""
    return (items[at : at + size] for at in range(0, len(items), size))


def metrics_of(
    scalars: Mapping[str, float], curves: Mapping[str, Curve], start: int, end: int
) -> list["Metric"]:
    """Return scalars (at the end of the run) and curves (spread evenly over it) as MLflow metrics.

    The times come from the record alone, never from the clock: MLflow collapses points that are equal in
    name, step, time and value, so writing a run twice leaves it as it was.
    """
    from mlflow.entities import Metric

    metrics = [Metric(name, value, end, 0) for name, value in sorted(scalars.items())]
    for name, points in sorted(curves.items()):
        last = max((step for step, _ in points), default=1)
        metrics += [Metric(name, value, start + (end - start) * step // last, step) for step, value in points]
    return metrics


def dataset_inputs(uses: Iterable[DatasetUse]) -> list["DatasetInput"]:
    """Return the data sets of a run as MLflow inputs."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    return [
        DatasetInput(
            dataset=Dataset(use.name, use.digest, "code", json.dumps({"tags": {}})),
            tags=[InputTag("mlflow.data.context", use.context)],
        )
        for use in uses
    ]


def fitted(values: Mapping[str, str], width: int, folder: str) -> tuple[dict[str, str], dict[str, str]]:
    """Cut the values that are too long for MLflow; return the cut ones and the files that hold the whole."""
    short: dict[str, str] = {}
    files: dict[str, str] = {}
    for name, value in values.items():
        short[name] = value
        if len(value) > width:
            path = f"{folder}/{name.replace('/', '_')}.txt"
            ending = f"... ({len(value)} characters, whole in artifact {path})"
            short[name] = value[: width - len(ending)] + ending
            files[path] = value
    return short, files


def tables_tag(*groups: Mapping[str, Table]) -> str:
    """Return the value of the tag that lists a run's tables."""
    paths = sorted(set(itertools.chain(*groups)))
    return json.dumps([{"path": path, "type": "table"} for path in paths])


def write_tables(folder: Path, tables: Mapping[str, Table]) -> None:
    """Write tables below a folder in MLflow's own layout (pandas' `split`); short columns end in nulls."""
    for path, columns in tables.items():
        rows = [list(row) for row in itertools.zip_longest(*map(_plain, columns.values()))]
        _write(folder / path, json.dumps({"columns": list(columns), "data": rows}))


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write texts below a folder."""
    for path, content in texts.items():
        _write(folder / path, content)


def view_tags(view: RunView) -> dict[str, str]:
    """Return all tags a run is created with."""
    tags = {**view.tags, "equipoise.projection": view.digest, LOGGED_ARTIFACTS: tables_tag(view.tables)}
    return tags | ({NOTE: view.note} if view.note else {})


def _plain(column: Sequence[object]) -> list[object]:
    # JSON has no NaN, and a browser refuses a file that holds one.
    return [None if isinstance(v, float) and not math.isfinite(v) else v for v in column]


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
