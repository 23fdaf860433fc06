"""`equipoise suites`: the suites that come with the package."""

from typing import Annotated

import typer

from equipoise.cli.options import Json
from equipoise.cli.output import say, show_json, show_table
from equipoise_preregistration import load_suite, schema, shipped_suites
from equipoise_preregistration.shipped import find_suite

__all__ = ["suites"]

suites = typer.Typer(
    help="List, show or locate the suites that come with equipoise.",
    invoke_without_command=True,
    add_completion=False,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a shipped suite.")]


@suites.callback()
def _default(context: typer.Context, *, as_json: Json = False) -> None:
    """List, show or locate the suites that come with equipoise."""
    if context.invoked_subcommand is None:
        list_(as_json=as_json)


@suites.command("list")
def list_(*, as_json: Json = False) -> None:
    """List the shipped suites."""
    rows = []
    for name, path in shipped_suites().items():
        suite = load_suite(path).suite
        conditions = [condition.id for condition in suite.conditions]
        rows.append({"name": name, "question": suite.question, "conditions": conditions, "path": str(path)})
    if as_json:
        show_json(rows)
        return
    cells = ((row["name"], row["question"], ", ".join(row["conditions"])) for row in rows)
    show_table("", ("suite", "question", "conditions"), cells)


@suites.command()
def show(name: Name) -> None:
    """Print a shipped suite, its comments included: the start of one's own."""
    say(find_suite(name).read_text(encoding="utf-8").rstrip("\n"))


@suites.command("schema")
def schema_() -> None:
    """Print the JSON Schema of a suite, for editors that complete YAML."""
    show_json(schema())


@suites.command()
def path(name: Name) -> None:
    """Print where a shipped suite lies."""
    say(str(find_suite(name)))
