"""How MLflow's pages first look (columns, order, charts), and where each suite's pages are."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from equipoise.tracking.links import artifact_url, experiment_url

__all__ = ["SuitePage", "shared_views", "suite_pages"]

# MLflow keeps a view that was shared by link in a tag of the experiment, under this name and a key.
VIEW = "mlflow.sharedViewState."
TABLE, CHARTS = "equipoise", "equipoise-charts"

_COLUMNS = (
    "params.`condition`",
    "params.`arm`",
    "params.`block`",
    "metrics.`eval/pool`",
    "metrics.`eval/held_out`",
    "metrics.`budget/slots`",
    "metrics.`budget/optimizer_steps`",
    "metrics.`budget/ess`",
    "tags.`equipoise.breach`",
)
_WIDTHS = {"metrics.`budget/optimizer_steps`": 180, "params.`condition`": 110, "params.`block`": 60}
# Sections of charts, by the prefix of their metrics, and whether they are unfolded at first.
_SECTIONS = (("eval", True), ("train", True), ("budget", False), ("sys", False))


@dataclass(frozen=True)
class SuitePage:
    """The addresses of a suite's pages; no report is an empty string."""

    name: str
    runs: str
    charts: str
    report: str


def shared_views() -> Mapping[str, str]:
    """Return the tags that hold an experiment's two views: its cells, and means by condition and arm."""
    table = {
        "selectedColumns": list(_COLUMNS),
        "runsHiddenMode": "SHOW_ALL",
        "orderByKey": "attributes.start_time",
        "orderByAsc": True,
        "columnOrder": list(_COLUMNS),
        "columnWidths": _WIDTHS,
        "isAccordionReordered": True,
        "compareRunSections": [
            {"uuid": name, "name": name, "display": unfolded, "isReordered": False, "isGenerated": True}
            for name, unfolded in _SECTIONS
        ],
        "compareRunCharts": [
            {
                "uuid": metric,
                "type": "BAR",
                "metricKey": metric,
                "metricSectionId": "eval",
                "isGenerated": True,
                "deleted": False,
            }
            for metric in ("eval/held_out", "eval/pool")
        ],
    }
    keys = [{"mode": "param", "groupByData": name} for name in ("condition", "arm")]
    charts = {**table, "groupBy": {"aggregateFunction": "average", "groupByKeys": keys}}
    return {VIEW + TABLE: json.dumps(table), VIEW + CHARTS: json.dumps(charts)}


def suite_pages(uri: str, server: str) -> list[SuitePage]:
    """Return the pages of every suite that a tracking store shows, newest first.

    Args:
        uri: The tracking store.
        server: Address of the server whose pages are meant.
    """
    from equipoise.tracking.client import open_client

    client = open_client(uri)
    pages = []
    for experiment in client.search_experiments(filter_string="tags.`equipoise.suite_hash` != ''"):
        found = client.search_runs([experiment.experiment_id], "tags.`equipoise.key` = 'suite'")
        report = ""
        if found and any(
            a.path == "report/report.html" for a in client.list_artifacts(found[0].info.run_id, "report")
        ):
            report = artifact_url(
                server, experiment.experiment_id, found[0].info.run_id, "report/report.html"
            )
        runs = experiment_url(server, experiment.experiment_id)
        pages.append(
            SuitePage(
                name=experiment.name,
                runs=f"{runs}&viewStateShareKey={TABLE}",
                charts=f"{runs}&viewStateShareKey={CHARTS}&compareRunsMode=CHART",
                report=report,
            )
        )
    return pages
