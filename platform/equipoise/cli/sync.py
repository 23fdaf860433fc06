"""`equipoise sync`: brings MLflow up to date with the store, or builds it anew."""

from typing import Annotated

import typer

from equipoise.cli.errors import ExitCode
from equipoise.cli.home import DEFAULT_HOME, open_home
from equipoise.cli.options import Home, Json
from equipoise.cli.output import say, show_json

__all__ = ["sync"]

Rebuild = Annotated[
    bool, typer.Option("--rebuild", help="Delete the suites' runs in MLflow and write them anew.")
]
TrackingUri = Annotated[
    str | None,
    typer.Option(
        "--tracking-uri", envvar="MLFLOW_TRACKING_URI", help="MLflow server; else the folder's own database."
    ),
]


def sync(
    *,
    home: Home = DEFAULT_HOME,
    rebuild: Rebuild = False,
    tracking_uri: TrackingUri = None,
    as_json: Json = False,
) -> None:
    """Show in MLflow what the store holds. What cannot be written now is kept for the next sync."""
    from equipoise.tracking.companion import make_writer

    writer, address = make_writer(open_home(home), tracking_uri)
    summary = writer.rebuild() if rebuild else writer.sync()
    if as_json:
        show_json({"tracking_uri": address, **vars(summary)})
    else:
        say(summary.sentence)
    if summary.problems:
        raise typer.Exit(ExitCode.TROUBLE)
