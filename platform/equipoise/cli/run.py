"""`equipoise run`: runs a registered suite; the same command again goes on where the last one stopped."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from equipoise.cli.home import DEFAULT_HOME, open_home
from equipoise.cli.options import Home, SuiteFile
from equipoise.cli.output import say
from equipoise.cli.progress import duration, shown
from equipoise.cli.suite_file import open_suite
from equipoise.errors import IncompleteError
from equipoise.suites.freezing import Frozen, exploratory, registered
from equipoise_preregistration import NotRegisteredError, find_registration, shipped_suites
from equipoise_preregistration.registry import registered_copy

if TYPE_CHECKING:
    from equipoise.scheduler import Summary
    from equipoise_reports import Study

__all__ = [
    "Exploratory",
    "Isolation",
    "Slots",
    "carry_out",
    "require_complete",
    "resumable",
    "run",
    "told_breaches",
]

_NAMED = 3
"""Runs that are named with what they did not receive; the report has all."""

Slots = Annotated[
    int | None,
    typer.Option("--slots", min=1, help="Runs at a time; by default one a core.", show_default=False),
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
    """Run a registered suite, its search for hyper-parameters first, and write its report; again, it resumes."""
    place = home.expanduser().absolute()
    _is_no_registration(suite, place)
    loaded = open_suite(suite)
    # Before the folder is made: a suite that is refused leaves nothing behind.
    frozen = exploratory(loaded) if explore else registered(loaded, place)
    carry_out(frozen, open_home(home), slots=slots, isolation=isolation, tracking_uri=tracking_uri)


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
        IncompleteError: if jobs are left that cannot be run.
    """
    from equipoise.store import open_store
    from equipoise.suites.publishing import publish
    from equipoise.suites.running import run_suite
    from equipoise.tracking.beside import Beside

    registration = frozen.registration
    began = time.monotonic()
    say(f"{registration.name} @ {registration.hash8}{' (exploratory)' if frozen.exploratory else ''}")
    beside = Beside(home, tracking_uri)
    with resumable(), shown(registration.name) as on_progress, beside:
        summary = run_suite(
            frozen, home, slots=slots, isolation=isolation, on_progress=on_progress, beside=beside.started()
        )
        ran = time.monotonic()
        store = open_store(home, create=False)
        progress = store.progress(registration.hash)
        require_complete(summary)
        published = publish(store, home, registration.hash)
        reported = time.monotonic()
    _show_findings(published.study)
    runs = published.study.runs
    for line in told_breaches({run.key: run.breaches for run in runs}):
        say(line)
    diverged = sum(run.end == "diverged" for run in runs)
    if diverged:
        say(f"{diverged} of {len(runs)} runs diverged, and count with their last sound weights")
    say(f"report: {published.page}")
    look = f"; look at it with `equipoise ui --home {home}`" if beside.embedded else ""
    say(f"MLflow: {beside.address}{look}")
    say(beside.summary)
    phases = {
        "start": ran - began - summary.seconds,
        f"{summary.ran} jobs": summary.seconds,
        "report": reported - ran,
        "MLflow": time.monotonic() - reported,
    }
    say(f"took {duration(time.monotonic() - began)}: {_listed(phases)}")
    say(f"all {summary.total} jobs have taken, of their processes' time: {_listed(progress.seconds)}")


def _is_no_registration(suite: str, home: Path) -> None:
    """What is run is a file, whose contents one can see; a hash or a name of a registration leads to it."""
    if Path(suite).is_file() or suite in shipped_suites():
        return
    found = find_registration(home, suite)
    if found is not None:
        message = (
            f"expected the file of a suite, got {suite}, which is a registration ({found.name} @ {found.hash8}); "
            f"its file is kept: `equipoise run {registered_copy(home, found)}`"
        )
        raise NotRegisteredError(message)


@contextmanager
def resumable() -> Iterator[None]:
    """Tell a user who interrupts how to go on; while jobs run, the scheduler does."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("\nequipoise: interrupted; run the same command again to continue", err=True)
        raise


def require_complete(summary: "Summary") -> None:
    """Refuse to go on while jobs are left that cannot be run.

    Raises:
        IncompleteError: naming how many, and how to retry them.
    """
    if summary.complete:
        return
    message = (
        f"expected {summary.total} jobs to end, {summary.done} did: {summary.failed} failed, "
        f"{summary.exhausted} given up, {summary.blocked} waiting for those; see `equipoise status`, "
        "and run the same command again to retry them"
    )
    raise IncompleteError(message)


def _show_findings(study: "Study") -> None:
    for claim in study.analysis.hypotheses if study.analysis else ():
        word, _, rest = claim.sentence.partition(": ")
        said = rest if word.upper() == claim.verdict.upper() else claim.sentence
        say(f"  {claim.id} {claim.verdict.upper()}: {said}")


def told_breaches(runs: Mapping[str, Sequence[str]]) -> list[str]:
    """Lines that say which runs did not receive what was planned, a few of them with the reason; none where all did.

    Args:
        runs: sentences of each run's breaches, by its key.
    """
    broken = {key: sentences[0] for key, sentences in runs.items() if sentences}
    if not broken:
        return []
    kept = list(broken.items())[:_NAMED]
    more = f"; {len(broken) - len(kept)} more are in the report" if len(broken) > len(kept) else ""
    return [
        f"{len(broken)} of {len(runs)} runs did not receive what was planned, which bars their contrasts{more}:",
        *(f"  {key}: {sentence}" for key, sentence in kept),
    ]


def _listed(seconds: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {duration(spent)}" for name, spent in seconds.items())
