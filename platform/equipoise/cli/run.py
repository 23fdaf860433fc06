"""`equipoise run`: runs a registered suite; the same command again goes on where the last one stopped."""

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from equipoise.cli.home import DEFAULT_HOME, open_home
from equipoise.cli.options import Home, SuiteFile
from equipoise.cli.output import say
from equipoise.cli.progress import duration, shown
from equipoise.cli.suite_file import open_suite
from equipoise.errors import ExecutionError
from equipoise.suites.freezing import Frozen, exploratory, registered

__all__ = ["carry_out", "run"]

Slots = Annotated[
    int | None, typer.Option("--slots", min=1, help="Runs at a time; by default one a core.", show_default=False)
]
Exploratory = Annotated[
    bool, typer.Option("--exploratory", help="Run without registration; marks every number that comes of it.")
]
Isolation = Annotated[
    Literal["fork", "subprocess"],
    typer.Option("--isolation", help="Fork runs from one preloaded process, or start each afresh."),
]
TrackingUri = Annotated[
    str | None,
    typer.Option(
        "--tracking-uri", envvar="MLFLOW_TRACKING_URI", help="MLflow server; else the folder's own database."
    ),
]


def run(
    suite: SuiteFile,
    *,
    home: Home = DEFAULT_HOME,
    explore: Exploratory = False,
    slots: Slots = None,
    isolation: Isolation = "fork",
    tracking_uri: TrackingUri = None,
) -> None:
    """Run a registered suite and write its report; the same command again resumes it."""
    loaded = open_suite(suite)
    folder = open_home(home)
    frozen = exploratory(loaded) if explore else registered(loaded, folder)
    carry_out(frozen, folder, slots=slots, isolation=isolation, tracking_uri=tracking_uri)


def carry_out(
    frozen: Frozen,
    home: Path,
    *,
    slots: int | None = None,
    isolation: Literal["fork", "subprocess"] = "fork",
    tracking_uri: str | None = None,
) -> None:
    """Run what is left of a suite, write its report and bring MLflow up to date.

    Raises:
        ExecutionError: if jobs are left that cannot be run.
    """
    from equipoise.store import open_store
    from equipoise.suites.publishing import publish
    from equipoise.suites.running import run_suite
    from equipoise.tracking.beside import Beside

    registration = frozen.registration
    began = time.monotonic()
    say(f"{registration.name} @ {registration.hash8}{' (exploratory)' if frozen.exploratory else ''}")
    beside = Beside(home, tracking_uri)
    with shown(registration.name) as on_progress, beside:
        summary = run_suite(
            frozen, home, slots=slots, isolation=isolation, on_progress=on_progress, beside=beside.started()
        )
        store = open_store(home, create=False)
        progress = store.progress(registration.hash)
        seconds = ", ".join(f"{kind} {duration(spent)}" for kind, spent in progress.seconds.items())
        say(f"{summary.ran} jobs run in {duration(summary.seconds)} (process time: {seconds})")
        if not summary.complete:
            message = (
                f"expected {summary.total} jobs to end, {summary.done} did: {summary.failed} failed, "
                f"{summary.exhausted} given up, {summary.blocked} waiting for those; see `equipoise status`"
            )
            raise ExecutionError(message)
        published = publish(store, home, registration.hash)
    for claim in published.study.analysis.hypotheses if published.study.analysis else ():
        say(f"  {claim.id} {claim.verdict.upper()}: {claim.sentence}")
    say(f"report: {published.page}")
    say(f"MLflow: {beside.address} (open it with `equipoise ui --home {home}`)")
    say(beside.summary)
    say(f"took {duration(time.monotonic() - began)}")
