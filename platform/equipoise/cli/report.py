"""`equipoise report`: writes the report of a suite from the store."""

from typing import Annotated

import typer

from equipoise.cli.home import DEFAULT_HOME
from equipoise.cli.naming import named
from equipoise.cli.options import Home, Json
from equipoise.cli.output import say, show_json
from equipoise.errors import IncompleteError

__all__ = ["report"]

Wanted = Annotated[
    str | None,
    typer.Argument(
        metavar="[SUITE]",
        help="Name or file of a suite, or first digits of its hash; by default the newest.",
        show_default=False,
    ),
]


def report(suite: Wanted = None, *, home: Home = DEFAULT_HOME, as_json: Json = False) -> None:
    """Write the report of a suite; before its last run it is an interim one, without verdicts."""
    from equipoise.store import open_store
    from equipoise.store.store import DATABASE_FILE
    from equipoise.suites.publishing import publish

    folder = home.expanduser().absolute()
    if not (folder / DATABASE_FILE).exists():
        message = (
            f"expected a project folder with runs in it, got {folder} with none; "
            "run a suite first (`equipoise run SUITE`), or name the folder with --home"
        )
        raise IncompleteError(message)
    published = publish(open_store(folder, create=False), folder, named(suite))
    study = published.study
    if as_json:
        show_json(
            {
                "name": study.name,
                "hash": study.registration.hash,
                "report": str(published.page),
                "interim": study.interim,
                "missing": len(study.missing),
            }
        )
        return
    state = f"interim, {len(study.missing)} runs missing" if study.interim else "complete"
    say(f"{study.name} @ {study.registration.hash8} ({state})\n  {published.page}")
