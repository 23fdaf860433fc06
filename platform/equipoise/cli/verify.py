"""`equipoise verify`: whether any registration was changed after it was written."""

import typer

from equipoise.cli.errors import ExitCode
from equipoise.cli.home import DEFAULT_HOME
from equipoise.cli.options import Home, Json
from equipoise.cli.output import say, show_json, show_table
from equipoise.errors import HomeError
from equipoise_preregistration import verify_chain

__all__ = ["verify"]


def verify(*, home: Home = DEFAULT_HOME, as_json: Json = False) -> None:
    """Check the chain of registrations and the copies of their suites."""
    folder = home.expanduser().absolute()
    if not folder.is_dir():
        message = f"expected a project folder, got {folder}, which does not exist; name yours with --home"
        raise HomeError(message)
    report = verify_chain(folder)
    broken = report.broken
    if as_json:
        listed = [
            {"name": item.name, "hash": item.hash, "registered_at": item.as_json()["registered_at"]}
            for item in report.registrations
        ]
        added = [item.as_json() for item in report.amendments]
        fault = None if broken is None else {"line": broken.line, "reason": broken.reason}
        whole = {"whole": broken is None, "head": report.head, "registrations": listed}
        show_json({**whole, "amendments": added, "broken": fault})
    else:
        rows = ((item.name, item.hash8, item.as_json()["registered_at"]) for item in report.registrations)
        show_table(str(folder / "registrations.jsonl"), ("suite", "hash", "registered"), rows)
        for item in report.amendments:
            say(
                f"{item.registration.rpartition(':')[2][:8]} amended at {item.as_json()['amended_at']}: {item.reason}"
            )
        say(f"whole: {len(report.registrations)} registrations, head {report.head}" if broken is None else "")
    if broken is not None:
        typer.echo(f"broken at line {broken.line}: {broken.reason}", err=True)
        raise typer.Exit(ExitCode.TAMPERED)
