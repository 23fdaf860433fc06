"""`equipoise plan`: what a suite would run and cost, and the smallest effect it could detect."""

from typing import Annotated

import typer

from equipoise.cli.options import Json, SuiteFile
from equipoise.cli.output import say, show_json, show_table
from equipoise.cli.suite_file import open_suite

__all__ = ["plan"]

Spread = Annotated[
    float,
    typer.Option(
        "--sd",
        min=1e-6,
        max=0.5,
        help="Assumed standard deviation of a run's success rate within its block.",
    ),
]


def plan(suite: SuiteFile, *, sd: Spread = 0.04, as_json: Json = False) -> None:
    """Show cells, jobs, episodes and the minimal detectable effect of a suite; nothing is run."""
    from equipoise.suites.planning import outline

    outlined = outline(open_suite(suite).suite, sd)
    if as_json:
        show_json(outlined)
        return
    rows = [
        (name.replace("_", " "), _written(value)) for name, value in outlined.items() if name != "warnings"
    ]
    show_table("", ("", ""), rows)
    for warning in outlined["warnings"]:
        say(f"warning: {warning}")
    say("The assumed spread is --sd; take it from a pilot on seeds that the suite does not use.")


def _written(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{kind} {count}" for kind, count in value.items())
    return "cannot be estimated" if value is None else value
