"""`equipoise status`: how far each suite is, by kind of job, without a word about outcomes."""

import time
from typing import Annotated, Any

import typer
from rich.console import Console

from equipoise.cli.home import DEFAULT_HOME
from equipoise.cli.options import Home, Json
from equipoise.cli.output import say, show_json, show_table
from equipoise.cli.progress import duration
from equipoise.store import STATES, Progress, Store, SuiteRecord, open_store

__all__ = ["status"]

_WATCH_SECONDS = 1.0

Watch = Annotated[bool, typer.Option("--watch", help="Show it again every second until all is done.")]


def status(*, home: Home = DEFAULT_HOME, as_json: Json = False, watch: Watch = False) -> None:
    """Show how far each suite is. Outcomes are not shown: they are for the report of complete blocks."""
    store = open_store(home.expanduser(), create=False)
    while True:
        suites = store.suites()
        progress = {suite.hash: store.progress(suite.hash) for suite in suites}
        _show(store, suites, progress, as_json=as_json)
        if not watch or not any(_is_open(known) for known in progress.values()):
            return
        time.sleep(_WATCH_SECONDS)
        if not as_json:
            Console().clear()


def _is_open(progress: Progress) -> bool:
    return any(progress.by_state.get(state, 0) for state in ("queued", "running"))


def _show(store: Store, suites: list[SuiteRecord], progress: dict[str, Progress], *, as_json: bool) -> None:
    if as_json:
        show_json([{"name": suite.name, **progress[suite.hash].to_json()} for suite in suites])
        return
    if not suites:
        say("No suite has been run here yet: `equipoise register SUITE`, then `equipoise run SUITE`.")
    for suite in suites:
        known = progress[suite.hash]
        columns = ["kind", *(state for state in STATES if known.by_state.get(state)), "mean s"]
        finished = store.finished(suite.hash)
        rows = [
            [kind, *(states.get(state, 0) for state in columns[1:-1]), _mean(known, finished, kind)]
            for kind, states in known.counts.items()
        ]
        show_table(f"{suite.name} @ {suite.hash.rpartition(':')[2][:8]}", columns, rows)
        say(_line(known) + "\n")


def _mean(progress: Progress, finished: dict[str, int], kind: str) -> str:
    return f"{progress.seconds[kind] / finished[kind]:.1f}" if finished.get(kind) else ""


def _line(progress: Progress) -> str:
    """One sentence under the table."""
    parts = [
        f"{progress.done} of {progress.total} jobs",
        f"{progress.blocks_complete} of {progress.blocks} blocks complete",
    ]
    if progress.per_minute and _is_open(progress):
        parts.append(f"{progress.per_minute:.1f} a minute")
    if progress.eta_seconds is not None:
        parts.append(f"about {duration(progress.eta_seconds)} left")
    troubles: dict[str, Any] = {end: number for end, number in progress.ends.items() if end != "done"}
    if troubles:
        parts.append("attempts: " + ", ".join(f"{number} {end}" for end, number in troubles.items()))
    return " · ".join(parts)
