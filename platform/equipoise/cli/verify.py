"""`equipoise verify`: whether registrations, runs and ledgers are what they were, and what they must be."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.errors import ExitCode
from equipoise.cli.home import DEFAULT_HOME
from equipoise.cli.naming import named
from equipoise.cli.options import Home, Json
from equipoise.cli.output import say, show_json, show_table
from equipoise.errors import HomeError

if TYPE_CHECKING:
    from equipoise.suites.verifying import OnProgress, SuiteVerdict, Verdict

__all__ = ["verify"]

Wanted = Annotated[
    str | None,
    typer.Argument(
        metavar="[SUITE]",
        help="Only the runs of this suite, by its name, its file or the first digits of its hash; by default of all.",
        show_default=False,
    ),
]

_PATIENCE = 2.0
"""Seconds after which progress is shown."""

_COMPARED = {
    "files": ("files",),
    "digests": ("digests", "plans", "weights"),
    "plans made again": ("plans made again",),
    "credit assigned again": ("credit assigned again",),
    "outcomes": ("outcomes",),
    "ledger numbers": ("ledger numbers", "allocated", "counted"),
    "matches": ("matches",),
}
"""What the table tells, and the kinds of comparison that each adds up."""


def verify(suite: Wanted = None, *, home: Home = DEFAULT_HOME, as_json: Json = False) -> None:
    """Check registrations, runs and ledgers from what is stored; nothing is changed."""
    from equipoise.suites.verifying import verify_home

    folder = home.expanduser().absolute()
    if not folder.is_dir():
        message = f"expected a project folder, got {folder}, which does not exist; name yours with --home"
        raise HomeError(message)
    with _progress() as on_progress:
        verdict = verify_home(folder, named(suite), on_progress)
    if as_json:
        show_json(_as_json(verdict))
    else:
        _show(verdict, folder)
    _show_faults(verdict)
    if not verdict.whole:
        raise typer.Exit(ExitCode.TAMPERED)


def _show(verdict: "Verdict", folder: Path) -> None:
    chain = verdict.chain
    rows = ((item.name, item.hash8, item.as_json()["registered_at"]) for item in chain.registrations)
    show_table(str(folder / "registrations.jsonl"), ("suite", "hash", "registered"), rows)
    for item in chain.amendments:
        digits = item.registration.rpartition(":")[2][:8]
        say(f"{digits} amended at {item.as_json()['amended_at']}: {item.reason}")
    if verdict.suites:
        show_table("", ("suite", "ended", "faults", "compared"), map(_row, verdict.suites))
    for suite in verdict.suites:
        for note in suite.findings.notes:
            say(f"{_name(suite)}: {note}")
    for line in _unchecked(verdict):
        say(f"not checked: {line}")
    if verdict.whole:
        say(f"whole: {len(chain.registrations)} registrations, head {chain.head}")


def _row(suite: "SuiteVerdict") -> tuple[object, ...]:
    counts = {name: sum(suite.findings.compared[kind] for kind in kinds) for name, kinds in _COMPARED.items()}
    compared = ", ".join(f"{count} {name}" for name, count in counts.items())
    return _name(suite), f"{suite.done} of {suite.jobs}", len(suite.findings.faults), compared


def _name(suite: "SuiteVerdict") -> str:
    return f"{suite.name} @ {suite.hash.rpartition(':')[2][:8]}"


def _unchecked(verdict: "Verdict") -> Iterator[str]:
    yield from verdict.unchecked
    for suite in verdict.suites:
        for why, where in suite.findings.skipped.items():
            yield f"{_name(suite)}: {why} ({len(where)}: {where[0]}{', ...' if len(where) > 1 else ''})"


def _show_faults(verdict: "Verdict") -> None:
    broken = verdict.chain.broken
    if broken is not None:
        typer.echo(f"registrations.jsonl: broken at line {broken.line}: {broken.reason}", err=True)
    for fault in verdict.faults:
        typer.echo(fault.sentence, err=True)
    for suite in verdict.suites:
        for fault in suite.findings.faults:
            typer.echo(f"{_name(suite)}: {fault.sentence}", err=True)


def _as_json(verdict: "Verdict") -> dict[str, Any]:
    chain = verdict.chain
    listed = [
        {"name": item.name, "hash": item.hash, "registered_at": item.as_json()["registered_at"]}
        for item in chain.registrations
    ]
    broken = None if chain.broken is None else {"line": chain.broken.line, "reason": chain.broken.reason}
    return {
        "whole": verdict.whole,
        "head": chain.head,
        "registrations": listed,
        "amendments": [item.as_json() for item in chain.amendments],
        "broken": broken,
        "faults": [vars(fault) for fault in verdict.faults],
        "suites": [
            {
                "name": suite.name,
                "hash": suite.hash,
                "jobs": suite.jobs,
                "done": suite.done,
                "compared": dict(suite.findings.compared),
                "faults": [vars(fault) for fault in suite.findings.faults],
                "unchecked": suite.findings.skipped,
                "notes": suite.findings.notes,
            }
            for suite in verdict.suites
        ],
        "unchecked": list(verdict.unchecked),
    }


@contextmanager
def _progress() -> "Iterator[OnProgress]":
    """A bar, or a line now and then where there is no terminal, once it takes longer than two seconds."""
    from rich.console import Console
    from rich.progress import Progress

    console, begun, said = Console(stderr=True), time.monotonic(), time.monotonic()
    bar = Progress(console=console, transient=True)
    task = bar.add_task("verifying", total=None)

    def told(done: int, total: int) -> None:
        nonlocal said
        if time.monotonic() - begun < _PATIENCE:
            return
        if console.is_terminal:
            bar.start()
            bar.update(task, total=total, completed=done)
        elif time.monotonic() - said >= _PATIENCE:
            said = time.monotonic()
            typer.echo(f"verifying: {done} of {total} jobs", err=True)

    try:
        yield told
    finally:
        bar.stop()
